"""Outcomes -> one run, and its thresholds."""

import pytest

from citewise.cli.eval import _missed
from citewise.evaluation.cases import counted
from citewise.evaluation.runs import QuestionResult, Run
from citewise.insights import percentiles

LEAKY = "shows what is not in the selection"


def an_outcome(id_: str, *, group: str = "", **measures: float) -> QuestionResult:
    named = {name.replace("_at_", "@"): value for name, value in measures.items()}
    return QuestionResult(id_, f"{id_}?", "answerable", group, measures=named)


def a_run(*questions: QuestionResult) -> Run:
    return Run("set", "document", questions, {}, {}, None)


def test_a_mean_is_over_the_questions_that_have_it() -> None:
    outcomes = [an_outcome("a", ndcg_at_10=1.0, answered=1.0), an_outcome("b", ndcg_at_10=0.5), an_outcome("c")]
    assert a_run(*outcomes).metrics == {"ndcg@10": 0.75, "answered": 1.0}


def test_each_metric_says_over_how_many_questions_it_is() -> None:
    outcomes = [an_outcome("a", ndcg_at_10=1.0, citation_accuracy=0.0), an_outcome("b", ndcg_at_10=0.5)]
    assert a_run(*outcomes).questions_measured == {"ndcg@10": 2, "citation_accuracy": 1}


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 questions"), (1, "1 question"), (2, "2 questions"), (1200, "1,200 questions")]
)
def test_one_is_singular(number: int, text: str) -> None:
    assert counted(number, "question") == text
    assert counted(number, "row is", "rows are").endswith("row is" if number == 1 else "rows are")


def test_leaks_are_counted_and_not_averaged() -> None:
    outcomes = [an_outcome("a", selected_leaks=1.0), an_outcome("b", selected_leaks=1.0)]
    assert a_run(*outcomes).metrics == {"selected_leaks": 2.0}


def test_groups_are_those_with_a_name() -> None:
    outcomes = [an_outcome("a", group="table", answered=1.0), an_outcome("b", answered=0.0)]
    assert a_run(*outcomes).groups == {"table": {"answered": 1.0}}


def test_percentiles_lie_between_neighbors() -> None:
    assert percentiles([30.0, 10.0, 20.0]) == pytest.approx({"p50": 20.0, "p95": 29.0, "p99": 29.8})
    assert percentiles([7.0]) == {"p50": 7.0, "p95": 7.0, "p99": 7.0}
    assert percentiles([]) == {}


def test_the_poorest_are_those_that_went_wrong_most() -> None:
    outcomes = [
        an_outcome("fine", ndcg_at_10=1.0, refusal_accuracy=1.0),
        an_outcome("half", ndcg_at_10=0.5),
        an_outcome("refused", ndcg_at_10=1.0, refusal_accuracy=0.0),
        an_outcome("lost", ndcg_at_10=0.0, refusal_accuracy=0.0),
        an_outcome("leak", selected_leaks=1.0, selected_accuracy=1.0),
    ]
    assert [each.id for each in a_run(*outcomes).worst_first][:4] == ["lost", "refused", "leak", "half"]
    assert outcomes[-1].worst == (0.0, "selected_leaks")
    assert QuestionResult("none", "?", "selected").worst is None


@pytest.mark.parametrize(
    ("metric", "threshold", "missed"),
    [
        ("ndcg@10", 0.6, None),
        ("selected_leaks", 1, None),
        ("ndcg@10", 0.61, "ndcg@10 is 0.6000, under 0.61"),
        ("ndcg@10", 90, "ndcg@10 is 0.6000, under 90 (it is a share: never above 1)"),
        ("recall@5", 0.1, "recall@5 was not measured: no question of the set has it"),
        ("selected_leaks", 0, "selected_leaks is 1, above 0"),
    ],
)
def test_a_run_must_reach_every_threshold(metric: str, threshold: float, missed: str | None) -> None:
    assert _missed(a_run(an_outcome("a", ndcg_at_10=0.6, selected_leaks=1.0)), metric, threshold) == missed


@pytest.mark.parametrize(
    ("measures", "is_refused", "wrong"),
    [
        ({"ndcg@10": 0.0}, None, []),
        ({"refusal_accuracy": 0.0}, True, ["refused, and should have been answered"]),
        ({"selected_accuracy": 0.0}, False, ["answered without grounds"]),
        ({"citation_accuracy": 0.0}, False, ["no citation that is true"]),
        ({"citation_accuracy": 0.5, "selected_leaks": 1.0}, False, ["only 50% of its citations are true", LEAKY]),
    ],
)
def test_what_was_wrong_about_an_answer_is_said(
    measures: dict[str, float], is_refused: bool | None, wrong: list[str]
) -> None:
    outcome = QuestionResult("a", "Why?", "selected", measures=measures, refused=is_refused)
    assert outcome.problems == wrong
