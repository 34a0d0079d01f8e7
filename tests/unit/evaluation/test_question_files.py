"""Question files: what they may say, and what is said of those that say it wrong."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from citewise.errors import BadRequest
from citewise.evaluation.cases import Case, Place
from citewise.evaluation.sets import judged_set
from citewise.model.query import Selection
from tests.builders import an_id

GOLD = {"doc": "a.md", "section": "Tides", "grade": 2, "heading_path": ["A", "Tides"], "line_start": 3, "line_end": 9}
ASKED: dict[str, Any] = {"id": "q1", "question": "When is it read?", "relevant": [GOLD], "type": "table"}
SELECTED: dict[str, Any] = {"id": "s1", "question": "Why?", "selected_text": "Because.", "answerable": False}


def read(tmp_path: Path, tree: object) -> tuple[Case, ...]:
    file = tmp_path / "questions.json"
    file.write_text(tree if isinstance(tree, str) else json.dumps(tree), "utf-8")
    return judged_set(file).cases


def message_of(tmp_path: Path, tree: object) -> str:
    with pytest.raises(BadRequest) as caught:
        read(tmp_path, tree)
    return str(caught.value).removeprefix(str(tmp_path / "questions.json"))


def test_an_answerable_question_says_where_its_answer_stands(tmp_path: Path) -> None:
    (case,) = read(tmp_path, [{**ASKED, "answer": "At noon.", "filters": {"module": "m"}, "note": "n"}])
    assert case == Case(
        "q1",
        "When is it read?",
        "answerable",
        gold=(Place("a.md", "Tides", (3, 9), grade=2),),
        group="table",
        answer="At noon.",
    )


def test_a_place_may_be_a_document_or_a_chunk(tmp_path: Path) -> None:
    relevant = [{"doc": "a.md"}, {"doc": "b.md", "chunk": an_id("c"), "section": None}]
    (case,) = read(tmp_path, [{**ASKED, "relevant": relevant}])
    assert case.gold == (Place("a.md", grade=1), Place("b.md", chunk=an_id("c"), grade=1))


@pytest.mark.parametrize(
    "says_so", [{"kind": "off-topic"}, {"absent_regex": "x"}, {"answerable": False}, {"kind": "near", "note": "n"}]
)
def test_a_question_that_nothing_answers_says_so(tmp_path: Path, says_so: dict[str, object]) -> None:
    (case,) = read(tmp_path, [{"id": "u", "question": "Who?", **says_so}])
    assert (case.kind, case.group) == ("unanswerable", says_so.get("kind", ""))


def test_a_selection_brings_its_text_along(tmp_path: Path) -> None:
    entry = {**SELECTED, "source_doc": "a.md", "source_section": "Tides", "leak_marker": "secret", "answer": None}
    (case,) = read(tmp_path, [entry])
    assert case.selection == Selection("Because.", "a.md", "Tides")
    assert (case.kind, case.is_answerable, case.leak_marker, case.group) == ("selected", False, "secret", "selected")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**ASKED, "relevent": []}, ", entry q1: relevent is unknown; did you mean relevant?"),
        ({"id": "q1", "question": "?a"}, ", entry q1: relevant is missing: name the places that answer"),
        ({"id": "a", "question": "?a", "kind": "answerable"}, ", entry a: relevant is missing"),
        ({**ASKED, "relevant": []}, ", entry q1: relevant: List should have at least 1 item"),
        ({**ASKED, "relevant": ["a.md"]}, ", entry q1: relevant[0]: must be a JSON object"),
        ({**ASKED, "relevant": [{}]}, ", entry q1: relevant[0].doc: Field required"),
        (
            {**ASKED, "relevant": [{**GOLD, "grade": "2"}]},
            ", entry q1: relevant[0].grade: Input should be a valid integer",
        ),
        ({**ASKED, "relevant": [{**GOLD, "grade": 0}]}, ", entry q1: relevant[0].grade: Input should be greater than"),
        ({**ASKED, "relevant": [{**GOLD, "line_end": None}]}, ", entry q1: relevant: line_start and line_end come"),
        ({**ASKED, "relevant": [{**GOLD, "line_end": 2}]}, ", entry q1: relevant: line_start and line_end come"),
        ({**ASKED, "relevant": [{**GOLD, "sektion": "x"}]}, ", entry q1: relevant[0]: sektion is unknown; did you"),
        ({**ASKED, "question": 7}, ", entry q1: question: Input should be a valid string"),
        ({**ASKED, "question": "x" * 2001}, ", entry q1: question: the question has 2,001 characters"),
        ({**ASKED, "question": "a\x07b"}, ", entry q1: question: the question holds the control character U+0007"),
        ({**ASKED, "id": ""}, ", entry 1: id: must not be empty"),
        ({**ASKED, "type": ["a"]}, ", entry q1: type: Input should be a valid string"),
        ({**ASKED, **SELECTED, "id": "x"}, ", entry x: relevant and selected_text exclude each other"),
        ({**SELECTED, "answerable": "no"}, ", entry s1: answerable: Input should be a valid boolean"),
        ({**SELECTED, "selected_text": "\u200b"}, ", entry s1: the selection is empty"),
        (["q"], ", entry 1: must be a JSON object"),
    ],
)
def test_what_breaks_the_format_is_named(tmp_path: Path, entry: object, message: str) -> None:
    assert message_of(tmp_path, [entry]).startswith(message)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("{", " is not valid JSON"),
        ("[" * 100_000, " is not valid JSON"),
        ("\xff", " is not valid JSON"),
        ({"cases": []}, " is not a question file"),
        ("7", " is not a question file"),
        ({"set": "a", "metrics": {}, "questions": []}, " is a run, not a question file: see `citewise eval compare`"),
    ],
)
def test_what_is_no_question_file_is_refused(tmp_path: Path, tree: object, message: str) -> None:
    assert message_of(tmp_path, tree).startswith(message)


def test_a_field_that_resembles_none_is_passed_over_with_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        entries = [{**ASKED, "id": f"q{at}", "reviewer": "ann"} for at in range(3)]
        assert len(read(tmp_path, [*entries, {**ASKED, "id": "q9", "relevant": [{**GOLD, "url": "x"}]}])) == 4
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "the field 'reviewer' is unknown and not used (3 times)",
        "the field 'url' is unknown and not used (1 time)",
    ]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.evaluation.sets.MAX_BYTES", 10)
    assert "larger than 10 bytes" in message_of(tmp_path, [ASKED])
