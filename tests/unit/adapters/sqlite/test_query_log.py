"""The query log's file: how much of it is kept, what a reading looks at, and how an old one becomes a new one."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from citewise.adapters.sqlite import connections
from citewise.adapters.sqlite import query_log as module
from citewise.adapters.sqlite.query_log import VERSION, SqliteLog
from citewise.errors import Misconfigured
from citewise.model.access import Principal
from citewise.model.logged import LogScope
from citewise.ports.stores import LogStore
from tests.builders import DAY, NOON, SCOPE, a_row
from tests.contracts.test_log_store import ANN, EVERYBODYS, Clock, all_of, files_hold, many_rows

# How much is kept


def a_store(folder: Path, *, retention_days: float = 90.0, **options: Any) -> SqliteLog:
    return SqliteLog(folder / "queries.db", **{"retention_days": retention_days, "now": Clock(), **options})


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def texts_of(store: LogStore) -> list[str | None]:
    return [row.text for row in all_of(store)]


def test_of_too_many_rows_the_oldest_go_with_the_write_that_brings_more(tmp_path: Path) -> None:
    store = a_store(tmp_path, max_rows=3)
    for at in range(5):
        store.write([a_row(str(at), at=NOON + at)], lost={})
    assert texts_of(store) == ["4", "3", "2"]
    store.write([a_row(str(at), at=NOON + at) for at in range(5, 12)], lost={})
    assert texts_of(store) == ["11", "10", "9"]


def test_rows_that_went_for_their_age_do_not_count(tmp_path: Path) -> None:
    clock = Clock()
    store = a_store(tmp_path, retention_days=1.0, max_rows=3, now=clock)
    store.write([a_row(str(at), at=NOON) for at in range(3)], lost={})
    clock.now += 1.5 * DAY
    store.write([a_row("young", at=clock.now), a_row("younger", at=clock.now + 1)], lost={})
    store.write([a_row("youngest", at=clock.now + 2)], lost={})
    assert texts_of(store) == ["youngest", "younger", "young"]


def test_a_write_removes_a_bounded_part_of_a_surplus_and_a_sweep_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SURPLUS_A_WRITE", 20)
    rows = many_rows(100)
    a_store(tmp_path).write(rows[::-1], lost={})
    store = a_store(tmp_path, max_rows=10)
    store.write([a_row("new", at=NOON + 1)], lost={})
    assert texts_of(store) == ["new", *(row.text for row in rows[:79])]
    store.sweep()
    assert texts_of(store) == ["new", *(row.text for row in rows[:9])]
    assert not any(files_hold(tmp_path, (row.text or "")[:11].encode()) for row in rows[9:])
    assert files_hold(tmp_path, b"plover00008")


def test_counts_of_lost_rows_are_bounded_too(tmp_path: Path) -> None:
    store = a_store(tmp_path, max_rows=3)
    for _ in range(8):
        store.write([], lost={SCOPE: 1})
    assert store.lost(SCOPE, since=0.0) == 3


# Whose eyes it is for


def test_a_log_is_made_for_its_owners_eyes_alone_and_stays_so(tmp_path: Path) -> None:
    store = a_store(tmp_path, retention_days=1.0)
    store.write(many_rows(200), lost={})
    assert mode_of(tmp_path / "queries.db") == 0o600
    store.sweep()
    assert mode_of(tmp_path / "queries.db") == 0o600


def test_where_a_link_leads_is_for_the_same_eyes(tmp_path: Path) -> None:
    (tmp_path / "queries.db").symlink_to(tmp_path / "target")
    a_store(tmp_path).write([a_row()], lost={})
    assert mode_of(tmp_path / "target") == 0o600


def test_what_stands_beside_it_during_a_write_is_for_the_same_eyes(tmp_path: Path) -> None:
    a_store(tmp_path).write([a_row()], lost={})
    with closing(sqlite3.connect(tmp_path / "queries.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM queries")
        modes = {file.name: mode_of(file) for file in tmp_path.iterdir()}
        connection.execute("ROLLBACK")
    assert modes == {"queries.db": 0o600, "queries.db-journal": 0o600}


def test_whom_its_owner_let_read_it_may_go_on_to(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.write([a_row("one")], lost={})
    (tmp_path / "queries.db").chmod(0o640)
    store.write([a_row("two", at=NOON + 1)], lost={})
    store.sweep()
    assert mode_of(tmp_path / "queries.db") == 0o640
    assert texts_of(store) == ["two", "one"]


# What a reading looks at

READERS = {
    "queries_by_scope": EVERYBODYS,
    "queries_by_user": LogScope.of(SCOPE, ANN),
}


def statement_of(folder: Path, reader: LogScope, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a reading of the log runs."""
    store = a_store(folder)
    store.write([a_row()], lost={})
    statements: list[str] = []
    connect = connections._sqlite

    def traced(file: Path, mode: str, busy_seconds: float) -> sqlite3.Connection:
        connection = connect(file, mode, busy_seconds)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(connections, "_sqlite", traced)
    store.rows(reader, since=0.0, limit=9)
    return statements[-1]


@pytest.mark.parametrize("index", READERS)
def test_a_reading_goes_along_an_index_of_its_own_and_sorts_nothing(
    tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = statement_of(tmp_path, READERS[index], monkeypatch)
    with closing(sqlite3.connect(tmp_path / "queries.db")) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    (step,) = (detail for *_, detail in plan)
    assert step.startswith(f"SEARCH queries USING INDEX {index} (tenant=? AND project=? AND ")
    assert step.endswith("at>?)")


def test_strangers_are_looked_up_where_they_have_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for nameless in (Principal(), Principal(groups=frozenset({"ops"}))):
        assert "user = ''" in statement_of(tmp_path, LogScope.of(SCOPE, nameless), monkeypatch)


# Files of other versions


@pytest.mark.parametrize(
    ("version", "message"), [(VERSION - 1, "an older citewise: delete it"), (VERSION + 1, "a newer citewise")]
)
def test_a_log_of_another_version_is_refused(tmp_path: Path, version: int, message: str) -> None:
    store = a_store(tmp_path)
    store.write([a_row()], lost={})
    with closing(sqlite3.connect(tmp_path / "queries.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    for use in (lambda: all_of(store), lambda: store.write([a_row()], lost={})):
        with pytest.raises(Misconfigured, match=message):
            use()
