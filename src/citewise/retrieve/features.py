"""Shortlist -> Shortlist: where the question's words stand in a passage, which BM25 does not look at."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import ClassVar

from citewise.model.features import FEATURE_WEIGHTS, PROXIMITY, TITLE, WINDOW
from citewise.model.ranking import Finding, Shortlist, in_order
from citewise.model.terms import Place
from citewise.ports.analyzer import Analyzer

WINDOW_WORDS = 20  # stop words not counted; 1: single words; hundreds: the whole passage, which BM25 sees already


@dataclass(frozen=True, slots=True)
class Features:
    """Let passages rise whose headings name the question's words, or which have them close together."""

    name: ClassVar[str] = "features"
    analyzer: Analyzer
    weights: Mapping[str, float] = field(default_factory=lambda: FEATURE_WEIGHTS)
    depth: int = 40  # passages that are looked at; those behind them count as having nothing; 0: none are

    def __call__(self, found: Shortlist) -> Shortlist:
        asked = self.analyzer.terms(found.query.text).words
        weights = {name: weight for name, weight in self.weights.items() if weight > 0}
        if not asked or not weights:
            return found
        head, tail = found.findings[: self.depth], found.findings[self.depth :]
        total = 1 + sum(weights.values())
        weighed = [self._weighed(one, asked, weights, total) for one in head]
        return found.with_findings(in_order((*weighed, *(one.rescored(self.name, one.score / total) for one in tail))))

    def _weighed(self, finding: Finding, asked: Sequence[str], weights: Mapping[str, float], total: float) -> Finding:
        """Its fused score and its features as one mean, so that it stays in 0..1."""
        measured = self._measured(finding, asked, weights.keys())
        score = finding.score + sum(weight * measured[name] for name, weight in weights.items())
        return finding.rescored(self.name, score / total, parts=measured)

    def _measured(self, finding: Finding, asked: Sequence[str], names: Set[str]) -> dict[str, float]:
        wanted = frozenset(asked)
        measured = {}
        if TITLE in names:
            heading = self.analyzer.places(" ".join(finding.passage.breadcrumb), wanted)
            measured[TITLE] = len({place.term for place in heading}) / len(wanted)
        if PROXIMITY in names or WINDOW in names:
            places = self.analyzer.places(finding.passage.text, wanted)
            found = {PROXIMITY: proximity(asked, places), WINDOW: most_in_window(places, WINDOW_WORDS) / len(wanted)}
            measured |= {name: found[name] for name in found.keys() & names}
        return measured


def proximity(asked: Sequence[str], places: Sequence[Place]) -> float:
    """How near neighbors in the question stand to each other: 1 side by side, 0 if never both, else 1 / distance."""
    pairs = [(one, other) for one, other in pairwise(asked) if one != other]
    if not pairs:
        return 0.0
    by_term: dict[str, list[int]] = {}
    for place in places:
        by_term.setdefault(place.term, []).append(place.at)
    return sum(_nearness(by_term.get(one, ()), by_term.get(other, ())) for one, other in pairs) / len(pairs)


def _nearness(ones: Sequence[int], others: Sequence[int]) -> float:
    """1 / the least distance between any of both, which are in order: a step in one of the two at a time."""
    nearest, one, other = inf, 0, 0
    while one < len(ones) and other < len(others) and nearest > 1:
        nearest = min(nearest, abs(ones[one] - others[other]))
        if ones[one] < others[other]:
            one += 1
        else:
            other += 1
    return 1 / nearest


def most_in_window(places: Sequence[Place], words: int) -> int:
    """How many different terms stand together in the best stretch of so many words."""
    inside: dict[str, int] = {}  # term -> its last place
    most = 0
    for place in places:
        inside[place.term] = place.at
        if len(inside) > most:
            most = max(most, sum(place.at - last < words for last in inside.values()))
    return most
