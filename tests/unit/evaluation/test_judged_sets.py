"""Judged sets: which kind stands at a path, and what is said of those that are broken."""

import codecs
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Case, Place
from citewise.evaluation.sets import judged_set
from citewise.model.query import Selection
from tests.builders import an_id
from tests.judged import answerable, beir_folder, write_questions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return beir_folder(tmp_path / "tiny")


def judge(folder: Path, judgments: str) -> None:
    (folder / "qrels" / "test.tsv").write_text(judgments)


def test_a_beir_folder_is_judged_by_document(folder: Path) -> None:
    found = judged_set(folder)
    assert (found.name, found.unit, found.corpus) == ("tiny", "document", folder / "corpus.jsonl")
    assert found.cases[0].gold == (Place("tiny/d2.md", grade=2), Place("tiny/d3.md", grade=1))  # none of grade 0


def test_questions_that_no_page_answers_come_along(folder: Path) -> None:
    (folder / "queries.no_page.jsonl").write_text('{"_id": "n", "text": "sourdough"}\n{"_id": "empty", "text": ""}\n')
    cases = judged_set(folder).cases
    assert [case.id for case in cases if case.kind == "unanswerable"] == ["n"]


def test_a_file_and_a_folder_of_question_files_are_judged_by_passage(tmp_path: Path) -> None:
    file = write_questions(tmp_path / "three.json", answerable())
    write_questions(tmp_path / "more.json", {"questions": [{"id": "u", "question": "x", "kind": "k"}], "draft": True})
    assert judged_set(file).unit == "passage"
    assert judged_set(file).name == "three"
    both = judged_set(tmp_path).cases
    assert [case.id for case in both] == ["u", "k", "a", "l"]
    assert judged_set(tmp_path).corpus is None


@pytest.mark.parametrize(
    ("judgments", "grades"),
    [
        ("q1\t0\td1\t2\nq1\t0\td2\t-1\n\n", {"d1": 2}),
        ("q1\td1\t1\nq1\td1\t1.0\n", {"d1": 1}),
        ("q1\td1\t2.0\nq1\td2\t1.\n", {"d1": 2, "d2": 1}),
    ],
    ids=["without a header, as TREC has it", "the same judgment twice", "whole grades with a point"],
)
def test_judgments_come_in_several_forms(folder: Path, judgments: str, grades: dict[str, int]) -> None:
    judge(folder, judgments)
    (case,) = judged_set(folder).cases
    assert case.gold == tuple(Place(f"tiny/{name}.md", grade=grade) for name, grade in grades.items())


