"""Our metrics against ir-measures, which asks trec_eval itself: on any judgments and any ranking they are equal."""

from collections.abc import Mapping

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, P, R, nDCG

from citewise.evaluation.cases import Place
from citewise.evaluation.metrics import NDCG_DEPTHS, PRECISION_DEPTHS, RECALL_DEPTHS, ranking_measures

DOCUMENTS = [f"d{at}" for at in range(14)]
ORACLES: Mapping[str, ir_measures.measures.Measure] = {
    **{f"ndcg@{depth}": nDCG @ depth for depth in NDCG_DEPTHS},
    **{f"recall@{depth}": R @ depth for depth in RECALL_DEPTHS},
    **{f"precision@{depth}": P @ depth for depth in PRECISION_DEPTHS},
    "mrr@10": RR @ 10,
}

rankings = st.lists(st.sampled_from(DOCUMENTS), unique=True)


def theirs(measure: ir_measures.measures.Measure, ranked: list[str], judged: Mapping[str, int]) -> float:
    """trec_eval orders by score, so a ranking is given falling ones; a question without a run counts as 0."""
    run = {"q": {document: float(len(ranked) - at) for at, document in enumerate(ranked)}}
    return float(ir_measures.calc_aggregate([measure], {"q": dict(judged)}, run)[measure])


@settings(deadline=None)  # the oracle loads at its first call
@given(judged=st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(1, 4), min_size=1), ranked=rankings)
def test_the_measures_of_a_judged_question_are_what_trec_eval_says(judged: dict[str, int], ranked: list[str]) -> None:
    """Through the whole of it, with every document found in two passages: the better one counts."""
    gold = tuple(Place(document, grade=grade) for document, grade in judged.items())
    found = ranking_measures(gold, "document", [Place(document) for document in (*ranked, *ranked)])
    assert found.keys() == ORACLES.keys()
    for metric, measure in ORACLES.items():
        assert found[metric] == pytest.approx(theirs(measure, ranked, judged), abs=1e-9), metric
