"""Question -> answer: passages -> context -> grounds -> (compressed) -> prompt -> written and checked -> answer.

One pipeline for the library and for selected text. Nothing here, or imported from here, knows a store: the library's
search is handed in, and a selection needs none.
"""

import time
from collections import abc
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from citewise.answer.compress import Compress
from citewise.answer.ground import MODEL_CONFIDENCE, QUOTE_CONFIDENCE, THOROUGH, Ground
from citewise.answer.markers import MarkerFilter
from citewise.answer.pack import WIDER, Pack
from citewise.answer.prompt import messages_of
from citewise.answer.quality import CalibratedQuality
from citewise.answer.support import Support
from citewise.errors import explained, part_failed
from citewise.model.answer import (
    SELECTION,
    Answer,
    AnswerEvents,
    Citation,
    Cited,
    Context,
    Done,
    Failed,
    Grounds,
    Message,
    Prompt,
    Quality,
    Sources,
    Suggestion,
    Token,
    Usage,
)
from citewise.model.cancellation import Cancellation
from citewise.model.query import Query, Selection
from citewise.model.ranking import DENSE, Candidate, Finding, SearchResult
from citewise.ports.models import Generator, QualityEvaluator

MAX_SUGGESTIONS = 5
NO_GENERATOR = "none"

NOTHING_FOUND = "No document that you can read answers this question."
NOT_ANSWERED = "The library does not seem to answer this question."
NOT_SEARCHED = (
    "Search is not available right now. The suggestions are pages that are often read, not results for this question."
)
NOT_IN_SELECTION = (
    "The selected text does not answer this question. Ask the whole library: the same question without the selection."
)


