"""Shortlist -> Shortlist: the same text twice helps nobody."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from citewise.model.ids import ChunkId
from citewise.model.ranking import Shortlist


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Drop what says the same as a better finding; the order stays."""

    name: ClassVar[str] = "dedup"
    least_jaccard: float = 0.95  # of the token sets; 1: only equal sets; 0: everything but the first

    def __call__(self, found: Shortlist) -> Shortlist:
        kept: list[tuple[ChunkId, frozenset[str]]] = []
        reasons: dict[ChunkId, str] = {}
        for finding in found.findings:
            if len(kept) == found.query.top_k:
                break  # the rest is cut anyway
            tokens = frozenset(finding.passage.text.lower().split())
            twin = self._twin(tokens, kept)
            if twin is None:
                kept.append((finding.candidate.id, tokens))
            else:
                reasons[finding.candidate.id] = f"says the same as {twin}"
        return found.without(self.name, reasons) if reasons else found

    def _twin(self, tokens: frozenset[str], kept: Sequence[tuple[ChunkId, frozenset[str]]]) -> ChunkId | None:
        """The best finding that says the same; None if this is the first to say it."""
        least, one = self.least_jaccard, len(tokens)
        for id_, others in kept:
            other = len(others)
            # Most pairs are so different in size that they cannot share enough.
            if least * other <= one and least * one <= other and _is_near(tokens, others, least):
                return id_
        return None


def _is_near(tokens: frozenset[str], others: frozenset[str], least: float) -> bool:
    one, other = len(tokens), len(others)
    missing, most_missing = 0, one - least * (one + other) / (1 + least)
    for token in tokens:  # most pairs are told apart by the first few
        if token not in others:
            missing += 1
            if missing > most_missing + 1:  # one more than allowed, so that rounding decides nothing
                return False
    shared = one - missing
    return shared >= least * (one + other - shared)
