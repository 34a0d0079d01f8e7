"""Shortlist -> Shortlist: where the question's words stand in a passage, which BM25 does not look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import ClassVar

from citewise.model.chunk import Places
from citewise.model.query import FEATURE_WEIGHTS, PROXIMITY, TITLE
from citewise.model.ranking import Shortlist, in_order
from citewise.text.analysis import terms
from citewise.text.positions import term_positions


@dataclass(frozen=True, slots=True)
class Features:
    """Raise passages whose headings have the question's words, or which have them close together.

    The new score is the weighted mean of the fused score and the features, so it stays in 0..1.
    """

    name: ClassVar[str] = "features"
    weights: Mapping[str, float] = field(default_factory=lambda: FEATURE_WEIGHTS)
    depth: int = 40  # passages that are looked at; those behind them count as having no feature; 0: none are

    def __call__(self, found: Shortlist) -> Shortlist:
        words = terms(found.query.text).words
        weights = {name: weight for name, weight in self.weights.items() if weight > 0}
        if not words or not weights:
            return found
        head, tail = found.findings[: self.depth], found.findings[self.depth :]
        texts = [" ".join(finding.passage.breadcrumb) for finding in head]
        texts += [finding.passage.text for finding in head]
        different = frozenset(words)
        places = term_positions(texts, different)  # of all texts together: their words repeat
        pairs = neighbors(words)
        total = 1 + sum(weights.values())
        rescored = []
        for finding, heading, text in zip(head, places[: len(head)], places[len(head) :], strict=True):
            features = {TITLE: len(heading) / len(different), PROXIMITY: proximity(pairs, text)}
            chosen = {name: features[name] for name in weights}
            score = finding.score + sum([weights[name] * value for name, value in chosen.items()])
            rescored.append(finding.rescored(self.name, score / total, parts=chosen))
        rescored += [finding.rescored(self.name, finding.score / total) for finding in tail]
        return found.with_findings(in_order(rescored))


def neighbors(words: Sequence[str]) -> list[tuple[str, str]]:
    """Words that stand side by side in the question."""
    return [(word, following) for word, following in pairwise(words) if word != following]


def proximity(pairs: Sequence[tuple[str, str]], places: Places) -> float:
    """How close neighbors in the question stand in a text: 1 side by side, 0 if never both, else 1 / distance."""
    if not pairs:
        return 0.0
    close = [_closeness(places[left], places[right]) for left, right in pairs if left in places and right in places]
    return sum(close) / len(pairs)


def _closeness(lefts: Sequence[int], rights: Sequence[int]) -> float:
    """1 / the least distance between two places, which are in order: a step in one of the two at a time."""
    left_places, right_places = iter(lefts), iter(rights)
    left, right, nearest = next(left_places, None), next(right_places, None), inf
    while left is not None and right is not None and nearest > 1:
        nearest = min(nearest, abs(right - left))
        if left < right:
            left = next(left_places, None)
        else:
            right = next(right_places, None)
    return 1 / nearest
