"""A transaction is all or nothing, and other writers see neither half of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from citewise.adapters.sqlite.connections import Connections


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0.0)) as opened:
        opened.execute("CREATE TABLE words (word TEXT)")
        yield opened


def words(connection: sqlite3.Connection) -> list[str]:
    return [word for (word,) in connection.execute("SELECT word FROM words ORDER BY rowid")]


def test_no_other_may_write_from_the_first_line_of_the_block_on(connection: sqlite3.Connection, file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0.0)) as other:
        with (
            Connections.transaction(connection),
            pytest.raises(sqlite3.OperationalError, match="locked"),
            Connections.transaction(other),
        ):
            pass
        with Connections.transaction(other):
            other.execute("INSERT INTO words VALUES ('later')")
    assert words(connection) == ["later"]


def test_a_commit_that_fails_is_taken_back(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(sqlite3.IntegrityError), Connections.transaction(connection):
        connection.execute("INSERT INTO children VALUES (7)")
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM children").fetchone() == (0,)
