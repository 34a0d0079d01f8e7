"""Two runs: what changed, and whether chance would do as much."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from citewise.evaluation.cases import JudgedUnit, Kind
from citewise.evaluation.compare import (
    EXACT_QUESTIONS,
    Difference,
    Verdict,
    _bootstrap_interval,
    _randomization_p,
    changed_most,
    changed_settings,
    common_questions,
    differences,
    primary_metric,
)
from citewise.evaluation.runs import QuestionResult, Run, means


def a_run(values: Mapping[str, float], metric: str = "ndcg@10") -> Run:
    outcomes = tuple(
        QuestionResult(id_, f"{id_}?", Kind.ANSWERABLE, measures={metric: value}) for id_, value in values.items()
    )
    return Run("set", JudgedUnit.DOCUMENT, outcomes, means(outcomes), {}, {}, {}, {}, None)


@pytest.mark.parametrize(
    ("changes", "p"),
    [
        ([], 1.0),
        ([0.0, 0.0], 1.0),
        ([0.3], 1.0),  # one question: up or down, both are as large
        ([0.3, 0.0, 0.2], 0.5),  # of ++ +- -+ --, the two outer ones
        ([0.1, 0.2, 0.3], 0.25),  # 2 of 8
        ([1.0, 1.0, -1.0], 1.0),  # |sum| is 1 or 3, whichever way: all 8 are as large
        ([0.1] * 6, 2 / 64),
    ],
)
def test_few_questions_are_tried_every_way(changes: list[float], p: float) -> None:
    assert _randomization_p(changes) == pytest.approx(p)


def test_many_questions_are_tried_by_chance_and_agree_with_every_way() -> None:
    draw = random.Random(3)
    changes = [draw.gauss(0.1, 0.3) for _ in range(EXACT_QUESTIONS)]
    exact = _randomization_p(changes)
    sampled = _randomization_p([*changes, *([1e-9, -1e-9] * 4)])  # too many to try each, and the same question
    assert sampled == pytest.approx(exact, abs=0.02)
    assert 0.01 < exact < 0.9


def test_the_same_runs_give_the_same_numbers() -> None:
    draw = random.Random(4)
    changes = [draw.gauss(0.05, 0.3) for _ in range(60)]
    assert _randomization_p(changes) == _randomization_p(changes)
    assert _bootstrap_interval(changes) == _bootstrap_interval(changes)


def test_the_interval_holds_the_mean_and_shrinks_with_more_questions() -> None:
    draw = random.Random(5)
    few = [draw.gauss(0.1, 0.2) for _ in range(20)]
    low, high = _bootstrap_interval(few)
    assert low < sum(few) / 20 < high
    narrow = _bootstrap_interval(few * 20)
    assert narrow[1] - narrow[0] < (high - low) / 3
    assert _bootstrap_interval([0.2]) == (0.2, 0.2)
    assert _bootstrap_interval([]) == (0.0, 0.0)


def test_only_common_questions_are_compared() -> None:
    before = a_run({"a": 0.5, "b": 0.5, "only-before": 1.0})
    after = a_run({"b": 1.0, "a": 0.25, "only-after": 1.0})
    (difference,) = differences(before, after)
    assert (difference.metric, difference.questions, difference.better, difference.worse) == ("ndcg@10", 2, 1, 1)
    assert (difference.before, difference.after) == (0.5, 0.625)
    assert difference.change == 0.125
    assert common_questions(before, after) == 2


def test_a_metric_that_one_run_lacks_is_not_compared() -> None:
    assert differences(a_run({"a": 1.0}), a_run({"a": 1.0}, metric="recall@5")) == ()
    assert differences(a_run({"a": 1.0}), a_run({"a": 1.0}), ["recall@5"]) == ()


def test_settings_that_differ_are_named_with_both_values() -> None:
    before = replace(a_run({"a": 1.0}), settings={"fusion": "rrf", "embedding": "m", "rerank.depth": 50})
    after = replace(a_run({"a": 1.0}), settings={"fusion": "nearness", "embedding": "m", "search.boosts": []})
    assert changed_settings(before, after) == {
        "fusion": ("rrf", "nearness"),
        "rerank.depth": (50, None),
        "search.boosts": (None, []),
    }
    assert changed_settings(before, before) == {}


def test_questions_that_changed_come_in_the_order_of_their_change() -> None:
    before = a_run({"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5})
    after = a_run({"a": 0.4, "b": 0.5, "c": 1.0, "d": 0.1})
    changed = changed_most(before, after, "ndcg@10")
    assert [(question.id, round(later - earlier, 3)) for question, earlier, later in changed] == [
        ("c", 0.5),
        ("d", -0.4),
        ("a", -0.1),
    ]


def a_difference(metric: str, change: float, p: float, *, moved: Sequence[int] = (3, 1)) -> Difference:
    return Difference(metric, 0.5, 0.5 + change, 9, moved[0], moved[1], 0.0, 0.0, p)


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (a_difference("ndcg@10", 0.1, 0.01), Verdict.BETTER),
        (a_difference("ndcg@10", -0.1, 0.01), Verdict.WORSE),
        (a_difference("ndcg@10", 0.1, 0.05), Verdict.UNCLEAR),
        (a_difference("ndcg@10", 0.0, 1.0, moved=(0, 0)), Verdict.SAME),
        (a_difference("selected_leaks", 0.1, 0.01), Verdict.WORSE),
        (a_difference("selected_leaks", -0.1, 0.01), Verdict.BETTER),
    ],
)
def test_a_verdict_says_what_the_numbers_allow(difference: Difference, expected: Verdict) -> None:
    assert difference.verdict is expected


def test_questions_are_ordered_by_the_first_metric_there_is() -> None:
    assert primary_metric(a_run({"a": 1.0})) == "ndcg@10"
    assert primary_metric(a_run({"a": 1.0}, metric="refusal_accuracy")) == "refusal_accuracy"
    assert primary_metric(a_run({"a": 1.0}, metric="latency")) is None
