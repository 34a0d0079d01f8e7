"""What the catalog's SQLite file adds to the contract: versions of the schema, damage, full disks, query plans."""

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from citewise.adapters.sqlite import connections
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.rows import READ_NEIGHBORS, READ_PASSAGES
from citewise.errors import Misconfigured, Unavailable
from citewise.model.chunk import WordVectors
from tests.builders import SCOPE, a_document, a_write, vectors_of
from tests.contracts.test_catalog import put, put_text, put_with_words, words_of


def opened(file: Path, *, model_name: str = "m") -> SqliteCatalog:
    return SqliteCatalog(Connections(file, may_create=True), model_name=model_name)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    with closing(opened(tmp_path / "catalog.db")) as made:
        yield made


def full_disk(catalog: SqliteCatalog) -> None:
    with catalog._connections.reading("limit") as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")


def test_many_may_open_a_new_catalog_at_once(tmp_path: Path) -> None:
    def documents(_: int) -> int:
        with closing(opened(tmp_path / "new.db")) as catalog:
            return catalog.count(SCOPE)[0]

    sqlite3.connect(tmp_path / "new.db").execute("PRAGMA journal_mode = WAL").connection.close()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(documents, range(16))) == [0] * 16


def test_a_reader_does_not_create_a_catalog(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        SqliteCatalog(Connections(tmp_path / "none.db"), model_name="m")
    assert not (tmp_path / "none.db").exists()


def test_vectors_of_another_model_are_not_found(catalog: SqliteCatalog, tmp_path: Path) -> None:
    write = a_write("a.md", ["one"])
    (key,) = words_of(write)
    put_with_words(catalog, write)
    with closing(opened(tmp_path / "catalog.db", model_name="n")) as other:
        assert other.vectors([key]) == {}
        assert other.word_vectors([key]) == {}
        assert other.lacks_word_vectors()
        other.keep({}, {key: WordVectors(b"of n")})
        assert other.word_vectors([key]) == {key: b"of n"}
    assert catalog.word_vectors([key]) == words_of(write)


def test_a_failing_store_leaves_nothing_behind(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one"]))
    before = catalog.version(SCOPE), catalog.last_position(SCOPE)
    bad = replace(a_write("c.md", ["three"]), document=replace(a_document("c.md"), title=None))  # type: ignore[arg-type]
    with pytest.raises(sqlite3.IntegrityError):
        catalog.store([a_write("b.md", ["two"]), bad])
    assert catalog.paths(SCOPE) == ("a.md",)
    assert (catalog.version(SCOPE), catalog.last_position(SCOPE)) == before


def test_vectors_of_a_text_and_its_words_are_stored_together_or_not_at_all(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", ["one"])
    (key,) = words_of(write)
    with pytest.raises(ValueError, match="unmarshallable"):
        catalog.keep(vectors_of(write), {key: cast("WordVectors", object())})
    assert catalog.vectors([key]) == {}


def test_a_full_disk_is_unavailable_and_loses_nothing(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one"]))
    full_disk(catalog)
    with pytest.raises(Unavailable, match="make room on the disk"):
        put(catalog, a_write("big.md", ["x" * 100_000]))
    assert catalog.paths(SCOPE) == ("a.md",)
    write = a_write("b.md", ["two"])
    (key,) = words_of(write)
    with pytest.raises(Unavailable, match="make room on the disk"):
        catalog.keep(vectors_of(write), {key: WordVectors(bytes(100_000))})
    assert catalog.vectors([key]) == {}


def test_a_newer_schema_is_refused(catalog: SqliteCatalog, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(Misconfigured, match="newer citewise"):
        opened(tmp_path / "catalog.db")


def test_a_library_of_the_first_release_is_refused_with_the_command_that_rebuilds_it(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.executescript((Path(__file__).parents[3] / "data" / "catalog_0_1.sql").read_text())
    with pytest.raises(
        Misconfigured, match=r"catalog\.db was .* folder away, then rebuild it with `citewise ingest PATH`"
    ):
        opened(tmp_path / "catalog.db")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"not a database, just some text that goes on for a while" * 50)
    with pytest.raises(Misconfigured, match="damaged"):
        opened(tmp_path / "catalog.db")


def test_reading_passages_is_by_id_and_does_not_grow_with_the_library(catalog: SqliteCatalog, tmp_path: Path) -> None:
    put_text(catalog, "a.md", "The tide turns.")
    values = {"ids": json.dumps([]), "tenant": "acme", "project": "handbook", "sees_all": True, "readers": "[]"}
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {READ_PASSAGES}", values)]
    steps = [step for step in plan if "json_each" not in step and "wanted" not in step]
    assert not [step for step in steps if step.startswith("SCAN")]
    assert [step for step in steps if step.startswith("SEARCH c") and "(id=?)" in step]


def test_neighbors_are_found_by_document_and_position(tmp_path: Path, catalog: SqliteCatalog) -> None:
    values = {"ids": "[]", "reach": 1, "tenant": "acme", "project": "handbook", "sees_all": True, "readers": "[]"}
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {READ_NEIGHBORS}", values)]
    assert not [step for step in plan if step.startswith("SCAN") and "json_each" not in step and "wanted" not in step]
    assert [step for step in plan if "chunks_by_document (document_id=? AND position>? AND position<?)" in step]


class ReadOnly:
    """A connection to a file in a folder that may not be written to."""

    def execute(self, statement: str) -> None:
        error = sqlite3.OperationalError("attempt to write a readonly database")
        error.sqlite_errorname = "SQLITE_READONLY"
        raise error

    def close(self) -> None:
        pass


def test_a_catalog_that_is_read_without_locks_is_seen_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself would not notice that somebody else has changed the file."""
    file, connect = tmp_path / "catalog.db", connections._sqlite
    with closing(opened(file)) as writer:
        put_text(writer, "a.md", "The tide turns.")
    monkeypatch.setattr(connections, "_sqlite", lambda *given: ReadOnly() if given[1] == "mode=rw" else connect(*given))
    with closing(SqliteCatalog(Connections(file), model_name="m")) as reader:
        before = reader.version(SCOPE)
        with closing(opened(file)) as writer:
            put_text(writer, "b.md", "Nets dry.")
        assert reader.version(SCOPE) != before
        assert reader.paths(SCOPE) == ("a.md", "b.md")
