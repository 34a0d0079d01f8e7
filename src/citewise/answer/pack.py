"""Findings -> numbered sources under a token budget, and how they read in a prompt."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewise.model.answer import Citation, Context, Source
from citewise.model.chunk import NO_SECTION
from citewise.model.document import BlockSpan, spanning
from citewise.model.ranking import Finding, Passage, in_order
from citewise.ports.models import TokenCounter
from citewise.text.markdown import behind_headings, paragraph_end
from citewise.text.sanitizing import sanitized, sanitized_label
from citewise.text.shorten import cut_to_fit
from citewise.text.urls import Addresses

EXCERPT_CHARACTERS = 200
ELLIPSIS = "\u2026"
MAX_OVERLAP_CHARACTERS = 2_000  # far more than a chunker repeats; a bound for texts that repeat themselves

_LAST_SPACE = re.compile(r"\s\S*\Z")


@dataclass(frozen=True, slots=True)
class Run:
    """Findings that follow each other in one section of one document, in its order."""

    findings: tuple[Finding, ...]

    @property
    def best(self) -> Finding:
        return in_order(self.findings)[0]

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(finding.passage for finding in self.findings)


def runs_of(findings: Iterable[Finding]) -> tuple[Run, ...]:
    """The findings with neighbors together, the run with the best finding first; equal ones by id."""
    once = {finding.passage.chunk_id: finding for finding in reversed(in_order(findings))}
    runs: list[list[Finding]] = []
    for finding in sorted(once.values(), key=lambda one: (one.passage.document_id, one.passage.position)):
        if runs and _are_neighbors(runs[-1][-1].passage, finding.passage):
            runs[-1].append(finding)
        else:
            runs.append([finding])
    made = [Run(tuple(run)) for run in runs]
    return tuple(sorted(made, key=lambda run: (-run.best.score, run.best.candidate.id)))


def core_of(run: Run, fits: Callable[[Run], bool]) -> Run:
    """The best finding, and around it as many of the run as fit, the better neighbor first."""
    first = run.findings.index(run.best)
    end = first + 1
    while True:
        wider = [
            (run.findings[new].score, min(first, new), max(end, new + 1))
            for new in (first - 1, end)
            if 0 <= new < len(run.findings)
        ]
        fitting = [(low, high) for _, low, high in sorted(wider, reverse=True) if fits(Run(run.findings[low:high]))]
        if not fitting:
            return Run(run.findings[first:end])
        first, end = fitting[0]


def _are_neighbors(before: Passage, after: Passage) -> bool:
    return (
        before.document_id == after.document_id
        and before.anchor == after.anchor
        and before.position + 1 == after.position
    )


def joined(passages: Sequence[Passage]) -> tuple[str, tuple[BlockSpan, ...]]:
    """The text of neighbors, in order, as it stands in the document, and the blocks in it."""
    text, blocks = "", list[BlockSpan]()
    for before, passage in zip((None, *passages), passages, strict=False):
        shared = _overlap(before, passage) if before else 0
        text += _gap(before, passage) if before and not shared else ""
        start = len(text) - shared
        for span in passage.blocks:
            moved = span._replace(start=start + span.start, end=start + span.end)
            if moved.start >= len(text):
                blocks.append(moved)
            elif blocks and moved.end > len(text):  # it goes on behind what both have
                blocks[-1] = blocks[-1]._replace(end=moved.end)
        text += passage.text[shared:]
    return text, tuple(blocks) if all(passage.blocks for passage in passages) else ()


def _gap(before: Passage, after: Passage) -> str:
    last, first = before.location.last, after.location.first
    if first > last + 1:
        return "\n\n"
    return "\n" if first > last else " "


def _overlap(before: Passage, after: Passage) -> int:
    """How many characters the end of one and the beginning of the other share, because the chunker repeated them.

    Text that repeats itself looks the same, so there must be lines that both have, no more of them are taken than
    both have, and only whole words.
    """
    shared_lines = before.location.last - after.location.first + 1
    most = min(len(before.text), len(after.text), MAX_OVERLAP_CHARACTERS)
    for size in range(most, 0, -1):
        if (
            before.text.endswith(after.text[:size])
            and after.text.count("\n", 0, size) < shared_lines
            and _begins_word(before.text, len(before.text) - size)
            and _begins_word(after.text, size)
        ):
            return size
    return 0


def _begins_word(text: str, at: int) -> bool:
    """Whether a cut there leaves every word whole: at an end of the text, or beside white space."""
    return at in (0, len(text)) or text[at - 1].isspace() or text[at].isspace()


RULE = "---"  # between two sources; no passage has such a line of its own
SEPARATOR = f"\n\n{RULE}\n\n"
BUDGET_TOKENS = 2_000  # 0: no source fits; beyond what was found it changes nothing
WIDER = 3  # times the budget, for what is to be compressed; 1: what does not fit as it is has no chance


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
        whole = tuple(self._draft(n, run, *joined(run.passages)) for n, run in enumerate(runs_of(findings), start=1))
        chosen = tuple(self._fitting(whole))
        return Context(
            text=SEPARATOR.join(draft.block for draft in chosen),
            sources=tuple(self._source(draft) for draft in chosen),
            tokens=self._total(chosen),
            tokens_before=self._total(whole),
        )

    def within(self, budget_tokens: int | None) -> "Pack":
        """The same under another budget; None: as it is."""
        return self if budget_tokens is None else replace(self, budget_tokens=budget_tokens)

    def widened(self) -> "Pack":
        """Room for what will be compressed into the budget."""
        return replace(self, budget_tokens=WIDER * self.budget_tokens)

    def shortened(self, context: Context, texts: Mapping[int, str]) -> Context:
        """The context with other texts, by number, for its sources; one without is left out, the others move up."""
        kept = [source for source in context.sources if source.n in texts]
        blocks = [_block(n, _best(source), texts[source.n]) for n, source in enumerate(kept, start=1)]
        tokens = self.counter.counts(blocks)
        return Context(
            text=SEPARATOR.join(blocks),
            sources=tuple(
                replace(source, n=n, tokens=spent, citation=replace(source.citation, n=n))
                for n, (source, spent) in enumerate(zip(kept, tokens, strict=True), start=1)
            ),
            tokens=sum(tokens) + self._tokens(RULE) * max(len(kept) - 1, 0),
            tokens_before=context.tokens_before,
        )

    def _fitting(self, drafts: Sequence["_Draft"]) -> Iterator["_Draft"]:
        left, n = self.budget_tokens, 1
        for draft in drafts:
            room = left - self._tokens(RULE) if n > 1 else left
            chosen = draft if draft.n == n else self._draft(n, draft.run, draft.text, draft.blocks)
            if chosen.tokens > room and draft.n == 1:
                chosen = self._shortened(draft.run, room)
            if chosen.text and chosen.tokens <= room:
                yield chosen
                left, n = room - chosen.tokens, n + 1

    def _shortened(self, run: Run, room: int) -> "_Draft":
        """The best finding with the neighbors that fit; if it alone is too long, its beginning."""
        core = core_of(run, lambda part: self._draft(1, part, *joined(part.passages)).tokens <= room)
        text, blocks = joined(core.passages)
        if self._draft(1, core, text, blocks).tokens > room:
            text = cut_to_fit(text, lambda beginning: self._draft(1, core, beginning, ()).tokens <= room)
            blocks = tuple(span._replace(end=min(span.end, len(text))) for span in blocks if span.start < len(text))
        return self._draft(1, core, text, blocks)

    def _draft(self, n: int, run: Run, text: str, blocks: tuple[BlockSpan, ...]) -> "_Draft":
        block = _block(n, run.best.passage, text)
        return _Draft(n, run, text, blocks, block, self._tokens(block))

    def _source(self, draft: "_Draft") -> Source:
        best, passages = draft.run.best, draft.run.passages
        citation = citation_of(draft.n, passages, self.addresses, best=best.passage, score=best.score)
        return Source(draft.n, passages, draft.text, draft.tokens, best.score, citation, draft.blocks)

    def _total(self, drafts: Sequence["_Draft"]) -> int:
        rules = self._tokens(RULE) * max(len(drafts) - 1, 0)
        return sum(draft.tokens for draft in drafts) + rules

    def _tokens(self, text: str) -> int:
        return self.counter.counts([text])[0]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A source on trial: its text, the block it would be in the prompt, and the tokens of that block."""

    n: int
    run: Run
    text: str
    blocks: tuple[BlockSpan, ...]
    block: str
    tokens: int


