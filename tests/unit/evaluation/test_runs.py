"""Outcomes -> one run, and its thresholds."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from citewise.cli.eval import _missed
from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Place, counted
from citewise.evaluation.runs import JSON_METRICS, PERCENTILES, QuestionResult, Run
from citewise.insights import percentiles
from citewise.model.answer import Outcome

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
    ("measures", "outcome", "wrong"),
    [
        ({"ndcg@10": 0.0}, None, []),
        ({"refusal_accuracy": 0.0}, "nothing", ["refused, and should have been answered"]),
        ({"selected_accuracy": 0.0}, "answered", ["answered without grounds"]),
        ({"selected_accuracy": 0.0}, "unsure", ["not sure, and should have answered"]),
        ({"refusal_accuracy": 0.5}, "unsure", []),
        ({"citation_accuracy": 0.0}, "answered", ["no citation that is true"]),
        ({"citation_accuracy": 0.5, "selected_leaks": 1.0}, "answered", ["only 50% of its citations are true", LEAKY]),
    ],
)
def test_what_was_wrong_about_an_answer_is_said(
    measures: dict[str, float], outcome: Outcome | None, wrong: list[str]
) -> None:
    result = QuestionResult("a", "Why?", "selected", measures=measures, outcome=outcome)
    assert result.problems == wrong


# Runs as JSON: what was written is read again, and what somebody else wrote is refused with a reason


RUN = Run(
    set="tiny",
    unit="passage",
    questions=(
        QuestionResult(
            "q1",
            "When?",
            "answerable",
            "table",
            {"ndcg@10": 0.5, "answered": 1.0},
            12.5,
            (Place("a.md", "Tides", (1, 3), None, 2),),
            (Place("b.md", "", None, "c" * 16, 0),),
            "At noon. [1]",
            "answered",
            "At twelve.",
        ),
        QuestionResult("u1", "Who?", "unanswerable"),
    ),
    stages_ms={"fuse": 0.125},
    settings={"fusion": "nearness", "search.weights": {"words": 1.0}},
    commit="0" * 40,
)


def written(tmp_path: Path, tree: object) -> Path:
    file = tmp_path / "run.json"
    file.write_text(tree if isinstance(tree, str) else json.dumps(tree), "utf-8")
    return file


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    assert Run.read(written(tmp_path, RUN.as_json())) == RUN


def test_a_run_from_before_answers_were_expected_or_told_apart_is_read_too(tmp_path: Path) -> None:
    tree: Any = copy.deepcopy(RUN.as_json())
    del tree["questions"][0]["expected_answer"], tree["questions"][0]["outcome"]
    tree["questions"][0]["refused"] = True
    (first, _) = Run.read(written(tmp_path, tree)).questions
    assert (first.expected_answer, first.outcome) == (None, None)


def test_what_programs_rely_on_is_always_there() -> None:
    tree: dict[str, Any] = RUN.as_json()
    assert tree.keys() >= {"set", "queries", "metrics", "latency_ms", "settings", "commit"}
    assert tree["queries"] == 2
    assert tree["metrics"].keys() >= set(JSON_METRICS)
    assert tree["metrics"]["recall@5"] is None
    assert tree["questions_measured"] == {"ndcg@10": 1, "answered": 1}
    assert tree["latency_ms"].keys() == set(PERCENTILES)


def broken(*path: str | int, value: object) -> dict[str, Any]:
    tree: Any = copy.deepcopy(RUN.as_json())
    *above, last = path
    inner = tree
    for step in above:
        inner = inner[step]
    inner[last] = value
    return dict(tree)


def measured(value: object) -> dict[str, Any]:
    return broken("questions", 0, "measures", "ndcg@10", value=value)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("{", "is not a run: Invalid JSON"),
        ("[" * 100_000, "is not a run: Invalid JSON"),
        ("[]", "is not a run: must be a JSON object; a run is what `citewise eval SET --out RUN.json` writes"),
        ("<html>", "a run is what `citewise eval SET --out RUN.json` writes"),
        ({"set": "x"}, "is not a run: unit: Field required; a run is what"),
        ([{"id": "a", "question": "Why?"}], "is not a run: must be a JSON object; a run is"),
        ({"questions": [{"question": "Why?"}]}, "is not a run: set: Field required; a run is"),
        ({"set": "x", "ablations": []}, "is not a run: unit: Field required"),
        ({"set": "x", "metrics": {}, "questions": []}, "unit: Field required"),
        (broken("questions", 0, "measures", value=[]), "questions[0].measures: must be a JSON object"),
        (measured("high"), "measures.ndcg@10: Input should be a valid number"),
        (measured(True), "measures.ndcg@10: Input should be a valid number"),
        (measured(math.nan), "measures.ndcg@10: Input should be a finite number"),
        (measured(10**400), "measures.ndcg@10: Input should be"),
        (measured(5e307), "measures.ndcg@10: Input should be less than or equal to 1"),
        (measured(7), "measures.ndcg@10: Input should be less than or equal to 1"),
        (measured(-0.5), "measures.ndcg@10: Input should be greater than or equal"),
        (broken("unit", value="word"), "unit: Input should be 'document' or 'passage'"),
        (broken("questions", value={}), "questions: Input should be a valid array"),
        (broken("questions", 0, value=3), "questions[0]: must be a JSON object"),
        (broken("questions", 0, "kind", value="other"), "questions[0].kind: Input should be"),
        (broken("questions", 0, "id", value=None), "questions[0].id: Input should be a valid string"),
        (
            broken("questions", 0, "outcome", value="no"),
            "questions[0].outcome: Input should be 'answered'",
        ),
        (broken("questions", 0, "expected", 0, "lines", value=[1]), "expected[0].lines[1]: Field required"),
    ],
)
def test_a_run_that_nobody_wrote_is_refused(tmp_path: Path, tree: object, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Run.read(written(tmp_path, tree))
    assert message in str(caught.value)


def test_a_run_with_a_question_twice_is_bad_data(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="the id 'q1' occurs twice"):
        Run.read(written(tmp_path, broken("questions", 1, "id", value="q1")))


def test_a_run_that_is_too_large_or_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadRequest, match="cannot read"):
        Run.read(tmp_path / "nothing.json")
    monkeypatch.setattr("citewise.evaluation.runs.MAX_BYTES", 10)
    with pytest.raises(BadRequest, match="larger than 10 bytes"):
        Run.read(written(tmp_path, RUN.as_json()))
