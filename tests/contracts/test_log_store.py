"""The promises of the port LogStore, over SQLite's file and over our fake."""

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from citewise.adapters.sqlite.query_log import SqliteLog
from citewise.errors import Misconfigured, Unavailable
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.logged import Logged, LogScope
from citewise.ports.stores import LogStore
from tests.builders import DAY, NOON, SCOPE, a_document_id, a_row
from tests.fakes.kept_log import KeptLog

EVERYBODYS = LogScope(SCOPE)
ANN, BOB = Principal("ann", frozenset({"ops"})), Principal("bob", frozenset({"ops"}))


@dataclass
class Clock:
    now: float = NOON

    def __call__(self) -> float:
        return self.now


def kept(clock: Clock, folder: Path, days: float) -> LogStore:
    return KeptLog(retention_days=days, now=clock.now)


def sqlite(clock: Clock, folder: Path, days: float) -> LogStore:
    return SqliteLog(folder / "queries.db", retention_days=days, now=clock)


Make = Callable[[Clock, Path, float], LogStore]


@pytest.fixture(params=[kept, sqlite], ids=["list", "sqlite"])
def make(request: pytest.FixtureRequest) -> Make:
    chosen: Make = request.param
    return chosen


@pytest.fixture
def store(make: Make, tmp_path: Path) -> LogStore:
    return make(Clock(), tmp_path, 90.0)


def all_of(store: LogStore, log_scope: LogScope = EVERYBODYS) -> tuple[Logged, ...]:
    return store.rows(log_scope, since=0.0, limit=1000)


def test_a_store_that_is_not_there_yet_is_empty(store: LogStore) -> None:
    assert all_of(store) == ()
    assert store.lost(SCOPE, since=0.0) == 0
    assert store.shown() == frozenset()
    store.forget([a_document_id("tides")])
    store.sweep()
    assert all_of(store) == ()


def test_every_field_comes_back_as_it_was(store: LogStore) -> None:
    row = a_row(
        who=ANN,
        kind="ask",
        shown=[("c1", "d1"), ("c2", "d1")],
        is_cache_hit=True,
        degraded=("dense", "rerank"),
        error="Unavailable",
        quality=0.25,
        confidence=0.5,
        has_warning=True,
        sufficient_context=False,
        tokens_in=300,
        tokens_out=21,
        embedding_tokens=7,
        conversation="k-1",
    )
    plain = a_row(None, at=NOON - 1)
    store.write([row, plain], lost={})
    assert all_of(store) == (row, plain)


def test_rows_come_newest_first_and_never_more_than_the_limit(store: LogStore) -> None:
    rows = [a_row(str(at), at=NOON - at) for at in (3, 1, 2)]
    store.write(rows, lost={})
    assert [row.text for row in store.rows(EVERYBODYS, since=0.0, limit=2)] == ["1", "2"]
    assert [row.text for row in store.rows(EVERYBODYS, since=NOON - 2, limit=9)] == ["1", "2"]


def test_of_rows_of_one_moment_the_last_written_is_the_newest(store: LogStore) -> None:
    store.write([a_row("first"), a_row("second")], lost={})
    store.write([a_row("third")], lost={})
    assert [row.text for row in all_of(store)] == ["third", "second", "first"]


def test_a_scope_sees_its_own_rows_alone(store: LogStore) -> None:
    other = Scope("acme", "other")
    store.write([a_row("here"), a_row("there", scope=other), a_row("elsewhere", scope=Scope("x", "handbook"))], lost={})
    assert [row.text for row in all_of(store)] == ["here"]
    assert [row.text for row in all_of(store, LogScope.of(other, OWNER))] == ["there"]


ASKERS = [
    OWNER,
    Principal("ann", owns_library=True),
    Principal(),
    ANN,
    BOB,
    Principal("ann"),
    Principal(groups=frozenset({"ops"})),
    Principal(groups=frozenset({"ops", "crew"})),
]


@pytest.mark.parametrize("reader", ASKERS, ids=range(len(ASKERS)))
def test_rows_are_exactly_those_that_are_admitted(store: LogStore, reader: Principal) -> None:
    rows = [a_row(str(asker), who=asker) for asker in ASKERS]
    store.write(rows, lost={})
    log_scope = LogScope.of(SCOPE, reader)
    assert set(all_of(store, log_scope)) == {row for row in rows if log_scope.admits(row)}


