"""Question -> answer: passages -> context -> grounds -> (compressed) -> prompt -> written and checked -> answer.

One pipeline for the library and for selected text. Nothing here, or imported from here, knows a store: the library's
search is handed in, and a selection needs none.
"""

import time
from collections import abc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from citewise.answer.compress import Compress
from citewise.answer.ground import MODEL_CONFIDENCE, QUOTE_CONFIDENCE, Ground
from citewise.answer.markers import MarkerFilter
from citewise.answer.pack import Pack, excerpt_of
from citewise.answer.prompt import messages_of
from citewise.answer.quality import CalibratedQuality
from citewise.answer.support import support_of
from citewise.errors import BadRequest, CitewiseError, Misconfigured
from citewise.model.answer import (
    SELECTION,
    Answer,
    AnswerEvents,
    Citation,
    Cited,
    Context,
    ContextSource,
    Done,
    Failed,
    Grounds,
    Message,
    Prompt,
    Sources,
    Token,
    Usage,
)
from citewise.model.cancellation import Cancellation
from citewise.model.chunk import NO_SECTION
from citewise.model.document import Location
from citewise.model.ids import DocumentId, digest
from citewise.model.query import Mode, Query, Selection
from citewise.model.ranking import Candidate, Finding, Passage, SearchResult
from citewise.ports.models import Generator, QualityEvaluator
from citewise.text.layout import best_paragraphs
from citewise.text.sanitizing import without_html
from citewise.text.urls import Slugger

GROUNDING_TOP_K = 20  # findings that the decision to answer looks at, whatever the answer itself may quote
MAX_SUGGESTIONS = 5
LABEL_TOKENS = 100  # of the budget, for the label of a selection
NO_GENERATOR = "none"
UNTITLED = "Selected text"

