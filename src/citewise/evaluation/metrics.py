"""What a ranking is worth, as trec_eval counts it; ir-measures is the oracle in tests/props/test_metrics.py.

A ranking arrives as the grades of its items, best place first: 0 for what is judged irrelevant or not judged at all.
"""

import math
from collections.abc import Iterable, Sequence

Grades = Sequence[int]


def ndcg(ranked: Grades, judged: Iterable[int], depth: int) -> float:
    """Discounted gain of the first `depth` items over that of the best order there could be; gains are linear."""
    best = _gain(sorted((grade for grade in judged if grade > 0), reverse=True)[:depth])
    return _gain(ranked[:depth]) / best if best else 0.0


def recall(ranked: Grades, relevant: int, depth: int) -> float:
    """The share of all that is relevant which stands among the first `depth`."""
    return _relevant(ranked[:depth]) / relevant if relevant else 0.0


def precision(ranked: Grades, depth: int) -> float:
    """The share of `depth` places that hold something relevant; a place left empty holds nothing."""
    return _relevant(ranked[:depth]) / depth


def reciprocal_rank(ranked: Grades, depth: int) -> float:
    """One over the place of the first relevant item; 0 if it is not among the first `depth`."""
    return next((1 / place for place, grade in enumerate(ranked[:depth], start=1) if grade > 0), 0.0)


def success(ranked: Grades, depth: int) -> float:
    """1 if anything relevant is among the first `depth`."""
    return float(_relevant(ranked[:depth]) > 0)


def _gain(grades: Iterable[int]) -> float:
    return math.fsum(max(grade, 0) / math.log2(place + 1) for place, grade in enumerate(grades, start=1))


def _relevant(grades: Grades) -> int:
    return sum(grade > 0 for grade in grades)
