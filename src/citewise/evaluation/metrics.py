"""Metrics of a ranking, computed as trec_eval does; tests/props/test_metrics.py compares them with ir-measures.

A ranking is given as the grades of its items, best first: 0 for what is irrelevant or not judged.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from citewise.evaluation.cases import Gold, JudgedUnit, Place
from citewise.model.ids import ChunkId

NDCG_DEPTHS = (5, 10)
RECALL_DEPTHS = (1, 5, 10, 20, 100)
PRECISION_DEPTHS = (1, 5, 10)
RANK_DEPTH = 10
RANKING_METRICS = (
    *(f"ndcg@{depth}" for depth in NDCG_DEPTHS),
    *(f"{name}@{depth}" for name in ("recall", "gold_recall") for depth in RECALL_DEPTHS),
    *(f"{name}@{depth}" for name in ("precision", "success") for depth in PRECISION_DEPTHS),
    f"mrr@{RANK_DEPTH}",
)


def ndcg(ranked: Sequence[int], judged: Iterable[int], depth: int) -> float:
    """Discounted gain of the first `depth` items over that of the best possible order; gains are linear."""
    best = _gain(sorted((grade for grade in judged if grade > 0), reverse=True)[:depth])
    return _gain(ranked[:depth]) / best if best else 0.0


def recall(ranked: Sequence[int], relevant: int, depth: int) -> float:
    """The share of all relevant items that are among the first `depth`."""
    return _relevant(ranked[:depth]) / relevant if relevant else 0.0


def precision(ranked: Sequence[int], depth: int) -> float:
    """The share of the first `depth` ranks that hold something relevant; an empty rank holds nothing."""
    return _relevant(ranked[:depth]) / depth


def reciprocal_rank(ranked: Sequence[int], depth: int) -> float:
    """One over the rank of the first relevant item; 0 if it is not among the first `depth`."""
    return next((1 / rank for rank, grade in enumerate(ranked[:depth], start=1) if grade > 0), 0.0)


def success(ranked: Sequence[int], depth: int) -> float:
    """1 if anything relevant is among the first `depth`."""
    return float(_relevant(ranked[:depth]) > 0)


def _gain(grades: Iterable[int]) -> float:
    return math.fsum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _relevant(grades: Iterable[int]) -> int:
    return sum(grade > 0 for grade in grades)


def ranking_measures(gold: Sequence[Gold], unit: JudgedUnit, places: Sequence[Place]) -> Mapping[str, float]:
    """Every metric of the places that a search found, in its order."""
    return _document_measures(gold, places) if unit is JudgedUnit.DOCUMENT else _passage_measures(gold, places)


def grade_of(place: Place, gold: Iterable[Gold]) -> int:
    """The best grade of a place; 0 if it answers nothing."""
    return max((each.grade for each in gold if each.matches(place)), default=0)


def rank_of(expected: Place, found: Iterable[Place]) -> int | None:
    """The rank at which an expected place was found first, from 1; None if it was not found."""
    first, last = expected.lines or (None, None)
    chunk = None if expected.chunk is None else ChunkId(expected.chunk)
    gold = Gold(expected.document, expected.grade, expected.section or None, first, last, chunk)
    return next((rank for rank, place in enumerate(found, 1) if gold.matches(place)), None)


def documents_of(places: Iterable[Place]) -> tuple[Place, ...]:
    """Each document once, at its best passage."""
    best: dict[str, Place] = {}
    for place in places:
        best.setdefault(place.document, place)
    return tuple(best.values())


def folded(places: Iterable[Place], gold: Sequence[Gold]) -> tuple[int, ...]:
    """The grades of a ranking in which each gold place counts once.

    A hit counts for every gold place that it is the first to show, best grade first. A hit that only repeats places
    shown before is left out. Any other hit counts as an item without a grade.
    """
    grades: list[int] = []
    shown: set[Gold] = set()
    for place in places:
        here = [each for each in gold if each.matches(place)]
        new = [each for each in here if each not in shown]
        shown.update(new)
        if not here:
            grades.append(0)
        grades += sorted((each.grade for each in new), reverse=True)
    return tuple(grades)


def _document_measures(gold: Sequence[Gold], places: Sequence[Place]) -> dict[str, float]:
    """As trec_eval: everything with a grade is relevant, a document counts at its best passage."""
    ranked = [grade_of(place, gold) for place in documents_of(places)]
    judged = [each.grade for each in gold]
    return {
        **{f"ndcg@{depth}": ndcg(ranked, judged, depth) for depth in NDCG_DEPTHS},
        **{f"recall@{depth}": recall(ranked, len(judged), depth) for depth in RECALL_DEPTHS},
        **{f"precision@{depth}": precision(ranked, depth) for depth in PRECISION_DEPTHS},
        **{f"success@{depth}": success(ranked, depth) for depth in PRECISION_DEPTHS},
        f"mrr@{RANK_DEPTH}": reciprocal_rank(ranked, RANK_DEPTH),
    }


def _passage_measures(gold: Sequence[Gold], places: Sequence[Place]) -> dict[str, float]:
    """Gold places are alternatives: one full answer among the hits is all that a reader needs."""
    ranked = folded(places, gold)
    judged = [each.grade for each in gold]
    full = [grade_of(place, [each for each in gold if each.grade == max(judged)]) for place in places]
    any_grade = [grade_of(place, gold) for place in places]

    def gold_recall(depth: int) -> float:
        found = sum(any(each.matches(place) for place in places[:depth]) for each in gold)
        return found / len(gold) if gold else 0.0

    return {
        **{f"ndcg@{depth}": ndcg(ranked, judged, depth) for depth in NDCG_DEPTHS},
        **{f"recall@{depth}": success(full, depth) for depth in RECALL_DEPTHS},
        **{f"gold_recall@{depth}": gold_recall(depth) for depth in RECALL_DEPTHS},
        **{f"precision@{depth}": precision(any_grade, depth) for depth in PRECISION_DEPTHS},
        f"mrr@{RANK_DEPTH}": reciprocal_rank(full, RANK_DEPTH),
    }
