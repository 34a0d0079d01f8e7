"""Judged sets: which kind stands at a path, and what is said of those that are broken."""

import codecs
import errno
import logging
import os
from pathlib import Path

import pytest

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Gold, JudgedUnit, Kind
from citewise.evaluation.sets import _askable, judged_set, mounted, path_of
from tests.judged import answerable, beir_folder, write_questions


def test_a_beir_folder_is_judged_by_document(tmp_path: Path) -> None:
    found = judged_set(beir_folder(tmp_path / "tiny"))
    assert (found.cases.name, found.cases.unit, found.corpus) == (
        "tiny",
        JudgedUnit.DOCUMENT,
        tmp_path / "tiny" / "corpus.jsonl",
    )
    assert found.cases.cases[0].gold == (Gold("d2.md", 2), Gold("d3.md", 1))  # what has grade 0 is not relevant


def test_questions_that_no_page_answers_come_along(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "queries.no_page.jsonl").write_text('{"_id": "n", "text": "sourdough"}\n{"_id": "empty", "text": ""}\n')
    cases = judged_set(folder).cases
    assert [case.id for case in cases.cases if case.kind is Kind.UNANSWERABLE] == ["n"]


def test_a_file_and_a_folder_of_question_files_are_judged_by_passage(tmp_path: Path) -> None:
    file = write_questions(tmp_path / "three.json", answerable())
    write_questions(tmp_path / "more.json", {"questions": [{"id": "u", "question": "x", "kind": "k"}], "draft": True})
    assert judged_set(file).cases.unit is JudgedUnit.PASSAGE
    assert judged_set(file).cases.name == "three"
    both = judged_set(tmp_path).cases
    assert [case.id for case in both.cases] == ["u", "k", "a", "l"]
    assert judged_set(tmp_path).corpus is None


def test_judgments_may_have_no_header_or_be_trecs(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "qrels" / "test.tsv").write_text("q1\t0\td1\t2\nq1\t0\td2\t-1\n\n")
    (case,) = judged_set(folder).cases.cases
    assert case.gold == (Gold("d1.md", 2),)


def test_the_only_judgments_there_are_will_do(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    assert len(judged_set(folder).cases.cases) == 3
    (folder / "qrels" / "train.tsv").write_text("q1\td1\t1\n")
    with pytest.raises(BadRequest, match=r"has dev\.tsv, train\.tsv and no test\.tsv"):
        judged_set(folder)


def test_a_judged_question_without_text_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq9\td1\t1\n")
    with caplog.at_level(logging.WARNING):
        assert len(judged_set(folder).cases.cases) == 1
    assert "1 judged question has no text in queries.jsonl, such as 'q9'" in caplog.text


def test_a_question_is_asked_as_far_as_it_can_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Public sets hold whole pages as questions, and what their makers' scrapers left in them."""
    assert _askable(" a\x00b\n") == "a b"
    assert len(_askable("word " * 1000)) <= 2000
    assert _askable("\x01 ") == ""
    folder = beir_folder(tmp_path / "tiny")
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "a\\u0000b"}\n{"_id": "q2", "text": ""}\n')
    with caplog.at_level(logging.WARNING):
        (case,) = judged_set(folder).cases.cases
    assert case.question == "a b"
    assert "1 question is cut to 2,000 characters, or stripped of control characters, such as 'q1'" in caplog.text
    assert "1 question without text is left out, such as 'q2'" in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("queries.jsonl", "{", r"queries\.jsonl, line 1: not a line of JSON"),
        ("queries.jsonl", '["q"]', "must be a JSON object"),
        ("queries.jsonl", '{"_id": "q1"}', "text: Field required"),
        ("qrels/test.tsv", "q1 d1 1", "line 1: must be question, document and grade"),
        ("qrels/test.tsv", "q1\td1\tgood", "line 1: must be question, document and grade"),
        ("qrels/test.tsv", "q1\td1\t0.5", r"the grade is a whole number"),
        ("qrels/test.tsv", "q8\td1\t1", "has no questions"),
        ("queries.jsonl", '{"_id": "q1", "text": "x' + "x" * 1_000_000 + '"}', "line 1: the line is too long"),
    ],
)
def test_what_is_wrong_in_a_beir_folder_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / name).write_text(content)
    with pytest.raises(BadRequest, match=message):
        judged_set(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "queries.jsonl",
            '{"_id": "q1", "text": "x"}\n\n{"_id": 1, "text": "y"}\n{"_id": "q1", "text": "z"}\n',
            r"queries\.jsonl, line 4: the question 'q1' is already on line 1",
        ),
        (
            "qrels/test.tsv",
            "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t0\n",
            r"test\.tsv, line 3: document 'd1' has grade 0 for question 'q1', and 1 on a line above",
        ),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", r"test\.tsv has no judgments: write one per line"),
        ("qrels/test.tsv", "", r"test\.tsv has no judgments: write one per line"),
        ("qrels/test.tsv", "q1\td1\t0\n", r"test\.tsv has no grade above 0"),
    ],
)
def test_what_contradicts_itself_or_says_nothing_is_bad_data(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / name).write_text(content)
    with pytest.raises(BadData, match=message):
        judged_set(folder)


def test_the_same_judgment_twice_is_one(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq1\td1\t1.0\n")
    assert judged_set(folder).cases.cases[0].gold == (Gold("d1.md", 1),)


def test_a_whole_grade_may_be_written_with_a_point(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t2.0\nq1\td2\t1.\n")
    assert judged_set(folder).cases.cases[0].gold == (Gold("d1.md", 2), Gold("d2.md", 1))


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    for name in ("queries.jsonl", "qrels/test.tsv"):
        (folder / name).write_bytes(codecs.BOM_UTF8 + (folder / name).read_bytes())
    (case,) = judged_set(folder).cases.cases
    assert (case.id, case.question) == ("q1", "kelp")


def test_questions_that_no_document_answers_are_left_out_with_one_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq2\td1\t0\nq3\td1\t0\nq3\td2\t-1\n")
    with caplog.at_level(logging.WARNING):
        assert [case.id for case in judged_set(folder).cases.cases] == ["q1"]
    assert len(caplog.records) == 1
    assert "2 questions without a grade above 0 are left out, such as 'q2'" in caplog.text


def test_text_that_is_none_is_named(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "tiny")
    (folder / "queries.jsonl").write_bytes(b'{"_id": "q1", "text": "\xff"}\n')
    with pytest.raises(BadRequest, match="line 1: not valid UTF-8"):
        judged_set(folder)


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


def test_a_sets_documents_stand_under_its_mount(tmp_path: Path) -> None:
    cases = mounted(judged_set(beir_folder(tmp_path / "tiny")).cases, "m")
    assert cases.cases[1].gold == (Gold(f"m/{path_of('d4')}"),)
