"""What one question's hits are worth: the measures of a ranking, by metric name."""

from collections.abc import Mapping, Sequence

from citewise.evaluation.cases import Case, Gold, Unit
from citewise.evaluation.matching import documents_of, folded, full_answers, grade_of, matches
from citewise.evaluation.metrics import ndcg, precision, recall, reciprocal_rank, success
from citewise.evaluation.runs import Place

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


def ranking_measures(case: Case, unit: Unit, places: Sequence[Place]) -> Mapping[str, float]:
    """Every measure of the places that a search found, in its order."""
    return _of_documents(case.gold, places) if unit is Unit.DOCUMENT else _of_passages(case.gold, places)


def _of_documents(gold: Sequence[Gold], places: Sequence[Place]) -> dict[str, float]:
    """As trec_eval counts: everything with a grade is relevant, a document counts at its best passage."""
    ranked = [grade_of(one, gold) for one in documents_of(places)]
    judged = [one.grade for one in gold]
    return {
        **{f"ndcg@{depth}": ndcg(ranked, judged, depth) for depth in NDCG_DEPTHS},
        **{f"recall@{depth}": recall(ranked, len(judged), depth) for depth in RECALL_DEPTHS},
        **{f"precision@{depth}": precision(ranked, depth) for depth in PRECISION_DEPTHS},
        **{f"success@{depth}": success(ranked, depth) for depth in PRECISION_DEPTHS},
        f"mrr@{RANK_DEPTH}": reciprocal_rank(ranked, RANK_DEPTH),
    }


def _of_passages(gold: Sequence[Gold], places: Sequence[Place]) -> dict[str, float]:
    """Gold places are alternatives: one full answer among the hits is all that a reader needs."""
    ranked = folded(places, gold)
    judged = [one.grade for one in gold]
    full = [grade_of(one, full_answers(gold)) for one in places]
    any_grade = [grade_of(one, gold) for one in places]
    return {
        **{f"ndcg@{depth}": ndcg(ranked, judged, depth) for depth in NDCG_DEPTHS},
        **{f"recall@{depth}": success(full, depth) for depth in RECALL_DEPTHS},
        **{f"gold_recall@{depth}": _gold_recall(gold, places, depth) for depth in RECALL_DEPTHS},
        **{f"precision@{depth}": precision(any_grade, depth) for depth in PRECISION_DEPTHS},
        f"mrr@{RANK_DEPTH}": reciprocal_rank(full, RANK_DEPTH),
    }


def _gold_recall(gold: Sequence[Gold], places: Sequence[Place], depth: int) -> float:
    found = sum(any(matches(place, one) for place in places[:depth]) for one in gold)
    return found / len(gold) if gold else 0.0
