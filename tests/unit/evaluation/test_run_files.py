"""Runs as JSON: what was written is read again, and what somebody else wrote is refused with a reason."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Place
from citewise.evaluation.runs import JSON_METRICS, PERCENTILES, QuestionResult, Run

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
            False,
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


def test_a_run_from_before_answers_were_expected_is_read_too(tmp_path: Path) -> None:
    tree: Any = copy.deepcopy(RUN.as_json())
    del tree["questions"][0]["expected_answer"]
    assert Run.read(written(tmp_path, tree)).questions[0].expected_answer is None


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
        (
            broken("questions", 0, "measures", "ndcg@10", value="high"),
            "measures.ndcg@10: Input should be a valid number",
        ),
        (broken("questions", 0, "measures", "ndcg@10", value=True), "measures.ndcg@10: Input should be a valid number"),
        (
            broken("questions", 0, "measures", "ndcg@10", value=math.nan),
            "measures.ndcg@10: Input should be a finite number",
        ),
        (broken("questions", 0, "measures", "ndcg@10", value=10**400), "measures.ndcg@10: Input should be"),
        (
            broken("questions", 0, "measures", "ndcg@10", value=5e307),
            "measures.ndcg@10: Input should be less than or equal to 1",
        ),
        (broken("questions", 0, "measures", "answered", value=7), "answered: Input should be less than or equal to 1"),
        (broken("questions", 0, "measures", "answered", value=-0.5), "answered: Input should be greater than or equal"),
        (broken("unit", value="word"), "unit: Input should be 'document' or 'passage'"),
        (broken("questions", value={}), "questions: Input should be a valid array"),
        (broken("questions", 0, value=3), "questions[0]: must be a JSON object"),
        (broken("questions", 0, "kind", value="other"), "questions[0].kind: Input should be"),
        (broken("questions", 0, "id", value=None), "questions[0].id: Input should be a valid string"),
        (broken("questions", 0, "refused", value="no"), "questions[0].refused: Input should be a valid boolean"),
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
