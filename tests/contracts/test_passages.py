"""The promises of the port Passages."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewise.adapters.guard import Breaker, Guard, GuardedPassages
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.passages import _READ, SqlitePassages
from citewise.model.access import Access, Principal, Scope
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import Passages
from tests.builders import SCOPE, a_write

ANN = Principal("ann", frozenset({"ops"}))


class Shelf:
    def __init__(self, file: Path, *, is_guarded: bool = False) -> None:
        self.file = file
        self.connections = Connections(file, may_create=True)
        self.catalog = SqliteCatalog(self.connections, model_name="m")
        bare = SqlitePassages(self.connections)
        guard = Guard(Breaker("catalog", remedy="-", failures=1, pause_seconds=30.0))
        self.passages: Passages = GuardedPassages(bare, guard) if is_guarded else bare

    def put(self, path: str, *texts: str, scope: Scope = SCOPE, access: str | None = None) -> list[ChunkId]:
        write = a_write(path, texts, scope=scope, access=None if access is None else Access.of([access]))
        self.catalog.store([write])
        return [chunk.id for chunk in write.chunks]

    def break_row(self, statement: str, *values: str) -> None:
        with sqlite3.connect(self.file) as connection:
            connection.execute(statement, values)
        connection.close()


@pytest.fixture(params=["bare", "guarded"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path / "catalog.db", is_guarded=request.param == "guarded")
    yield made
    made.catalog.close()


def everything(scope: Scope = SCOPE) -> Where:
    return Where(scope, None)


def test_passages_come_in_the_order_of_the_ids_with_their_documents(shelf: Shelf) -> None:
    first, second = shelf.put("a.md", "The tide turns.", "The gauge is read.")
    (third,) = shelf.put("b.md", "Nets dry.")
    read = shelf.passages.passages([third, first, second], where=everything())
    assert [one.text for one in read.passages] == ["Nets dry.", "The tide turns.", "The gauge is read."]
    assert [one.document for one in read.passages] == ["b.md", "a.md", "a.md"]
    assert read.passages[1].metadata == {"sidebar_position": 2, "draft": False}
    assert read.malformed == ()


def test_unknown_and_removed_chunks_are_left_out(shelf: Shelf) -> None:
    (gone,) = shelf.put("a.md", "The tide turns.")
    (kept,) = shelf.put("b.md", "Nets dry.")
    shelf.catalog.remove(SCOPE, ["a.md"])
    read = shelf.passages.passages([gone, ChunkId("0" * 16), kept], where=everything())
    assert [one.chunk_id for one in read.passages] == [kept]


def test_another_scope_is_another_world(shelf: Shelf) -> None:
    (foreign,) = shelf.put("a.md", "The tide turns.", scope=Scope("other", "handbook"))
    assert shelf.passages.passages([foreign], where=everything()).passages == ()


@pytest.mark.parametrize(
    ("rule", "is_seen"),
    [
        ("public", True),
        ("project", True),
        ("owner:ann", True),
        ("owner:bob", False),
        ("group:ops", True),
        ("group:x", False),
    ],
)
def test_the_catalogs_own_rule_decides_who_reads(shelf: Shelf, rule: str, *, is_seen: bool) -> None:
    ids = shelf.put("a.md", "The tide turns.", access=rule)
    assert bool(shelf.passages.passages(ids, where=Where(SCOPE, ANN.readers)).passages) is is_seen
    assert shelf.passages.passages(ids, where=everything()).passages


def test_a_rule_that_changed_counts_at_once_whatever_the_index_believed(shelf: Shelf) -> None:
    ids = shelf.put("a.md", "The tide turns.", access="public")
    shelf.put("a.md", "The tide turns.", access="owner:bob")
    assert shelf.passages.passages(ids, where=Where(SCOPE, ANN.readers)).passages == ()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks SET breadcrumb = '{' WHERE id = ?",
        "UPDATE chunks SET text = ' ' WHERE id = ?",
        "UPDATE chunks SET location = '[\"lines\",9,3]' WHERE id = ?",
        "UPDATE chunks SET text_digest = 'not bytes' WHERE id = ?",
    ],
)
def test_a_record_that_makes_no_sense_is_named_and_spoils_no_other(shelf: Shelf, damage: str) -> None:
    (broken,) = shelf.put("a.md", "The tide turns.")
    (whole,) = shelf.put("b.md", "Nets dry.")
    shelf.break_row(damage, broken)
    read = shelf.passages.passages([broken, whole], where=everything())
    assert [one.chunk_id for one in read.passages] == [whole]
    assert read.malformed == (broken,)


def test_a_document_to_be_made_anew_no_longer_has_its_stamp(shelf: Shelf) -> None:
    (broken,) = shelf.put("a.md", "The tide turns.")
    shelf.put("b.md", "Nets dry.")
    before = shelf.catalog.known(SCOPE)
    shelf.passages.make_anew([broken])
    after = shelf.catalog.known(SCOPE)
    assert after["a.md"].stamp != before["a.md"].stamp
    assert after["b.md"].stamp == before["b.md"].stamp


def test_reading_is_by_id_and_does_not_grow_with_the_library(shelf: Shelf) -> None:
    shelf.put("a.md", "The tide turns.")
    values = {"ids": json.dumps([]), "tenant": "acme", "project": "handbook", "sees_all": True, "readers": "[]"}
    with sqlite3.connect(shelf.file) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {_READ}", values)]
    connection.close()
    steps = [step for step in plan if "json_each" not in step and "wanted" not in step]
    assert not [step for step in steps if step.startswith("SCAN")]
    assert [step for step in steps if step.startswith("SEARCH c") and "(id=?)" in step]
