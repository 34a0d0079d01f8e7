"""Shortlist -> Shortlist: some words in a question speak for a kind of document."""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from citewise.model.boost import DEFAULT_BOOSTS, BoostRule
from citewise.model.ranking import Finding, Shortlist


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
