"""Findings or a selection -> numbered sources under a token budget, with citations, and how they read in a prompt."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citewise.answer.excerpts import Excerpt
from citewise.answer.joining import Joined, added_to
from citewise.errors import BadRequest, Misconfigured
from citewise.model.answer import SELECTION, Citation, Context, ContextSource, Grounds
from citewise.model.chunk import NO_SECTION
from citewise.model.document import BlockSpan, Location
from citewise.model.ids import DocumentId, digest
from citewise.model.query import Query, Selection
from citewise.model.ranking import Candidate, Finding, FoundSection, Passage
from citewise.ports.models import TokenCounter
from citewise.text.analysis import terms
from citewise.text.cutting import ELLIPSIS
from citewise.text.markdown import Line, Markdown
from citewise.text.quoting import shown
from citewise.text.sanitizing import sanitized, sanitized_label, without_html
from citewise.text.sections import sections_of
from citewise.text.units import cut_to_fit, units_of
from citewise.text.urls import Addresses, Slugger

BUDGET_TOKENS = 2_000  # 0: no source fits; beyond what was found it changes nothing
WIDER = 3  # times the budget, for what is to be compressed; 1: what does not fit as it is has no chance
EXCERPT_CHARACTERS = 200
RULE = "---"  # between two sources; no passage has such a line of its own
SEPARATOR = f"\n\n{RULE}\n\n"
LABEL_TOKENS = 100  # of the budget, for the label of a selection
COLONS = (":", "\uff1a")
LEFT_OUT = "[\u2026]"  # in place of paragraphs of a selection
UNTITLED = "Selected text"

_LAST_SPACE = re.compile(r"\s\S*\Z")

Blocks = tuple[BlockSpan, ...]
Neighbors = tuple[Finding, ...]  # that follow each other in one section of one document, in its order


@dataclass(frozen=True, slots=True)
class Pack:
    """Joins neighbors, puts the best first and fills the budget.

    A source that does not fit whole is left out, and smaller ones behind it may still fit. Only the best is
    shortened: without it there may be nothing to answer from.
    """

    counter: TokenCounter
    addresses: Addresses
    budget_tokens: int = BUDGET_TOKENS

    def __call__(self, findings: Sequence[Finding]) -> Context:
        whole = [self._draft(n, found) for n, found in enumerate(_neighbors_of(findings), start=1)]
        chosen, left = list[_Draft](), self.budget_tokens
        for draft in whole:
            n, room = len(chosen) + 1, left - self._tokens(RULE) if chosen else left
            fitting = draft if draft.n == n else self._draft(n, draft.findings, draft.text, draft.blocks)
            if fitting.tokens > room and draft.n == 1:
                fitting = self._beginning(draft, room)
            if fitting.text and fitting.tokens <= room:
                chosen.append(fitting)
                left = room - fitting.tokens
        return Context(
            text=SEPARATOR.join(draft.block for draft in chosen),
            sources=tuple(self._source(draft) for draft in chosen),
            tokens=self._total([draft.tokens for draft in chosen]),
            tokens_before=self._total([draft.tokens for draft in whole]),
        )

    def quoted(self, excerpts: Sequence[Excerpt]) -> Context:
        """Excerpts as sources, as far as the budget goes; of the first one at least its beginning."""
        chosen, left = list[ContextSource](), self.budget_tokens
        for excerpt in excerpts:
            n, room = len(chosen) + 1, left - self._tokens(RULE) if chosen else left
            source = self._excerpt_source(n, excerpt, excerpt.text)
            if source.tokens > room and n == 1:
                source = self._excerpt_source(1, excerpt, self._cut(excerpt, room))
            if source.text and source.tokens <= room:
                chosen.append(source)
                left = room - source.tokens
        return Context(
            text=SEPARATOR.join(_block(source.n, source.passages[0], source.text) for source in chosen),
            sources=tuple(chosen),
            tokens=self._total([source.tokens for source in chosen]),
            tokens_before=max(
                self._total([source.tokens for source in chosen]),  # which have their headings
                sum(passage.tokens for excerpt in excerpts for passage in excerpt.section.passages),
            ),
        )

    def _cut(self, excerpt: Excerpt, room: int) -> str:
        """Its best block, or as much of its beginning as fits; what only announces makes way for what it announces."""

        def fits(text: str) -> bool:
            return self._excerpt_source(1, excerpt, Markdown(text).ended()).tokens <= room

        best = shown(excerpt.joined.text[slice(*excerpt.best)])
        if best.endswith(COLONS):
            best = excerpt.text.partition(best)[2].strip("\n") or best
        cut = cut_to_fit(best, fits)
        fence, _, code = best.partition("\n")
        if Line(fence).fence and "\n" not in cut:  # all of the code is one line
            inside = cut_to_fit(code, lambda inside: fits(f"{fence}\n{inside}"))
            cut = f"{fence}\n{inside}" if inside else ""
        return Markdown(cut).ended()

    def _excerpt_source(self, n: int, excerpt: Excerpt, text: str) -> ContextSource:
        """A source that is cited with the lines of the excerpt, and shows the best words that stand there."""
        section, whole = excerpt.section, Markdown(excerpt.joined.text)
        best = next(each for each in section.passages if each.chunk_id == section.best)
        place = replace(best, location=excerpt.joined.location(*excerpt.span))
        citation = _citation(n, (place,), self.addresses, best=place, score=section.score)
        start, end = excerpt.best
        head, tail = added_to(excerpt.joined.passages)  # which stand nowhere in the document
        start, end = max(start, head), min(end, len(whole) - len(tail))
        citation = replace(citation, excerpt=_excerpt(whole[start:end]))
        tokens = self._tokens(_block(n, best, text))
        return ContextSource(n, section.passages, text, tokens, section.score, citation, ())

    def found(self, sections: Iterable[FoundSection]) -> tuple[Citation, ...]:
        """The best passage of each section, before anything of it is quoted."""
        best = (
            (next(each for each in section.passages if each.chunk_id == section.best), section) for section in sections
        )
        citations = (
            _citation(1, (passage,), self.addresses, best=passage, score=section.score) for passage, section in best
        )
        return tuple(replace(citation, n=None) for citation in citations)

    def selected(self, query: Query, selection: Selection) -> Context:
        """The selection as the only source; of a very long one, what speaks of the question."""
        visible = without_html(selection.text)
        text = self._best_paragraphs(visible, query.text, max(self.budget_tokens - LABEL_TOKENS, 1))
        whole, tokens = self.counter.counts([visible, text])
        passage = Passage(
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
        context = self([Finding(passage, Candidate(SELECTION, 1.0, {}, {}))])
        if not context.sources:
            message = f"{self.budget_tokens} tokens leave no room for the selection: raise the budget"
            raise BadRequest(message) if query.budget_tokens else Misconfigured(message)
        (source,) = context.sources
        cited, document = source.citation, selection.document
        url = cited.url if document else None
        cited = replace(cited, document_id=None, document=document, url=url, module=None, chapter=None, lines=None)
        tokens_before = context.tokens_before + max(whole - tokens, 0)
        return replace(context, sources=(replace(source, citation=cited),), tokens_before=tokens_before)

    @staticmethod
    def citation(source: ContextSource, grounds: Grounds) -> Citation:
        """The source's citation, not numbered yet, with the excerpt that speaks most of the question."""
        citation = replace(source.citation, n=None)
        weighed = [evidence for evidence in grounds.evidence if evidence.unit.source == source.n]
        if not weighed or citation.chunk_id == SELECTION:
            return citation
        start, end = max(weighed, key=lambda evidence: evidence.score).unit.span
        head, tail = added_to(source.passages)
        text = Markdown(source.text.removesuffix(tail))
        return replace(citation, excerpt=_excerpt(text[max(start, head) : text.paragraph_end(end)]))

    def within(self, budget_tokens: int | None) -> "Pack":
        """The same under another budget; None: as it is."""
        return self if budget_tokens is None else replace(self, budget_tokens=budget_tokens)

    def shortened(self, context: Context, texts: Mapping[int, str]) -> Context:
        """The context with other texts, by number, for its sources; one without is left out, the others move up."""
        remaining = list(enumerate((source for source in context.sources if source.n in texts), start=1))
        passages = {passage.chunk_id: passage for _, source in remaining for passage in source.passages}
        blocks = [_block(n, passages[source.citation.chunk_id], texts[source.n]) for n, source in remaining]
        tokens, sources = self.counter.counts(blocks), list[ContextSource]()
        for (n, source), spent in zip(remaining, tokens, strict=True):
            units = tuple(replace(unit, source=n) for unit in source.units)
            sources.append(replace(source, n=n, tokens=spent, citation=replace(source.citation, n=n), units=units))
        return Context(SEPARATOR.join(blocks), tuple(sources), self._total(tokens), context.tokens_before)

    def _beginning(self, draft: "_Draft", room: int) -> "_Draft":
        """The best finding with the neighbors that fit; if it alone is too long, its beginning."""
        best, findings = Finding.in_order(draft.findings)[0], draft.findings
        while draft.tokens > room and len(findings) > 1:
            first, last = findings[0], findings[-1]
            is_last_worse = last is not best and (first is best or last.score <= first.score)
            findings = findings[:-1] if is_last_worse else findings[1:]
            draft = self._draft(1, findings)
        if draft.tokens <= room:
            return draft
        text = cut_to_fit(draft.text, lambda beginning: self._draft(1, findings, beginning).tokens <= room)
        shown = (span._replace(end=min(span.end, len(text))) for span in draft.blocks if span.start < len(text))
        return self._draft(1, findings, text, tuple(shown))

    def _draft(self, n: int, findings: Neighbors, text: str | None = None, blocks: Blocks = ()) -> "_Draft":
        """Source `n` with this text and its blocks; None: all that the findings say."""
        if text is None:
            joined = Joined.of([finding.passage for finding in findings])
            text, blocks = joined.text, joined.blocks
        block = _block(n, Finding.in_order(findings)[0].passage, text)
        return _Draft(n, findings, text, blocks, block, self._tokens(block))

    def _source(self, draft: "_Draft") -> ContextSource:
        best, passages = Finding.in_order(draft.findings)[0], tuple(finding.passage for finding in draft.findings)
        citation = _citation(draft.n, passages, self.addresses, best=best.passage, score=best.score)
        units = units_of(draft.n, draft.text, draft.blocks)
        return ContextSource(draft.n, passages, draft.text, draft.tokens, best.score, citation, units)

    def _best_paragraphs(self, text: str, question: str, budget_tokens: int) -> str:
        """The text itself if it fits, else its best paragraphs in their own order, with a mark where others stood.

        A paragraph is as good as the share of the question's stems that it holds; rare ones count more, earlier
        paragraphs win ties. A single paragraph over the budget is left for the packing to cut.
        """
        if self._tokens(text) <= budget_tokens:
            return text
        paragraphs = Markdown(text).paragraphs()
        shared = [terms(question).stems & terms(paragraph).stems for paragraph in paragraphs]
        spread = Counter(stem for present in shared for stem in present)
        worth = [sum(1 / spread[stem] for stem in present) for present in shared]
        ranked = sorted(range(len(paragraphs)), key=worth.__getitem__, reverse=True)
        *tokens, mark_tokens = self.counter.counts([*paragraphs, LEFT_OUT])
        room, chosen = budget_tokens - mark_tokens, set[int]()
        for at in ranked:
            if tokens[at] + mark_tokens <= room:
                chosen.add(at)
                room -= tokens[at] + mark_tokens
        if not chosen:
            return paragraphs[ranked[0]]
        shown = [paragraph if at in chosen else LEFT_OUT for at, paragraph in enumerate(paragraphs)]
        return "\n\n".join(part for before, part in pairwise(("", *shown)) if not before == part == LEFT_OUT)

    def _total(self, tokens: Sequence[int]) -> int:
        return sum(tokens) + self._tokens(RULE) * max(len(tokens) - 1, 0)

    def _tokens(self, text: str) -> int:
        return self.counter.counts([text])[0]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A source on trial: its text, the block it would be in the prompt, and the tokens of that block."""

    n: int
    findings: Neighbors
    text: str
    blocks: Blocks
    block: str
    tokens: int


def _neighbors_of(findings: Sequence[Finding]) -> list[Neighbors]:
    """The findings with neighbors together, those with the best finding first; equal ones by id."""
    ordered = Finding.in_order(sorted(findings, key=lambda finding: finding.candidate.id))
    by_id = {finding.passage.chunk_id: finding for finding in reversed(ordered)}
    return [tuple(by_id[passage.chunk_id] for passage in section.passages) for section in sections_of(ordered)]


def _block(n: int, passage: Passage, text: str) -> str:
    """`[Source 2: title - section (p. 7)]`, always on one line and with no other bracket in it, above the text."""
    title, section = sanitized_label(passage.title), sanitized_label(passage.section)
    named = title if section in ("", NO_SECTION, title) else f"{title} - {section}"
    page = f" (p. {passage.page})" if passage.page is not None else ""
    return f"[Source {n}: {named}{page}]\n{sanitized(text, is_code=passage.corpus_type.startswith('CODE_'))}"


def _citation(n: int, passages: Sequence[Passage], addresses: Addresses, *, best: Passage, score: float) -> Citation:
    """Source `n`, made of neighbors in one section: named after the best of them, with the lines of all."""
    whole = replace(best, location=Location.spanning([passage.location for passage in passages]))
    head, tail = added_to((best,))
    text = Markdown(best.text[head:].removesuffix(tail))
    if text.count("\n") < best.location.last - best.location.first:
        # A comment or a rule was left out between two paragraphs: only the first is sure to stand so in the file.
        text = Markdown(text[: text.paragraph_end(text.body_start())])
    return Citation(
        n=n,
        chunk_id=best.chunk_id,
        document_id=best.document_id,
        document=best.document,
        title=best.title,
        section=best.section,
        breadcrumb=best.breadcrumb,
        url=addresses.url(whole),
        module=best.module,
        chapter=best.chapter,
        lines=whole.lines,
        page=best.page,
        excerpt=_excerpt(text),
        score=score,
        stale=best.stale or None,
    )


def _excerpt(text: str, limit: int = EXCERPT_CHARACTERS) -> str:
    """The beginning of a text as it stands, headings passed over; whole words where one ends in the second half.

    At most `limit` characters. An ellipsis, which counts, says that more follows; all before it is the source's.
    """
    whole = text[Markdown(text).body_start() :].strip() or text.strip()
    if len(whole) <= limit:
        return whole
    room = max(limit - len(ELLIPSIS), 0)
    space = _LAST_SPACE.search(whole[: room + 1])  # one more, since a word may end just there
    end = space.start() if space and space.start() >= room // 2 else room
    return whole[:end].rstrip() + ELLIPSIS