NOTHING_FOUND = "Nothing that you may read in this library could answer this question."
NOT_ANSWERED = "The library does not seem to answer this question."
NOT_SEARCHED = (
    "The library cannot be searched just now, so nothing was looked up for this question. "
    "What is suggested is what others often read; it did not come from the question."
)
NOT_IN_SELECTION = "The selected text does not answer this question."
ASK_LIBRARY = "Ask the whole library: the same question without the selection."


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
        search: Callable[[Query], SearchResult],
        *,
        history: Sequence[Message] = (),
        cancellation: Cancellation | None = None,
    ) -> AnswerEvents:
        """Answer from the library."""
        found = search(replace(query, top_k=max(GROUNDING_TOP_K, query.top_k)))
        context, grounds, result = self._grounded(found.cut_to(query), found)
        prompt = self._prompt(query, Mode.NORMAL, context, grounds, history)
        yield Sources(tuple(_pointed(source, grounds) for source in context.sources))
        if grounds.is_sufficient:
            yield from self._written(prompt, result, cancellation or Cancellation())
            return
        text = NOT_SEARCHED if found.is_popular else NOT_ANSWERED if result.findings else NOTHING_FOUND
        topics = tuple(dict.fromkeys(finding.passage.topic for finding in found.findings))
        yield from self._refused(prompt, result, text, topics[:MAX_SUGGESTIONS])

    def ask_selected(
        self,
        query: Query,
        selection: Selection,
        *,
        history: Sequence[Message] = (),
        cancellation: Cancellation | None = None,
    ) -> AnswerEvents:
        """Answer from selected text alone."""
        header = SearchResult(query, (), total_candidates=1, timings_ms={}, mode=Mode.SELECTED_TEXT_ONLY)
        context, grounds, result = self._grounded(header, selection)
        (source,) = context.sources
        result = replace(result, findings=(Finding(source.passages[0], Candidate(SELECTION, 1.0, {}, {})),))
        prompt = self._prompt(query, Mode.SELECTED_TEXT_ONLY, context, grounds, history)
        yield Sources((replace(source.citation, n=None),))
        if grounds.is_sufficient:
            yield from self._written(prompt, result, cancellation or Cancellation())
        else:
            yield from self._refused(prompt, result, NOT_IN_SELECTION, (ASK_LIBRARY,))

    def _grounded(
        self, result: SearchResult, material: SearchResult | Selection
    ) -> tuple[Context, Grounds, SearchResult]:
        """The sources under the query's budget, and whether they answer; compressed where that is wanted."""
        started, query = time.perf_counter(), result.query
        pack, ground = self.pack.within(query.budget_tokens), self.ground
        if not self.compress.is_wanted(query):
            return *self._read(query, material, pack, ground), result.timed("ground", started)
        context, grounds = self._read(query, material, pack.widened(), ground.thorough())
        result, started = result.timed("ground", started), time.perf_counter()
        shorter = self.compress(query.text, context, grounds, pack=pack)
        if shorter is None:  # nothing fits whole: packing has to cut
            return *self._read(query, material, pack, ground), result.timed("ground", started)
        context, grounds, degraded = shorter
        return context, grounds, replace(result, degraded=(*result.degraded, *degraded)).timed("compress", started)

    def _read(
        self, query: Query, material: SearchResult | Selection, pack: Pack, ground: Ground
    ) -> tuple[Context, Grounds]:
        needed = QUOTE_CONFIDENCE if getattr(self.generator, "only_quotes", False) else MODEL_CONFIDENCE
        threshold = needed if self.min_confidence is None else self.min_confidence
        if isinstance(material, Selection):
            context = _selected_context(query, material, pack)
            return context, ground.of_selection(query.text, context, threshold=threshold)
        # No answer may rest on what is popular. The decision looks at more than the answer may quote.
        context = pack(() if material.is_popular else material.findings[: query.top_k])
        return context, ground.of_search(query.text, material.findings, context, threshold=threshold)

    def _prompt(
        self, query: Query, mode: Mode, context: Context, grounds: Grounds, history: Sequence[Message]
    ) -> Prompt:
        messages = messages_of(query.text, mode, context, history, self.pack.counter)
        return Prompt(query.text, mode, context, grounds, messages)

    def _refused(
        self, prompt: Prompt, result: SearchResult, text: str, suggestions: tuple[str, ...]
    ) -> Iterator[Token | Done]:
        """An answer that says that there is none, and where to go from here. No generator was asked for it."""
        yield Token(text)
        yield Done(
            Answer(
                result,
                text,
                NO_GENERATOR,
                sufficient_context=False,
                citations=_always_cited(prompt),
                removed_markers=0,
                unsupported_sentences=(),
                quality=self.evaluator.quality(prompt, text, citations=(), faithfulness=None),
                usage=Usage(prompt.context.tokens_before, prompt.context.tokens, 0, 0),
                suggestions=suggestions,
            )
        )

    def _written(self, prompt: Prompt, result: SearchResult, cancellation: Cancellation) -> AnswerEvents:
        """The generator's text, its markers checked and numbered as they come, its sentences at the end."""
        started = time.perf_counter()
        sources = {source.n: source for source in prompt.context.sources}
        markers, parts, citations = MarkerFilter(sources), list[str](), list[Citation]()
        try:
            with closing(_closable(self.generator.stream(prompt, cancellation))) as pieces:
                for text, new in markers.filtered(pieces):
                    cancellation.raise_if_cancelled()
                    if text:
                        parts.append(text)
                        yield Token(text)
                    for number in new:
                        citation = _pointed(sources[number], prompt.grounds)
                        citations.append(replace(citation, n=len(citations) + 1))
                        yield Cited(citations[-1])
            yield Done(self._answer(prompt, result.timed("generate", started), "".join(parts), citations, markers))
        except CitewiseError as error:
            yield Failed(error)

    def _answer(
        self,
        prompt: Prompt,
        result: SearchResult,
        text: str,
        citations: Sequence[Citation],
        markers: MarkerFilter,
    ) -> Answer:
        support = support_of(text, _renumbered(prompt.context.sources, markers.used))
        # What it cites all the same is a statement: "there is no network code [1]".
        is_silent = not citations and support.says_nothing
        faithfulness = None if is_silent else support.faithfulness
        *asked, answered = self.pack.counter.counts([*(message.content for message in prompt.messages), text])
        return Answer(
            result,
            text,
            self.generator.name,
            sufficient_context=not is_silent,
            citations=_always_cited(prompt) or tuple(citations),
            removed_markers=markers.removed,
            unsupported_sentences=support.unsupported,
            quality=self.evaluator.quality(prompt, text, citations=citations, faithfulness=faithfulness),
            usage=Usage(prompt.context.tokens_before, prompt.context.tokens, sum(asked), answered),
        )