def test_what_is_too_old_is_not_given_and_goes_with_the_next_write(make: Make, tmp_path: Path) -> None:
    store = make(Clock(), tmp_path, 2.0)
    store.write([a_row("old", at=NOON - 2.1 * DAY), a_row("young", at=NOON - 1.9 * DAY)], lost={})
    store.write([a_row("new")], lost={})
    assert [row.text for row in all_of(store)] == ["new", "young"]


def test_lost_rows_are_counted_by_scope_and_time(store: LogStore) -> None:
    other = Scope("acme", "other")
    store.write([], lost={SCOPE: 3, other: 5})
    store.write([a_row()], lost={SCOPE: 4})
    assert store.lost(SCOPE, since=0.0) == 7
    assert store.lost(other, since=0.0) == 5
    assert store.lost(SCOPE, since=NOON + 1) == 0


def test_a_forgotten_document_is_in_no_row_and_the_others_stay(store: LogStore) -> None:
    tides, nets = a_document_id("tides"), a_document_id("nets")
    store.write(
        [a_row("both", shown=[("c1", tides), ("c2", nets), ("c3", tides)]), a_row("none", at=NOON - 1)], lost={}
    )
    assert store.shown() == {tides, nets}
    store.forget([tides])
    assert [row.shown for row in all_of(store)] == [(("c2", nets),), ()]
    assert store.shown() == {nets}


def test_where_nothing_is_to_be_kept_a_sweep_leaves_nothing(make: Make, tmp_path: Path) -> None:
    make(Clock(), tmp_path, 90.0).write([a_row("secret")], lost={})
    make(Clock(), tmp_path, 0.0).sweep()
    assert all_of(make(Clock(), tmp_path, 90.0)) == ()
    assert list(tmp_path.iterdir()) == []


# SQLite's own


def a_log(folder: Path, clock: Clock | None = None, **seconds: Any) -> SqliteLog:
    return SqliteLog(folder / "queries.db", retention_days=1.0, now=clock or Clock(), **seconds)


def in_file(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "queries.db")) as connection, connection:
        connection.execute(statement)


def files_hold(folder: Path, words: bytes) -> bool:
    return any(words in file.read_bytes() for file in folder.iterdir())


def many_rows(count: int) -> list[Logged]:
    """Of very different lengths, so that pages are split, joined and overflowed."""
    draw = random.Random(5)
    return [
        a_row(f"plover{at:05}{'x' * draw.randrange(1, 2000)}", at=NOON - at, shown=[(f"c{at}", "d" * 16)] * 20)
        for at in range(count)
    ]


def test_after_a_sweep_the_bytes_of_old_rows_are_nowhere(tmp_path: Path) -> None:
    clock = Clock()
    store = a_log(tmp_path, clock)
    store.write(many_rows(500), lost={})
    assert files_hold(tmp_path, b"plover")
    clock.now += 1.5 * DAY
    store.write([a_row("young", at=clock.now)], lost={})
    store.sweep()
    assert [row.text for row in all_of(store)] == ["young"]
    assert not files_hold(tmp_path, b"plover")


def test_writing_alone_overwrites_what_is_too_old_among_what_is_not(tmp_path: Path) -> None:
    clock, draw = Clock(), random.Random(7)
    store = a_log(tmp_path, clock)
    rows = [replace(row, at=NOON - draw.random() * DAY) for row in many_rows(500)]
    store.write(rows, lost={})
    clock.now += 0.5 * DAY
    store.write([a_row("young", at=clock.now)], lost={})
    found = {row.text for row in rows if files_hold(tmp_path, (row.text or "")[:11].encode())}
    assert found == {row.text for row in rows if row.at >= clock.now - DAY}
    assert 0 < len(found) < len(rows)


@pytest.mark.parametrize("hours", [1, 24])
@pytest.mark.parametrize("years", [-40, -1, 1, 126])
def test_a_clock_that_is_wrong_for_a_day_removes_no_row(tmp_path: Path, years: int, hours: int) -> None:
    clock = Clock()
    store = SqliteLog(tmp_path / "queries.db", retention_days=90.0, now=clock)
    store.write([a_row(f"{days} days old", at=NOON - days * DAY) for days in range(89, -1, -1)], lost={SCOPE: 3})
    before = all_of(store)
    for hour in range(hours + 1):
        clock.now = NOON + years * 365 * DAY + hour * DAY / 24
        store.write([a_row(f"wrong {hour}", at=clock.now)], lost={})
    clock.now = NOON + DAY / 24
    store.write([a_row("right", at=clock.now)], lost={})
    assert {*before} <= {*all_of(store)}
    assert store.lost(SCOPE, since=0.0) == 3