@dataclass(frozen=True, slots=True)
class AnswerPipeline:
    """Answers from what was found or selected, or says that it does not suffice and what to do instead.

    An error before the first event is raised. Later it is the last event, `Failed`.
    """

    pack: Pack
    ground: Ground
    generator: Generator
    compress: Compress = field(default_factory=Compress)
    evaluator: QualityEvaluator = field(default_factory=CalibratedQuality)
    min_confidence: float | None = None  # to answer at all; None: what the generator needs

    def ask(
        self,
        query: Query,
        found: SearchResult,
        *,
        history: Sequence[Message] = (),
        cancellation: Cancellation | None = None,
    ) -> AnswerEvents:
        """Answer from what a search found: GROUNDING_TOP_K or more, of which the answer may quote the query's top_k."""
        text = NOT_SEARCHED if found.is_popular else NOT_ANSWERED if found.findings else NOTHING_FOUND
        refusal = (text, Suggestion.among(found.findings, MAX_SUGGESTIONS))
        return self._events(found.cut_to(query), found, refusal, history, cancellation or Cancellation())

    def ask_selected(
        self,
        query: Query,
        selection: Selection,
        *,
        history: Sequence[Message] = (),
        cancellation: Cancellation | None = None,
    ) -> AnswerEvents:
        """Answer from selected text alone."""
        header = SearchResult(query, (), total_candidates=1, timings_ms={}, mode="selected_text_only")
        return self._events(header, selection, (NOT_IN_SELECTION, ()), history, cancellation or Cancellation())

    def _events(
        self,
        result: SearchResult,
        material: SearchResult | Selection,
        refusal: tuple[str, tuple[Suggestion, ...]],
        history: Sequence[Message],
        cancellation: Cancellation,
    ) -> AnswerEvents:
        cancellation.raise_if_cancelled()
        context, grounds, result = self._grounded(result, material)
        if grounds.problem and not any(said.startswith(f"{DENSE}:") for said in result.degraded):  # as the search said
            result = result.with_degraded(grounds.problem)
        cancellation.raise_if_cancelled()
        if isinstance(material, Selection):
            selected = Finding(context.sources[0].passages[0], Candidate(SELECTION, 1.0, {}, {}))
            result = replace(result, findings=(selected,))
        messages = messages_of(result.query.text, result.mode, context, history, self.pack.counter)
        prompt = Prompt(result.query.text, result.mode, context, grounds, messages)
        yield Sources(tuple(self.pack.citation(source, grounds) for source in context.sources))
        try:
            if grounds.is_sufficient:
                yield from self._written(prompt, result, cancellation)
            else:
                yield from self._refused(prompt, result, *refusal)
        except Exception as error:  # noqa: BLE001  a generator may be anybody's code
            yield Failed(explained(error, f"the generator {self.generator.name}"))

    def _refused(
        self, prompt: Prompt, result: SearchResult, text: str, suggestions: tuple[Suggestion, ...]
    ) -> AnswerEvents:
        """No generator is asked."""
        yield Token(text)
        quality, degraded = self._quality(prompt, text)
        answer = Answer(
            result.with_degraded(*degraded),
            text,
            NO_GENERATOR,
            sufficient_context=False,
            citations=_always_cited(prompt),
            removed_markers=0,
            unsupported_sentences=(),
            quality=quality,
            usage=Usage(prompt.context.tokens_before, prompt.context.tokens, 0, 0),
            suggestions=suggestions,
        )
        yield Done(answer)

    def _grounded(
        self, result: SearchResult, material: SearchResult | Selection
    ) -> tuple[Context, Grounds, SearchResult]:
        """The sources under the query's budget, and whether they answer; compressed where that is wanted."""
        started, query = time.perf_counter(), result.query
        pack, ground = self.pack.within(query.budget_tokens), self.ground
        if not self.compress.is_wanted(query):
            return *self._read(query, material, pack, ground), result.timed("ground", started)
        wider = pack.within(WIDER * pack.budget_tokens)
        context, grounds = self._read(query, material, wider, replace(ground, max_embedded=THOROUGH))
        result, started = result.timed("ground", started), time.perf_counter()
        shorter = self.compress(query.text, context, grounds, pack=pack)
        if shorter is None:  # nothing fits whole: packing has to cut
            return *self._read(query, material, pack, ground), result.timed("ground", started)
        context, grounds, degraded = shorter
        return context, grounds, result.with_degraded(*degraded).timed("compress", started)

    def _read(
        self, query: Query, material: SearchResult | Selection, pack: Pack, ground: Ground
    ) -> tuple[Context, Grounds]:
        needed = QUOTE_CONFIDENCE if getattr(self.generator, "only_quotes", False) else MODEL_CONFIDENCE
        threshold = needed if self.min_confidence is None else self.min_confidence
        if isinstance(material, Selection):
            context = pack.selected(query, material)
            return context, ground(query.text, context, threshold=threshold)
        # No answer may rest on what is popular. The decision looks at more than the answer may quote.
        context = pack(() if material.is_popular else material.findings[: query.top_k])
        return context, ground(query.text, context, material.findings, threshold=threshold)

    def _written(self, prompt: Prompt, result: SearchResult, cancellation: Cancellation) -> AnswerEvents:
        """The generator's text, its markers checked and numbered as they come, its sentences at the end."""
        started = time.perf_counter()
        sources = {source.n: source for source in prompt.context.sources}
        markers, parts, citations = MarkerFilter(sources), list[str](), list[Citation]()
        with closing(_closable(self.generator.stream(prompt, cancellation))) as pieces:
            for text, new in markers.filtered(pieces):
                cancellation.raise_if_cancelled()
                if text:
                    parts.append(text)
                    yield Token(text)
                for number in new:
                    citation = self.pack.citation(sources[number], prompt.grounds)
                    citations.append(replace(citation, n=len(citations) + 1))
                    yield Cited(citations[-1])
        yield Done(self._answer(prompt, result.timed("generate", started), "".join(parts), citations, markers))

    def _answer(
        self, prompt: Prompt, result: SearchResult, text: str, citations: Sequence[Citation], markers: MarkerFilter
    ) -> Answer:
        # The text numbers its sources in the order of first use.
        numbers = [*markers.used, *(source.n for source in prompt.context.sources)]
        support = Support.of(text, sorted(prompt.context.sources, key=lambda source: numbers.index(source.n)))
        # What it cites all the same is a statement: "there is no network code [1]".
        is_silent = not citations and support.says_nothing
        faithfulness = None if is_silent else support.faithfulness
        quality, degraded = self._quality(prompt, text, citations, faithfulness)
        *asked, answered = self.pack.counter.counts([*(message.content for message in prompt.messages), text])
        return Answer(
            result.with_degraded(*degraded),
            text,
            self.generator.name,
            sufficient_context=not is_silent,
            citations=_always_cited(prompt) or tuple(citations),
            removed_markers=markers.removed,
            unsupported_sentences=support.unsupported,
            quality=quality,
            usage=Usage(prompt.context.tokens_before, prompt.context.tokens, sum(asked), answered),
        )

    def _quality(
        self, prompt: Prompt, text: str, citations: Sequence[Citation] = (), faithfulness: float | None = None
    ) -> tuple[Quality, tuple[str, ...]]:
        """What the evaluator says; if it fails, what the built-in one says, and that it failed."""
        try:
            return self.evaluator.quality(prompt, text, citations=citations, faithfulness=faithfulness), ()
        except Exception as error:  # noqa: BLE001  it may be anybody's code, and the answer is there
            quality = CalibratedQuality().quality(prompt, text, citations=citations, faithfulness=faithfulness)
            return quality, (part_failed("quality", error, "the built-in evaluation is given instead"),)


def _closable(pieces: Iterator[str]) -> abc.Generator[str, None, None]:
    """Closing a delegating generator closes what it delegates to, if that can be closed."""
    yield from pieces


def _always_cited(prompt: Prompt) -> tuple[Citation, ...]:
    """Every answer about a selection shows what was selected."""
    return (prompt.context.sources[0].citation,) if prompt.mode == "selected_text_only" else ()
