"""Two runs: what changed, and whether chance would do as much."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from citewise.evaluation.compare import EXACT_QUESTIONS, Comparison, Difference
from citewise.evaluation.runs import QuestionResult, Run


def a_run(values: Mapping[str, float], metric: str = "ndcg@10") -> Run:
    results = (QuestionResult(id_, f"{id_}?", "answerable", measures={metric: v}) for id_, v in values.items())
    return Run("set", "document", tuple(results), {}, {}, None)


def compared(changes: Sequence[float], metric: str = "ndcg@10") -> Difference:
    """A metric that changed by this much for each question."""
    before = {str(number): 0.0 for number in range(len(changes))}
    after = {str(number): change for number, change in enumerate(changes)}
    (difference,) = Comparison(a_run(before, metric), a_run(after, metric)).differences()
    return difference


@pytest.mark.parametrize(
    ("changes", "p"),
    [
        ([0.0, 0.0], 1.0),
        ([0.3], 1.0),  # one question: up or down, both are as large
        ([0.3, 0.0, 0.2], 0.5),  # of ++ +- -+ --, the two outer ones
        ([0.1, 0.2, 0.3], 0.25),  # 2 of 8
        ([1.0, 1.0, -1.0], 1.0),  # |sum| is 1 or 3, whichever way: all 8 are as large
        ([0.1] * 6, 2 / 64),
    ],
)
def test_few_questions_are_tried_every_way(changes: list[float], p: float) -> None:
    assert compared(changes).p == pytest.approx(p)


def test_many_questions_are_tried_by_chance_and_agree_with_every_way() -> None:
    draw = random.Random(3)
    changes = [draw.gauss(0.1, 0.3) for _ in range(EXACT_QUESTIONS)]
    exact = compared(changes).p
    sampled = compared([*changes, *([1e-9, -1e-9] * 4)]).p  # too many to try each, and the same question
    assert sampled == pytest.approx(exact, abs=0.02)
    assert 0.01 < exact < 0.9


def test_the_same_runs_give_the_same_numbers() -> None:
    draw = random.Random(4)
    changes = [draw.gauss(0.05, 0.3) for _ in range(60)]
    assert compared(changes) == compared(changes)


def test_the_interval_holds_the_mean_and_shrinks_with_more_questions() -> None:
    draw = random.Random(5)
    few = [draw.gauss(0.1, 0.2) for _ in range(20)]
    low, high = compared(few).interval
    assert low < sum(few) / 20 < high
    narrow = compared(few * 20).interval
    assert narrow[1] - narrow[0] < (high - low) / 3
    assert compared([0.2]).interval == pytest.approx((0.2, 0.2))
    assert compared([0.0, 0.0]).interval == (0.0, 0.0)


def test_only_common_questions_are_compared() -> None:
    before = a_run({"a": 0.5, "b": 0.5, "only-before": 1.0})
    after = a_run({"b": 1.0, "a": 0.25, "only-after": 1.0})
    (difference,) = Comparison(before, after).differences()
    assert (difference.metric, difference.questions, difference.better, difference.worse) == ("ndcg@10", 2, 1, 1)
    assert (difference.before, difference.after) == (0.5, 0.625)
    assert difference.change == 0.125
    assert len(Comparison(before, after).pairs) == 2


def test_a_metric_that_one_run_lacks_is_not_compared() -> None:
    assert Comparison(a_run({"a": 1.0}), a_run({"a": 1.0}, metric="recall@5")).differences() == ()
    assert Comparison(a_run({"a": 1.0}), a_run({"a": 1.0})).differences(["recall@5"]) == ()


def test_settings_that_differ_are_named_with_both_values() -> None:
    before = replace(a_run({"a": 1.0}), settings={"fusion": "rrf", "embedding": "m", "rerank.depth": 50})
    after = replace(a_run({"a": 1.0}), settings={"fusion": "nearness", "embedding": "m", "search.boosts": []})
    assert Comparison(before, after).settings == {
        "fusion": ("rrf", "nearness"),
        "rerank.depth": (50, None),
        "search.boosts": (None, []),
    }
    assert Comparison(before, before).settings == {}


def test_questions_that_changed_come_in_the_order_of_their_change() -> None:
    before = a_run({"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5})
    after = a_run({"a": 0.4, "b": 0.5, "c": 1.0, "d": 0.1})
    changed = Comparison(before, after).changed_most("ndcg@10")
    assert [(question.id, round(later - earlier, 3)) for question, earlier, later in changed] == [
        ("c", 0.5),
        ("d", -0.4),
        ("a", -0.1),
    ]


def test_questions_with_one_id_and_another_text_are_not_the_same() -> None:
    run = a_run({"a": 1.0})
    other = replace(run, questions=(replace(run.questions[0], question="Why not?"),))
    assert len(Comparison(run, run).pairs) == 1
    assert len(Comparison(run, other).pairs) == 0


@pytest.mark.parametrize(
    ("metric", "changes", "verdict"),
    [
        ("ndcg@10", [0.1] * 8, "better"),
        ("ndcg@10", [-0.1] * 8, "worse"),
        ("ndcg@10", [0.1] * 5, "unclear"),  # p is 2 / 32
        ("ndcg@10", [0.0] * 8, "same"),
        ("selected_leaks", [1.0] * 8, "worse"),
        ("selected_leaks", [-1.0] * 8, "better"),
    ],
)
def test_a_verdict_says_what_the_numbers_allow(metric: str, changes: list[float], verdict: str) -> None:
    assert compared(changes, metric).verdict == verdict


def test_questions_are_ordered_by_the_first_metric_there_is() -> None:
    assert a_run({"a": 1.0}).primary_metric == "ndcg@10"
    assert a_run({"a": 1.0}, metric="refusal_accuracy").primary_metric == "refusal_accuracy"
    assert a_run({"a": 1.0}, metric="latency").primary_metric is None
