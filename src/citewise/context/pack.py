"""Findings -> numbered sources under a token budget, and how they read in a prompt (A1)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewise.context.cite import citation_of
from citewise.context.cut import cut_to_fit
from citewise.context.join import Run, core_of, joined, runs_of
from citewise.context.neutral import label_text, neutralized
from citewise.context.urls import Addresses
from citewise.model.chunk import NO_SECTION
from citewise.model.context import Context, Source
from citewise.model.passage import Passage
from citewise.model.ranking import Finding
from citewise.ports.token_counter import TokenCounter

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
        whole = tuple(self._draft(n, run, joined(run.passages)) for n, run in enumerate(runs_of(findings), start=1))
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
            chosen = draft if draft.n == n else self._draft(n, draft.run, draft.text)
            if chosen.tokens > room and draft.n == 1:
                chosen = self._shortened(draft.run, room)
            if chosen.text and chosen.tokens <= room:
                yield chosen
                left, n = room - chosen.tokens, n + 1

    def _shortened(self, run: Run, room: int) -> "_Draft":
        """The best finding with the neighbors that fit; if it alone is too long, its beginning."""
        core = core_of(run, lambda part: self._draft(1, part, joined(part.passages)).tokens <= room)
        text = joined(core.passages)
        if self._draft(1, core, text).tokens > room:
            text = cut_to_fit(text, lambda beginning: self._draft(1, core, beginning).tokens <= room)
        return self._draft(1, core, text)

    def _draft(self, n: int, run: Run, text: str) -> "_Draft":
        block = _block(n, run.best.passage, text)
        return _Draft(n, run, text, block, self._tokens(block))

    def _source(self, draft: "_Draft") -> Source:
        best, passages = draft.run.best, draft.run.passages
        citation = citation_of(draft.n, passages, self.addresses, best=best.passage, score=best.score)
        return Source(draft.n, passages, draft.text, draft.tokens, best.score, citation)

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
    block: str
    tokens: int


def label_of(n: int, passage: Passage) -> str:
    """`[Source 2: title - section (p. 7)]`, always on one line and with no other bracket in it."""
    title, section = label_text(passage.title), label_text(passage.section)
    named = title if section in ("", NO_SECTION, title) else f"{title} - {section}"
    page = f" (p. {passage.page})" if passage.page is not None else ""
    return f"[Source {n}: {named}{page}]"


def _block(n: int, passage: Passage, text: str) -> str:
    return f"{label_of(n, passage)}\n{neutralized(text, is_code=passage.corpus_type.startswith('CODE_'))}"


def _best(source: Source) -> Passage:
    """The passage that the source is named after."""
    return next(one for one in source.passages if one.chunk_id == source.citation.chunk_id)