def test_the_only_judgments_there_are_will_do(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    assert len(judged_set(folder).cases) == 3
    (folder / "qrels" / "train.tsv").write_text("q1\td1\t1\n")
    with pytest.raises(BadRequest, match=r"has dev\.tsv, train\.tsv and no test\.tsv"):
        judged_set(folder)


def test_a_judged_question_without_text_is_told_of(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    judge(folder, "q1\td1\t1\nq9\td1\t1\n")
    assert len(judged_set(folder).cases) == 1
    assert "queries.jsonl: judged questions without a text (1, such as q9)" in caplog.text


def test_a_question_is_asked_as_far_as_it_can_be(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Public sets hold whole pages as questions, and what their makers' scrapers left in them."""
    texts = {"q1": " a\x00b\n", "q2": "\x01 ", "q3": "word " * 1000}
    rows = [json.dumps({"_id": id_, "text": text}) for id_, text in texts.items()]
    (folder / "queries.jsonl").write_text("\n".join(rows))
    first, long = judged_set(folder).cases
    assert first.question == "a b"
    assert 1990 < len(long.question) <= 2000
    assert "cut to 2,000 characters or stripped of control characters (3, such as q1)" in caplog.text
    assert "questions left out, since they are empty (1, such as q2)" in caplog.text


TWO_OF_AN_ID = '{"_id": "q1", "text": "x"}\n\n{"_id": 1, "text": "y"}\n{"_id": "q1", "text": "z"}\n'
HEADER = "query-id\tcorpus-id\tscore\n"
TWO_GRADES = f"{HEADER}q1\td1\t1\nq1\td1\t0\n"


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("queries.jsonl", "{", BadRequest, r"queries\.jsonl, line 1: not a line of JSON"),
        ("queries.jsonl", '["q"]', BadRequest, "must be a JSON object"),
        ("queries.jsonl", '{"_id": "q1"}', BadRequest, "must have an _id and a text"),
        ("queries.jsonl", '{"_id": "q1", "text": "\udcff"}\n', BadRequest, "line 1: not valid UTF-8"),
        ("qrels/test.tsv", "q1 d1 1", BadRequest, "line 1: must be question, document and grade"),
        ("qrels/test.tsv", "q1\td1\tgood", BadRequest, "line 1: must be question, document and grade"),
        ("qrels/test.tsv", "q1\td1\t0.5", BadRequest, "the grade is a whole number"),
        ("qrels/test.tsv", "q8\td1\t1", BadRequest, "has no questions"),
        ("queries.jsonl", TWO_OF_AN_ID, BadData, r"queries\.jsonl, line 4: the question 'q1' is there twice"),
        ("qrels/test.tsv", TWO_GRADES, BadData, r"test\.tsv, line 3: document 'd1' has two grades for question 'q1'"),
        ("qrels/test.tsv", HEADER, BadData, r"test\.tsv has no grade above 0: write a judgment per line"),
        ("qrels/test.tsv", "", BadData, r"test\.tsv has no grade above 0: write a judgment per line"),
        ("qrels/test.tsv", "q1\td1\t0\n", BadData, r"test\.tsv has no grade above 0"),
    ],
)
def test_what_is_wrong_in_a_beir_folder_is_named(
    folder: Path, name: str, content: str, error: type[Exception], message: str
) -> None:
    (folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(error, match=message):
        judged_set(folder)


def test_a_byte_order_mark_is_no_part_of_a_file(folder: Path) -> None:
    judge(folder, "q1\td1\t1\n")
    for name in ("queries.jsonl", "qrels/test.tsv"):
        (folder / name).write_bytes(codecs.BOM_UTF8 + (folder / name).read_bytes())
    (case,) = judged_set(folder).cases
    assert (case.id, case.question) == ("q1", "kelp")


def test_questions_that_no_document_answers_are_left_out_with_one_word(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judge(folder, "q1\td1\t1\nq2\td1\t0\nq3\td1\t0\nq3\td2\t-1\n")
    assert [case.id for case in judged_set(folder).cases] == ["q1"]
    assert len(caplog.records) == 1
    assert "questions left out, since no grade is above 0 (2, such as q2)" in caplog.text


def test_what_is_no_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="there is no judged set at"):
        judged_set(tmp_path / "nothing")
    with pytest.raises(BadRequest, match="is not a judged set: it has neither"):
        judged_set(tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "x"}\n')
    with pytest.raises(BadRequest, match=r"qrels/test\.tsv is missing"):
        judged_set(tmp_path)


def test_a_folder_that_may_not_be_looked_at_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "listdir", refused)  # root, who may run this, is refused nothing
    with pytest.raises(BadRequest, match=f"cannot read {tmp_path}: permission denied: check the path, and that you"):
        judged_set(tmp_path)


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    write_questions(tmp_path / "a.json", answerable())
    write_questions(tmp_path / "b.json", answerable())
    with pytest.raises(BadRequest, match="two questions have the id 'k'"):
        judged_set(tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.evaluation.beir.MAX_BYTES", 10)
    with pytest.raises(BadRequest, match="larger than 10 bytes"):
        judged_set(beir_folder(tmp_path / "tiny"))


# Question files: what they may say, and what is said of those that say it wrong


GOLD = {"doc": "a.md", "section": "Tides", "grade": 2, "line_start": 3, "line_end": 9}
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
    (case,) = read(tmp_path, [{**ASKED, "answer": "At noon."}])
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
    "says_so", [{"kind": "off-topic"}, {"absent_regex": "x"}, {"answerable": False}, {"kind": "near"}]
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
    entries = [{**ASKED, "id": f"q{at}", "filters": {"module": "m"}} for at in range(3)]
    assert len(read(tmp_path, [*entries, {**ASKED, "id": "q9", "relevant": [{**GOLD, "url": "x"}]}])) == 4
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "the field 'filters' is unknown and not used (3 times)",
        "the field 'url' is unknown and not used (1 time)",
    ]


def test_a_question_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.evaluation.sets.MAX_BYTES", 10)
    assert "larger than 10 bytes" in message_of(tmp_path, [ASKED])
