"""Our metrics against ir-measures, which asks trec_eval itself: on any judgments and any ranking they are equal."""

from collections.abc import Callable, Mapping

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, P, R, Success, nDCG

from citewise.evaluation.cases import Gold, JudgedUnit, Place
from citewise.evaluation.metrics import _reciprocal_rank, ndcg, precision, ranking_measures, recall, success

DOCUMENTS = [f"d{at}" for at in range(14)]
DEPTHS = (1, 3, 5, 10, 100)
ORACLES: Mapping[str, Callable[[int], ir_measures.measures.Measure]] = {
    "ndcg": lambda depth: nDCG @ depth,
    "recall": lambda depth: R @ depth,
    "precision": lambda depth: P @ depth,
    "rr": lambda depth: RR @ depth,
    "success": lambda depth: Success @ depth,
}

judgments = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 4), min_size=1)
rankings = st.lists(st.sampled_from(DOCUMENTS), unique=True)


def ours(name: str, ranked: list[str], judged: Mapping[str, int], depth: int) -> float:
    grades = [judged.get(document, 0) for document in ranked]
    relevant = sum(grade > 0 for grade in judged.values())
    return {
        "ndcg": ndcg(grades, judged.values(), depth),
        "recall": recall(grades, relevant, depth),
        "precision": precision(grades, depth),
        "rr": _reciprocal_rank(grades, depth),
        "success": success(grades, depth),
    }[name]


def theirs(measure: ir_measures.measures.Measure, ranked: list[str], judged: Mapping[str, int]) -> float:
    """trec_eval orders by score, so a ranking is given falling ones; a question without a run counts as 0."""
    run = {"q": {document: float(len(ranked) - at) for at, document in enumerate(ranked)}}
    return float(ir_measures.calc_aggregate([measure], {"q": dict(judged)}, run)[measure])


@pytest.mark.parametrize("name", ORACLES)
@settings(deadline=None)  # the oracle loads at its first call
@given(judged=judgments, ranked=rankings, depth=st.sampled_from(DEPTHS))
def test_every_metric_is_what_trec_eval_says(name: str, judged: dict[str, int], ranked: list[str], depth: int) -> None:
    assert ours(name, ranked, judged, depth) == pytest.approx(theirs(ORACLES[name](depth), ranked, judged), abs=1e-9)


@settings(deadline=None)
@given(judged=st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(1, 4), min_size=1), ranked=rankings)
def test_the_measures_of_a_judged_question_are_what_trec_eval_says(judged: dict[str, int], ranked: list[str]) -> None:
    """Through the whole of it, with every document found in two passages: the better one counts."""
    gold = tuple(Gold(document, grade) for document, grade in judged.items())
    found = ranking_measures(gold, JudgedUnit.DOCUMENT, [Place(document) for document in (*ranked, *ranked)])
    for metric, measure in {
        "ndcg@10": nDCG @ 10,
        "ndcg@5": nDCG @ 5,
        "recall@5": R @ 5,
        "recall@100": R @ 100,
        "precision@5": P @ 5,
        "mrr@10": RR @ 10,
        "success@5": Success @ 5,
    }.items():
        assert found[metric] == pytest.approx(theirs(measure, ranked, judged), abs=1e-9), metric
