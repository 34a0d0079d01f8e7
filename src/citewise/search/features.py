"""Shortlist -> Shortlist: where the question's words stand in a passage, which BM25 does not look at."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import ClassVar

from citewise.model.chunk import Places
from citewise.model.query import FEATURE_WEIGHTS, PROXIMITY, TITLE, WINDOW
from citewise.model.ranking import Finding, Shortlist, in_order
from citewise.text.analysis import terms
from citewise.text.positions import term_positions

WINDOW_WORDS = 20  # stop words not counted; 1: single words; hundreds: the whole passage, which BM25 sees already


@dataclass(frozen=True, slots=True)
class Features:
    """Let passages rise whose headings name the question's words, or which have them close together."""

    name: ClassVar[str] = "features"
    weights: Mapping[str, float] = field(default_factory=lambda: FEATURE_WEIGHTS)
    depth: int = 40  # passages that are looked at; those behind them count as having nothing; 0: none are

    def __call__(self, found: Shortlist) -> Shortlist:
        asked = terms(found.query.text).words
        weights = {name: weight for name, weight in self.weights.items() if weight > 0}
        if not asked or not weights:
            return found
        head, tail = found.findings[: self.depth], found.findings[self.depth :]
        total = 1 + sum(weights.values())
        weighed = [
            _weighed(one, measured, weights, total)
            for one, measured in zip(head, self._measured(head, asked, weights.keys()), strict=True)
        ]
        behind = [one.rescored(self.name, one.score / total) for one in tail]
        return found.with_findings(in_order((*weighed, *behind)))

    def _measured(
        self, findings: Sequence[Finding], asked: Sequence[str], names: Set[str]
    ) -> Iterator[Mapping[str, float]]:
        """What each finding has of the features of these names. All texts are looked at in one go: words repeat."""
        wanted = frozenset(asked)
        headings = [" ".join(one.passage.breadcrumb) for one in findings]
        places = term_positions([*headings, *(one.passage.text for one in findings)], wanted)
        pairs = neighbors(asked)
        for heading, text in zip(places[: len(findings)], places[len(findings) :], strict=True):
            measured = {}
            if TITLE in names:
                measured[TITLE] = len(heading) / len(wanted)
            if PROXIMITY in names:
                measured[PROXIMITY] = proximity(pairs, text)
            if WINDOW in names:
                measured[WINDOW] = most_in_window(text, WINDOW_WORDS) / len(wanted)
            yield measured


def _weighed(finding: Finding, measured: Mapping[str, float], weights: Mapping[str, float], total: float) -> Finding:
    """Its fused score and its features as one mean, so that it stays in 0..1."""
    score = finding.score + sum([weight * measured[name] for name, weight in weights.items()])
    return finding.rescored(Features.name, score / total, parts=measured)


def neighbors(asked: Sequence[str]) -> list[tuple[str, str]]:
    """Words that stand side by side in the question."""
    return [(one, other) for one, other in pairwise(asked) if one != other]


def proximity(pairs: Sequence[tuple[str, str]], places: Places) -> float:
    """How near neighbors in the question stand to each other: 1 side by side, 0 if never both, else 1 / distance."""
    if not pairs:
        return 0.0
    near = [_nearness(places[one], places[other]) for one, other in pairs if one in places and other in places]
    return sum(near) / len(pairs)


def _nearness(ones: Sequence[int], others: Sequence[int]) -> float:
    """1 / the least distance between any of both, which are in order: a step in one of the two at a time."""
    left, right = iter(ones), iter(others)
    one, other, nearest = next(left, None), next(right, None), inf
    while one is not None and other is not None and nearest > 1:
        if one < other:
            nearest = min(nearest, other - one)
            one = next(left, None)
        else:
            nearest = min(nearest, one - other)
            other = next(right, None)
    return 1 / nearest


def most_in_window(places: Places, words: int) -> int:
    """How many different terms stand together in the best stretch of so many words."""
    inside: dict[str, int] = {}  # term -> its last place
    most = 0
    for at, term in sorted((at, term) for term, ats in places.items() for at in ats):
        inside[term] = at
        if len(inside) > most:
            most = max(most, sum(at - last < words for last in inside.values()))
    return most
