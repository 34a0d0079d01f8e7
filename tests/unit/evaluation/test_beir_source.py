"""A judged corpus as a source: every row a document, whatever its id."""

import codecs
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.errors import BadData, Unavailable
from citewise.evaluation.beir import BeirSource, path_of
from citewise.model.document import FileProblem, Item

PARTS = "must have an _id and a text; both are strings, as is the title if there is one"


def a_corpus(tmp_path: Path, *lines: str | bytes | dict[str, object]) -> Path:
    file = tmp_path / "corpus.jsonl"
    rows = [json.dumps(line) if isinstance(line, dict) else line for line in lines]
    file.write_bytes(b"\n".join(row if isinstance(row, bytes) else row.encode() for row in rows))
    return file


def items_of(source: BeirSource) -> list[Item]:
    return [item for item in source.items() if isinstance(item, Item)]


def test_each_row_is_a_page(tmp_path: Path) -> None:
    corpus = a_corpus(
        tmp_path, {"_id": "a/b", "title": "Tides  and\nwinds", "text": "Read at noon."}, b"", {"_id": 7, "text": "x"}
    )
    source = BeirSource(corpus)
    found = items_of(source)
    assert [item.path for item in found] == ["a%2Fb.md", "7.md"]
    assert [source.read(item) for item in found] == [b"# Tides and winds\n\nRead at noon.\n", b"x\n"]


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_id_has_a_path_of_its_own_that_leads_nowhere_else(item: str, other: str) -> None:
    assert (path_of(item) == path_of(other)) is (item == other)
    assert not {"/", "\\", "\0", "\n"} & set(path_of(item))
    assert path_of(item).isascii()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not a line of JSON"),
        ("[" * 50_000, "not a line of JSON"),
        (b"\xff", "not a line of JSON"),
        ("[1]", "must be a JSON object"),
        ('{"text": "x"}', PARTS),
        ('{"_id": "", "text": "x"}', PARTS),
        ('{"_id": true, "text": "x"}', PARTS),
        ('{"_id": "a"}', PARTS),
        ('{"_id": "a", "text": "x", "title": 3}', PARTS),
        ('{"_id": "ok", "text": "again"}', "its _id 'ok' occurred before"),
    ],
)
def test_a_row_that_makes_no_sense_is_skipped_with_its_line(tmp_path: Path, line: str | bytes, reason: str) -> None:
    corpus = a_corpus(tmp_path, {"_id": "ok", "text": "x"}, line, {"_id": "last", "text": "y"})
    assert list(BeirSource(corpus).items()) == [
        Item("ok.md", 27, "text/markdown"),
        FileProblem("corpus.jsonl:2", reason),
        Item("last.md", 28, "text/markdown"),
    ]


def test_a_row_that_is_too_long_is_skipped_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.evaluation.beir.MAX_ROW_BYTES", 40)
    corpus = a_corpus(tmp_path, {"_id": "long", "text": "x" * 100}, {"_id": "b", "text": "y"})
    source = BeirSource(corpus)
    skipped, found = source.items()
    assert skipped == FileProblem("corpus.jsonl:1", "longer than 40 bytes")
    assert isinstance(found, Item)
    assert source.read(found) == b"y\n"


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    source = BeirSource(a_corpus(tmp_path, codecs.BOM_UTF8 + b'{"_id": "a", "text": "x"}', {"_id": "b", "text": "y"}))
    found = items_of(source)
    assert [(item.path, source.read(item)) for item in found] == [("a.md", b"x\n"), ("b.md", b"y\n")]


def test_half_a_character_becomes_a_question_mark(tmp_path: Path) -> None:
    source = BeirSource(a_corpus(tmp_path, '{"_id": "a\\ud800", "text": "b\\ud800"}'))
    (found,) = items_of(source)
    assert source.read(found) == b"b?\n"


def test_a_file_that_changed_meanwhile_is_noticed(tmp_path: Path) -> None:
    corpus = a_corpus(tmp_path, {"_id": "a", "text": "x"})
    source = BeirSource(corpus)
    (found,) = items_of(source)
    a_corpus(tmp_path, {"_id": "b", "text": "x"})
    with pytest.raises(BadData, match="has changed"):
        source.read(found)
    corpus.unlink()
    with pytest.raises(BadData, match="no such file"):
        source.read(found)
    with pytest.raises(Unavailable, match="no such file"):
        list(source.items())


def page(tmp_path: Path, title: str, text: str) -> str:
    source = BeirSource(a_corpus(tmp_path, {"_id": "a", "title": title, "text": text}))
    (item,) = items_of(source)
    return source.read(item).decode()


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("", "def f():\n    pass", "```python\ndef f():\n    pass\n```\n"),
        ("F", "class A: pass", "# F\n\n```python\nclass A: pass\n```\n"),
        ("", "def f(:", "```python\ndef f(:\n```\n"),  # too new or too old for this Python, and code all the same
        ("", "The def word is Python's.", "The def word is Python's.\n"),
        ("", "def f():\n    return '```'", "````python\ndef f():\n    return '```'\n````\n"),
    ],
)
def test_code_is_a_block_of_code(tmp_path: Path, title: str, text: str, expected: str) -> None:
    assert page(tmp_path, title, text) == expected


def test_what_python_thinks_of_the_code_is_not_said(tmp_path: Path) -> None:
    text = 'def f(x):\n    return x is "\\d"'  # warnings are errors in tests
    assert page(tmp_path, "", text).startswith("```python")
