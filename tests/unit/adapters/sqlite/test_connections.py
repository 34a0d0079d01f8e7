"""Connections: a reader gives up soon and says so, a writer has patience, and a transaction is all or nothing."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from citewise.adapters.sqlite import connections as module
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import BUSY_SECONDS, WRITER_BUSY_SECONDS, Connections
from citewise.errors import Misconfigured, Unavailable
from tests.builders import SCOPE, a_write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "catalog.db"


@pytest.fixture
def connections(file: Path) -> Iterator[Connections]:
    opened = Connections(file, may_create=True)
    yield opened
    opened.close()


def waits_ms(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("PRAGMA busy_timeout").fetchone()
    return int(found)


def test_a_search_that_tries_twice_knows_within_five_seconds() -> None:
    assert 2 * BUSY_SECONDS <= 5.0 < WRITER_BUSY_SECONDS


def test_one_connection_waits_as_long_as_its_use_may(connections: Connections) -> None:
    found = []
    for use in (
        connections.reading,
        connections.writing,
        connections.reading,
        partial(connections.reading, is_patient=True),
        connections.reading,
    ):
        with use("look") as connection:
            found.append((connection, waits_ms(connection)))
    assert len({id(connection) for connection, _ in found}) == 1
    assert [waits for _, waits in found] == [2_500, 30_000, 2_500, 30_000, 2_500]


def test_a_new_connection_waits_like_its_first_use_and_then_like_a_reader(connections: Connections) -> None:
    with connections.writing("write") as connection:
        assert waits_ms(connection) == 30_000
    assert waits_ms(connection) == 2_500


def test_a_use_that_fails_or_changes_the_wait_leaves_a_reader_s_behind(connections: Connections) -> None:
    with pytest.raises(ZeroDivisionError), connections.writing("write") as connection:
        raise ZeroDivisionError
    assert waits_ms(connection) == 2_500
    with connections.reading("compact", is_patient=True) as connection:
        connection.execute("PRAGMA busy_timeout = 7")
    assert waits_ms(connection) == 2_500


def test_a_connection_that_was_closed_during_a_write_is_let_go(connections: Connections) -> None:
    with connections.reading("write", is_patient=True):
        connections.close()
    with connections.reading("read") as connection:
        assert connection.execute("SELECT 1").fetchone()[0] == 1


def test_a_writer_waits_for_another_s_transaction_longer_than_a_reader_would(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    with closing(SqliteCatalog(Connections(file, may_create=True), model_name="m")) as catalog:
        catalog.store([a_write("a.md", ["The tide turns."])])
    with closing(SqliteCatalog(Connections(file), model_name="m")) as catalog:
        other = held_by_another(file)
        started = time.perf_counter()
        release = threading.Timer(0.5, other.execute, ["ROLLBACK"])
        release.start()
        catalog.store([a_write("b.md", ["Nets dry."])])
        assert time.perf_counter() - started > 0.4
        release.join()
        other.close()
        assert set(catalog.paths(SCOPE)) == {"a.md", "b.md"}


def test_a_reader_fails_clear_where_all_of_the_file_is_held(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteCatalog(Connections(file, may_create=True), model_name="m")):
        pass
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        started = time.perf_counter()
        with pytest.raises(Unavailable, match="another process is writing; try again"):
            SqliteCatalog(Connections(file), model_name="m")
        assert time.perf_counter() - started < WRITER_BUSY_SECONDS / 3


def held_by_another(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    return connection


# A transaction is all or nothing, and other writers see neither half of it


def test_no_other_may_write_from_the_first_line_of_a_transaction_on(connections: Connections, file: Path) -> None:
    with (
        connections.reading("look") as connection,
        closing(sqlite3.connect(file, isolation_level=None, timeout=0.0)) as other,
    ):
        connection.execute("CREATE TABLE words (word TEXT)")
        with (
            Connections.transaction(connection),
            pytest.raises(sqlite3.OperationalError, match="locked"),
            Connections.transaction(other),
        ):
            pass
        with Connections.transaction(other):
            other.execute("INSERT INTO words VALUES ('later')")
        assert [word for (word,) in connection.execute("SELECT word FROM words")] == ["later"]


def test_a_commit_that_fails_is_taken_back(connections: Connections) -> None:
    with connections.reading("look") as connection:
        connection.execute("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)")
        with pytest.raises(sqlite3.IntegrityError), Connections.transaction(connection):
            connection.execute("INSERT INTO children VALUES (7)")
        assert not connection.in_transaction
        assert tuple(connection.execute("SELECT count(*) FROM children").fetchone()) == (0,)


def test_damage_that_sqlite_cannot_put_into_words_is_named_as_damage(file: Path) -> None:
    with closing(Connections(file, may_create=True)) as made, made.writing("create") as connection:
        connection.execute("CREATE TABLE facts (name TEXT)")
    file.write_bytes(file.read_bytes().replace(b"facts (name TEXT)", b"facts \xff\x96ame TEXT)"))
    with (
        closing(Connections(file)) as opened,
        pytest.raises(Misconfigured, match=r"catalog\.db is damaged"),
        opened.reading("read the facts") as connection,
    ):
        connection.execute("SELECT * FROM facts")
