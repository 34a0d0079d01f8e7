"""Shortlist -> Shortlist: as many as were asked for."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from citewise.model.ids import ChunkId
from citewise.model.query import DEFAULT_BOOSTS, BoostRule
from citewise.model.ranking import CUT, Finding, Shortlist

DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True)
class Freshness:
    """Let recent conversations rise; everything else keeps its score."""

    name: ClassVar[str] = "freshness"
    half_life_days: float = 90.0
    weight: float = 0.1  # 0: age is ignored; 1: age alone decides

    def __call__(self, found: Shortlist) -> Shortlist:
        query = found.query
        half_life_days = self.half_life_days if query.half_life_days is None else query.half_life_days
        weight = self.weight if query.freshness_weight is None else query.freshness_weight

        def aged(finding: Finding) -> float | None:
            sent_at = finding.passage.sent_at
            if not finding.passage.is_conversation or sent_at is None:
                return None
            age_days = max(0.0, (query.asked_at - sent_at) / DAY)  # a time in the future counts as now
            return (1 - weight) * finding.score + weight * math.exp2(-age_days / half_life_days)

        has_conversations = any(one.passage.sent_at is not None for one in found.findings)
        return found.rescored(self.name, aged) if weight > 0 and has_conversations else found


@dataclass(frozen=True, slots=True)
class Boost:
    """Multiply the scores of the corpus types that the question's words speak for."""

    name: ClassVar[str] = "boost"
    rules: tuple[BoostRule, ...] = DEFAULT_BOOSTS

    def __call__(self, found: Shortlist) -> Shortlist:
        spoken = tuple(rule for rule in self.rules if _speaks(rule, found.query.text))
        if not spoken:
            return found
        boosted = [(factor_of(one, spoken) * one.score, one) for one in found.findings]
        # In the order of the products, then cut to 1: two that reach the top of the scale keep their order.
        boosted.sort(key=lambda pair: -pair[0])
        return found.with_findings(
            tuple(
                one if math.isclose(score, one.score) else one.rescored(self.name, min(1.0, score))
                for score, one in boosted
            )
        )


def factor_of(finding: Finding, rules: tuple[BoostRule, ...]) -> float:
    """The product of every rule that names the finding's corpus type."""
    return math.prod(rule.factor for rule in rules if finding.passage.corpus_type in rule.corpus_types)


def _speaks(rule: BoostRule, question: str) -> bool:
    return _any_of(rule.keywords).search(question) is not None


@lru_cache(maxsize=100)  # the rules are the same for every question
def _any_of(keywords: tuple[str, ...]) -> re.Pattern[str]:
    """Whole words only: "down" is not in "download"."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, keywords))})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Drop what says the same as a better finding; the order stays."""

    name: ClassVar[str] = "dedup"
    min_jaccard: float = 0.95  # of the token sets; 1: only equal sets; 0: everything but the first

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
        least, one = self.min_jaccard, len(tokens)
        for id_, others in kept:
            other = len(others)
            # Most pairs are so different in size that they cannot share enough.
            if least * other <= one and least * one <= other and _is_near(tokens, others, least):
                return id_
        return None


def _is_near(tokens: frozenset[str], others: frozenset[str], least: float) -> bool:
    one, other = len(tokens), len(others)
    missing, max_missing = 0, one - least * (one + other) / (1 + least)
    for token in tokens:  # most pairs are told apart by the first few
        if token not in others:
            missing += 1
            if missing > max_missing + 1:  # one more than allowed, so that rounding decides nothing
                return False
    shared = one - missing
    return shared >= least * (one + other - shared)


@dataclass(frozen=True, slots=True)
class Cut:
    """Keep the first top_k."""

    name: ClassVar[str] = CUT

    def __call__(self, found: Shortlist) -> Shortlist:
        top_k = found.query.top_k
        beyond = [one.candidate.id for one in found.findings[top_k:]]
        return found.without(self.name, dict.fromkeys(beyond, f"beyond the first {top_k}")) if beyond else found