def _closable(pieces: Iterator[str]) -> abc.Generator[str, None, None]:
    """Closing a delegating generator closes what it delegates to, if that can be closed."""
    yield from pieces


def _renumbered(sources: Sequence[ContextSource], used: Sequence[int]) -> list[ContextSource]:
    """The sources under the numbers that the text shows; those it does not use come behind."""
    by_use = sorted(sources, key=lambda source: used.index(source.n) if source.n in used else len(used))
    return [replace(source, n=n) for n, source in enumerate(by_use, start=1)]


def _pointed(source: ContextSource, grounds: Grounds) -> Citation:
    """The source's citation, not numbered yet, with the excerpt that speaks most of the question."""
    citation = replace(source.citation, n=None)
    weighed = [evidence for evidence in grounds.evidence if evidence.unit.source == source.n]
    if not weighed or citation.chunk_id == SELECTION:
        return citation
    best = max(weighed, key=lambda evidence: evidence.score)
    return replace(citation, excerpt=excerpt_of(source.text, best.unit.text))


def _always_cited(prompt: Prompt) -> tuple[Citation, ...]:
    """Every answer about a selection shows what was selected."""
    return (prompt.context.sources[0].citation,) if prompt.mode is Mode.SELECTED_TEXT_ONLY else ()


def _selected_context(query: Query, selection: Selection, pack: Pack) -> Context:
    """The selection as the only source; of a very long one, what speaks of the question."""
    seen = without_html(selection.text)
    room = max(pack.budget_tokens - LABEL_TOKENS, 1)
    text = best_paragraphs(seen, query.text, counts=pack.counter.counts, budget_tokens=room)
    whole, tokens = pack.counter.counts([seen, text])
    context = pack([Finding(_passage(selection, text, tokens), Candidate(SELECTION, 1.0, {}, {}))])
    if not context.sources:
        message = f"{pack.budget_tokens} tokens leave no room for the selection: raise the budget"
        raise BadRequest(message) if query.budget_tokens else Misconfigured(message)
    (source,) = context.sources
    citation = replace(
        source.citation,
        document_id=None,
        document=selection.document,
        url=source.citation.url if selection.document else None,
        module=None,
        chapter=None,
        lines=None,
    )
    left_out = max(whole - tokens, 0)
    return replace(
        context, sources=(replace(source, citation=citation),), tokens_before=context.tokens_before + left_out
    )


def _passage(selection: Selection, text: str, tokens: int) -> Passage:
    return Passage(
        chunk_id=SELECTION,
        document_id=DocumentId(""),
        document=selection.document or "",
        title=selection.document or UNTITLED,
        section=selection.section or NO_SECTION,
        breadcrumb=(selection.section,) if selection.section else (),
        anchor=Slugger().anchor(selection.section) if selection.section else "",
        position=0,
        location=Location("lines", 1, text.count("\n") + 1),
        corpus_type="DOC_PAGE",
        content_type="prose",
        module="",
        chapter="",
        text=text,
        tokens=tokens,
        text_digest=digest(text),
    )