def test_a_log_in_use_is_trimmed_and_what_came_from_the_future_goes_with_its_neighbors(tmp_path: Path) -> None:
    clock = Clock()
    store = SqliteLog(tmp_path / "queries.db", retention_days=5.0, now=clock)
    store.write([a_row("plover", at=NOON + 126 * 365 * DAY)], lost={})
    for days in range(20):
        clock.now = NOON + days * DAY
        store.write([a_row(f"heron{days:02}", at=clock.now)], lost={})
    assert [row.text for row in all_of(store)] == [f"heron{days:02}" for days in range(19, 13, -1)]
    on_disk = {f"heron{days:02}" for days in range(20) if files_hold(tmp_path, f"heron{days:02}".encode())}
    assert on_disk == {f"heron{days:02}" for days in range(12, 20)}
    assert not files_hold(tmp_path, b"plover")


def test_a_log_that_was_left_for_a_year_is_not_shown_and_swept_at_once(tmp_path: Path) -> None:
    clock = Clock()
    store = a_log(tmp_path, clock)
    store.write([a_row("plover")], lost={})
    clock.now += 365 * DAY
    assert all_of(store) == ()
    store.sweep()
    assert not files_hold(tmp_path, b"plover")


def test_the_ids_of_forgotten_documents_are_overwritten(tmp_path: Path) -> None:
    store = a_log(tmp_path)
    store.write(many_rows(200), lost={})
    store.forget([a_document_id("other"), *store.shown()])
    store.sweep()
    assert not files_hold(tmp_path, b"d" * 16)
    assert len(all_of(store)) == 200


def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    a_log(tmp_path).write([a_row()], lost={})
    assert [file.name for file in tmp_path.iterdir()] == ["queries.db"]


def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "queries.db"
    file.write_bytes(b"no database" * 1000)
    store = a_log(tmp_path)
    for use in (lambda: store.write([a_row()], lost={}), lambda: all_of(store), store.sweep):
        with pytest.raises(Misconfigured, match="move the file away"):
            use()


def test_a_row_that_makes_no_sense_is_a_damaged_file(tmp_path: Path) -> None:
    store = a_log(tmp_path)
    store.write([a_row()], lost={})
    in_file(tmp_path, "UPDATE queries SET shown = 'x'")
    with pytest.raises(Misconfigured, match="damaged"):
        all_of(store)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_something_else_in_the_files_place_is_said_and_is_no_empty_log(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "queries.db")
    store = a_log(tmp_path)
    for use in (lambda: store.write([a_row()], lost={}), lambda: all_of(store), store.shown, store.sweep):
        with pytest.raises(Misconfigured, match=r"queries\.db: it is not a regular file; move it away"):
            use()


def test_a_place_without_its_folder_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="check its disk"):
        a_log(tmp_path / "missing").write([a_row()], lost={})


def test_a_log_that_another_process_holds_is_unavailable_for_now(tmp_path: Path) -> None:
    file = tmp_path / "queries.db"
    store = a_log(tmp_path, read_seconds=0.01, write_seconds=0.01)
    store.write([a_row("before")], lost={})
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unavailable, match="locked"):
            store.write([a_row("meanwhile")], lost={})
        with pytest.raises(Unavailable, match="locked"):
            all_of(store)
    assert [row.text for row in all_of(store)] == ["before"]


def test_a_newer_log_is_left_alone(tmp_path: Path) -> None:
    in_file(tmp_path, "PRAGMA user_version = 9")
    store = a_log(tmp_path)
    with pytest.raises(Misconfigured, match="newer citewise"):
        store.write([a_row()], lost={})
    with pytest.raises(Misconfigured, match="newer citewise"):
        all_of(store)


def test_a_write_that_fails_in_the_middle_leaves_nothing_of_it(tmp_path: Path) -> None:
    store = a_log(tmp_path)
    broken = a_row("broken", candidates=None)
    with pytest.raises(Misconfigured):
        store.write([a_row("whole"), broken], lost={SCOPE: 1})
    assert all_of(store) == ()
    assert store.lost(SCOPE, since=0.0) == 0