def label_of(n: int, passage: Passage) -> str:
    """`[Source 2: title - section (p. 7)]`, always on one line and with no other bracket in it."""
    title, section = sanitized_label(passage.title), sanitized_label(passage.section)
    named = title if section in ("", NO_SECTION, title) else f"{title} - {section}"
    page = f" (p. {passage.page})" if passage.page is not None else ""
    return f"[Source {n}: {named}{page}]"


def _block(n: int, passage: Passage, text: str) -> str:
    return f"{label_of(n, passage)}\n{sanitized(text, is_code=passage.corpus_type.startswith('CODE_'))}"


def _best(source: Source) -> Passage:
    """The passage that the source is named after."""
    return next(one for one in source.passages if one.chunk_id == source.citation.chunk_id)


def excerpt(text: str, limit: int = EXCERPT_CHARACTERS) -> str:
    """The beginning of a text as it stands, headings passed over; whole words where one ends in the second half.

    At most `limit` characters. An ellipsis, which counts, says that more follows; all before it is the source's.
    """
    whole = text[behind_headings(text) :].strip() or text.strip()
    if len(whole) <= limit:
        return whole
    room = max(limit - len(ELLIPSIS), 0)
    head = whole[: room + 1]  # one more, since a word may end just there
    space = _LAST_SPACE.search(head)
    end = space.start() if space and space.start() >= room // 2 else room
    return whole[:end].rstrip() + ELLIPSIS


def excerpt_of(text: str, unit: str) -> str:
    """The excerpt that begins where a unit stands; the text's own beginning where it cannot be found."""
    start = text.find(unit)
    if start < 0:
        return excerpt(text)
    return excerpt(text[start : paragraph_end(text, start + len(unit))])


def citation_of(n: int, passages: Sequence[Passage], addresses: Addresses, *, best: Passage, score: float) -> Citation:
    """Source `n`, made of neighbors in one section: named after the best of them, with the lines of all."""
    whole = replace(best, location=spanning([passage.location for passage in passages]))
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
        excerpt=excerpt(_unbroken(best)),
        score=score,
    )


def _unbroken(passage: Passage) -> str:
    """What can be quoted in one go: fewer lines than the file has there mean that a comment or a rule was left
    out between two paragraphs, and then only the first is sure to stand in the file as it stands here."""
    if passage.text.count("\n") >= passage.location.last - passage.location.first:
        return passage.text
    return passage.text[: paragraph_end(passage.text, behind_headings(passage.text))]
