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
from citewise.answer.excerpts import Excerpt, Excerpts
from citewise.answer.forms import lacks_quantity
from citewise.answer.ground import ANSWERED_CONFIDENCE, MODEL_CONFIDENCE, SHOWN_CONFIDENCE, THOROUGH, Ground, Thresholds
from citewise.answer.markers import MarkerFilter
from citewise.answer.pack import WIDER, Pack
from citewise.answer.prompt import messages_of
from citewise.answer.quality import CalibratedQuality
from citewise.answer.support import Support
from citewise.errors import explained, part_failed
from citewise.model.answer import (
    NOT_SURE,
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
from citewise.model.query import SECTIONS_PER_SOURCE, Query, Selection
from citewise.model.ranking import DENSE, Candidate, Finding, FoundSection, SearchResult
from citewise.ports.models import Generator, QualityEvaluator
from citewise.text.sections import sections_of
from citewise.text.units import spans_of

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
    """Answers from what was found or selected, or says that it may not, or does not suffice and what to do instead.

    An error before the first event is raised. Later it is the last event, `Failed`.
    """

    pack: Pack
    ground: Ground
    generator: Generator
    compress: Compress = field(default_factory=Compress)
    evaluator: QualityEvaluator = field(default_factory=CalibratedQuality)
    excerpts: Excerpts = field(default_factory=Excerpts)
    min_confidence: float | None = None  # to answer at all; None: what the generator needs

    def ask(
        self,
        query: Query,
        found: SearchResult,
        sections: Sequence[FoundSection] = (),
        *,
        history: Sequence[Message] = (),
        cancellation: Cancellation | None = None,
    ) -> AnswerEvents:
        """Answer from what a search found: GROUNDING_TOP_K or more, of which a model reads the query's top_k.

        Excerpts are of these sections; without any, of what was found itself.
        """
        text = NOT_SEARCHED if found.is_popular else NOT_ANSWERED if found.findings else NOTHING_FOUND
        refusal = (text, Suggestion.among(found.findings, MAX_SUGGESTIONS))
        if not sections and not found.is_popular:  # no answer may rest on what is popular
            sections = sections_of(found.findings[: SECTIONS_PER_SOURCE * query.top_k])
        material = _Material(found, sections)
        return self._events(found.cut_to(query), material, refusal, history, cancellation or Cancellation())

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
        material: "_Material | Selection",
        refusal: tuple[str, tuple[Suggestion, ...]],
        history: Sequence[Message],
        cancellation: Cancellation,
    ) -> AnswerEvents:
        cancellation.raise_if_cancelled()
        has_begun = False
        try:
            if self.only_quotes and isinstance(material, _Material):
                found = Sources(self.pack.found(material.sections))
                has_begun = True  # before excerpts are chosen, which takes half as long as the search
                yield found
            prompt, result = self._prepared(result, material, history)
            if prompt.grounds.problem and not any(said.startswith(f"{DENSE}:") for said in result.degraded):
                result = result.with_degraded(prompt.grounds.problem)  # unless the search said so
            cancellation.raise_if_cancelled()
            if isinstance(material, Selection):
                selected = Finding(prompt.context.sources[0].passages[0], Candidate(SELECTION, 1.0, {}, {}))
                result = replace(result, findings=(selected,))
            if not has_begun:
                has_begun = True
                yield Sources(tuple(self.pack.citation(source, prompt.grounds) for source in prompt.context.sources))
            if prompt.grounds.outcome == "nothing":
                yield from self._refused(prompt, result, *refusal)
            else:
                yield from self._written(prompt, result, cancellation)
        except Exception as error:
            if not has_begun:
                raise
            yield Failed(explained(error, f"the generator {self.generator.name}"))

    @property
    def only_quotes(self) -> bool:
        """Whether it answers with excerpts, and needs sections for them."""
        return getattr(self.generator, "only_quotes", False)

    def _prepared(
        self, result: SearchResult, material: "_Material | Selection", history: Sequence[Message]
    ) -> tuple[Prompt, SearchResult]:
        """All that the generator may know: excerpts for one that quotes, whole passages for a model."""
        query, mode = result.query, result.mode
        if self.only_quotes:
            started = time.perf_counter()
            context, grounds = self._quoted(query, material)
            return Prompt(query.text, mode, context, grounds, ()), result.timed("ground", started)
        context, grounds, result = self._grounded(result, material)
        messages = messages_of(query.text, mode, context, history, self.pack.counter)
        return Prompt(query.text, mode, context, grounds, messages), result

    def _quoted(self, query: Query, material: "_Material | Selection") -> tuple[Context, Grounds]:
        """Excerpts of the sections that were found, or of the selection; none where there is nothing to show."""
        pack, question = self.pack.within(query.budget_tokens), query.text
        if self.compress.is_wanted(query):  # there are no sources to shorten: the excerpts are all that there is
            pack = pack.within(min(pack.budget_tokens, self.compress.tokens))
        answered = ANSWERED_CONFIDENCE if self.min_confidence is None else self.min_confidence
        thresholds = Thresholds(answered, min(answered, SHOWN_CONFIDENCE))
        if isinstance(material, Selection):
            context = pack.selected(query, material)
            grounds = self.ground.of_selection(question, context, thresholds=thresholds)
            if grounds.outcome == "nothing":
                return context, grounds
            excerpts = self.excerpts(question, (_selected_section(context, grounds),), max_runs=1)
            if not excerpts:
                return context, replace(grounds, outcome="nothing")
            quoted, (source,) = excerpts[0].text, context.sources
            return pack.shortened(replace(context, sources=(replace(source, text=quoted),)), {1: quoted}), grounds
        findings = () if material.found.is_popular else material.found.findings
        grounds = self.ground.of_search(question, findings, top_k=query.top_k, thresholds=thresholds)
        is_sure = grounds.outcome == "answered"
        shown: tuple[Excerpt, ...] = ()
        if grounds.outcome != "nothing":
            shown = self.excerpts(question, material.sections, max_runs=query.top_k, is_sure=is_sure)
        context = pack.quoted(shown)
        if not context.sources:
            return context, replace(grounds, outcome="nothing")
        lacks_number = lacks_quantity(question, [excerpt.text for excerpt in shown[:1]])
        is_doubtful = lacks_number or all(excerpt.is_weak for excerpt in shown)
        return context, replace(grounds, outcome="unsure") if is_sure and is_doubtful else grounds

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
            outcome="nothing",
            citations=_always_cited(prompt),
            removed_markers=0,
            unsupported_sentences=(),
            quality=quality,
            usage=Usage(prompt.context.tokens_before, prompt.context.tokens, 0, 0),
            suggestions=suggestions,
        )
        yield Done(answer)

    def _grounded(
        self, result: SearchResult, material: "_Material | Selection"
    ) -> tuple[Context, Grounds, SearchResult]:
        """The sources under the query's budget, and whether they answer; compressed where that is wanted."""
        started, query = time.perf_counter(), result.query
        pack, ground = self.pack.within(query.budget_tokens), replace(self.ground, max_embedded=0)
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
        self, query: Query, material: "_Material | Selection", pack: Pack, ground: Ground
    ) -> tuple[Context, Grounds]:
        needed = MODEL_CONFIDENCE if self.min_confidence is None else self.min_confidence
        thresholds = Thresholds(needed, needed)
        if isinstance(material, Selection):
            context = pack.selected(query, material)
            embedding = replace(ground, max_embedded=max(ground.max_embedded, self.ground.max_embedded))
            return context, embedding.of_selection(query.text, context, thresholds=thresholds)
        findings = () if material.found.is_popular else material.found.findings
        context = pack(findings[: query.top_k])
        grounds = ground.of_search(query.text, findings, top_k=query.top_k, thresholds=thresholds)
        evidence, problem = ground.weigh(query.text, context)
        return context, replace(grounds, evidence=evidence, problem=problem)

    def _written(self, prompt: Prompt, result: SearchResult, cancellation: Cancellation) -> AnswerEvents:
        """The generator's text, its markers checked and numbered as they come, its sentences at the end."""
        started = time.perf_counter()
        sources = {source.n: source for source in prompt.context.sources}
        markers, parts, citations = MarkerFilter(sources), list[str](), list[Citation]()
        if prompt.grounds.outcome == "unsure":
            parts.append(f"{NOT_SURE}\n\n")
            yield Token(parts[0])
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
        support = self._support(prompt, text, markers)
        # What it cites all the same is a statement: "there is no network code [1]".
        is_silent = not citations and support.says_nothing
        faithfulness = None if is_silent else support.faithfulness
        quality, degraded = self._quality(prompt, text, citations, faithfulness)
        *asked, answered = self.pack.counter.counts([*(message.content for message in prompt.messages), text])
        return Answer(
            result.with_degraded(*degraded),
            text,
            self.generator.name,
            outcome="nothing" if is_silent else prompt.grounds.outcome,
            citations=_always_cited(prompt) or tuple(citations),
            removed_markers=markers.removed,
            unsupported_sentences=support.unsupported,
            quality=quality,
            usage=Usage(prompt.context.tokens_before, prompt.context.tokens, sum(asked), answered),
        )

    def _support(self, prompt: Prompt, text: str, markers: MarkerFilter) -> Support:
        if prompt.messages:
            # The text numbers its sources in the order of first use.
            numbers = [*markers.used, *(source.n for source in prompt.context.sources)]
            return Support.of(text, sorted(prompt.context.sources, key=lambda source: numbers.index(source.n)))
        return Support((), faithfulness=1.0, says_nothing=not text.strip())  # it was quoted

    def _quality(
        self, prompt: Prompt, text: str, citations: Sequence[Citation] = (), faithfulness: float | None = None
    ) -> tuple[Quality, tuple[str, ...]]:
        """What the evaluator says; if it fails, what the built-in one says, and that it failed."""
        try:
            return self.evaluator.quality(prompt, text, citations=citations, faithfulness=faithfulness), ()
        except Exception as error:  # noqa: BLE001  it may be anybody's code, and the answer is there
            quality = CalibratedQuality().quality(prompt, text, citations=citations, faithfulness=faithfulness)
            return quality, (part_failed("quality", error, "the built-in evaluation is given instead"),)


@dataclass(frozen=True, slots=True)
class _Material:
    """What a search found, and the sections of the best of it."""

    found: SearchResult
    sections: Sequence[FoundSection]


def _selected_section(context: Context, grounds: Grounds) -> FoundSection:
    """The selection as a section; a block is as near to the question as the nearest unit in it."""
    (source,) = context.sources
    blocks = spans_of(source.text)
    near = [(evidence.unit.span[0], evidence.closeness or 0.0) for evidence in grounds.evidence]
    closeness = tuple(
        max((value for at, value in near if block.start <= at < block.end), default=0.0) for block in blocks
    )
    passage = replace(source.passages[0], text=source.text, blocks=blocks)
    return FoundSection((passage,), passage.chunk_id, 1.0, (closeness,))


def _closable(pieces: Iterator[str]) -> abc.Generator[str, None, None]:
    """Closing a delegating generator closes what it delegates to, if that can be closed."""
    yield from pieces


def _always_cited(prompt: Prompt) -> tuple[Citation, ...]:
    """Every answer about a selection shows what was selected."""
    return (prompt.context.sources[0].citation,) if prompt.mode == "selected_text_only" else ()
