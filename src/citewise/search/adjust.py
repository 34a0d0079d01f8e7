"""Shortlist -> Shortlist: what stands beside the content, freshness, boosts, duplicates and the cut to top_k."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from citewise.model.ids import ChunkId
from citewise.model.query import DEFAULT_BOOSTS, BoostRule
from citewise.model.ranking import CUT, Finding, Shortlist
from citewise.text.roles import asks_about_before, is_beside, leads_from_before, roles_asked
from citewise.text.scripts import Script, script_of

DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True)
class Demote:
    """Multiply the scores of what stands beside the content, and of what is in another script than the question's.

    That is exercises, quizzes, objectives, changelogs and links, unless the question names them; guides from earlier
    versions, unless it asks what changed; and other scripts where there are passages in the question's own. Code is in
    Latin letters everywhere, so these keep their scores.
    """

    name: ClassVar[str] = "demote"
    factor: float = 0.7  # 1: exercises rank as content does; 0: behind all content
    other_script: float = 0.5  # 1: the script does not matter; 0: behind all in the question's

    def __call__(self, found: Shortlist) -> Shortlist:
        named, asked = roles_asked(found.query.text), script_of(found.query.text)
        is_about_now = not asks_about_before(found.query.text)
        scripts = [script_of(finding.passage.text) for finding in found.findings]
        demoted = frozenset(scripts) - {asked, Script.LATIN} if asked in scripts else frozenset()
        rescored = []
        for finding, script in zip(found.findings, scripts, strict=True):
            passage = finding.passage
            is_old = is_about_now and leads_from_before(passage.document, passage.breadcrumb)
            factor = self.factor if is_old or is_beside(passage.content_type, named) else 1.0
            factor *= self.other_script if script in demoted else 1.0
            rescored.append(finding if factor == 1 else finding.rescored(self.name, finding.score * factor))
        return found.with_findings(Finding.in_order(rescored))


@dataclass(frozen=True, slots=True)
class Freshness:
    """Boost recent conversations; every other passage keeps its score."""

    name: ClassVar[str] = "freshness"
    half_life_days: float = 90.0
    weight: float = 0.1  # 0: age is ignored; 1: age alone decides

    def __call__(self, found: Shortlist) -> Shortlist:
        query = found.query
        half_life_days = self.half_life_days if query.half_life_days is None else query.half_life_days
        weight = self.weight if query.freshness_weight is None else query.freshness_weight

        if weight <= 0 or all(finding.passage.location.sent_at is None for finding in found.findings):
            return found

        def aged(finding: Finding) -> Finding:
            sent_at = finding.passage.location.sent_at
            if not finding.passage.is_conversation or sent_at is None:
                return finding
            age_days = max(0.0, (query.asked_at - sent_at) / DAY)  # a time in the future counts as now
            freshness = math.exp2(-age_days / half_life_days)
            return finding.rescored(self.name, (1 - weight) * finding.score + weight * freshness)

        return found.with_findings(Finding.in_order(map(aged, found.findings)))


@dataclass(frozen=True, slots=True)
class Boost:
    """Multiply the scores of corpus types that a rule names, if the question has one of the rule's keywords."""

    name: ClassVar[str] = "boost"
    rules: tuple[BoostRule, ...] = DEFAULT_BOOSTS

    def __call__(self, found: Shortlist) -> Shortlist:
        rules = [rule for rule in self.rules if _any_of(rule.keywords).search(found.query.text)]
        if not rules:
            return found
        boosted = [
            (finding, math.prod(rule.factor for rule in rules if finding.passage.corpus_type in rule.corpus_types))
            for finding in found.findings
        ]
        # Sorted by the products, then limited to 1: two that reach the top of the scale keep their order.
        boosted.sort(key=lambda pair: -pair[0].score * pair[1])
        rescored = (
            finding if factor == 1 else finding.rescored(self.name, min(1.0, finding.score * factor))
            for finding, factor in boosted
        )
        return found.with_findings(tuple(rescored))


@lru_cache(maxsize=100)  # the rules are the same for every question
def _any_of(keywords: tuple[str, ...]) -> re.Pattern[str]:
    """Whole words only: "down" is not in "download"."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, keywords))})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Drop passages that say the same as a better one; the order stays."""

    name: ClassVar[str] = "dedup"
    min_jaccard: float = 0.95  # of the token sets; 1: only equal sets; 0: everything but the first

    def __call__(self, found: Shortlist) -> Shortlist:
        different: dict[ChunkId, list[str]] = {}
        seen: set[str] = set()  # tokens of all before
        reasons: dict[ChunkId, str] = {}
        for finding in found.findings:
            if len(different) == found.query.top_k:
                break  # the rest is cut anyway
            tokens = finding.passage.text.lower().split()
            before = len(seen)
            seen.update(tokens)
            # Nearly all have more new tokens than one with a twin could have; 1 more: rounding decides nothing.
            is_new = len(seen) - before > (1 - self.min_jaccard) * len(tokens) + 1
            twin = None if is_new else self._twin(set(tokens), different)
            if twin is None:
                different[finding.candidate.id] = tokens
            else:
                reasons[finding.candidate.id] = f"says the same as {twin}"
        return found.without(self.name, reasons) if reasons else found

    def _twin(self, tokens: set[str], different: Mapping[ChunkId, list[str]]) -> ChunkId | None:
        for id_, others in different.items():
            if len(tokens.intersection(others)) >= self.min_jaccard * len(tokens.union(others)):
                return id_
        return None


@dataclass(frozen=True, slots=True)
class Cut:
    """Keep the first top_k."""

    name: ClassVar[str] = CUT

    def __call__(self, found: Shortlist) -> Shortlist:
        top_k = found.query.top_k
        beyond = [finding.candidate.id for finding in found.findings[top_k:]]
        return found.without(self.name, dict.fromkeys(beyond, f"beyond the first {top_k}")) if beyond else found
