"""The promises of the port HeldOrders, over both places where orders are held."""

import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.adapters.memory.rankings import MemoryHeldOrders
from citewise.adapters.sqlite.rankings import SqliteHeldOrders, order_bytes
from citewise.errors import Unavailable
from citewise.model.paging import HeldId
from citewise.model.ranking import Candidate
from citewise.ports.rankings import HeldOrder, HeldOrders, Seen
from tests.builders import an_id

ONE, OTHER, THIRD = (HeldId(name * 16) for name in (b"1", b"2", b"3"))
A, B, C, NOTHING = b"eight by", b"tes each", b"one here", bytes(8)
RANKS = {"dense": 3, "code": 1}

Make = Callable[..., HeldOrders]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    opened: list[SqliteHeldOrders] = []

    def made(*, max_bytes: int = 10**6) -> HeldOrders:
        if request.param == "memory":
            return MemoryHeldOrders(max_bytes=max_bytes)
        opened.append(SqliteHeldOrders(tmp_path / "pages.db", max_bytes=max_bytes))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


def an_order(count: int = 3, *, seen: Seen | None = None) -> HeldOrder:
    candidates = tuple(
        Candidate(an_id(n), 1 / (n + 3), {"dense": 0.1 * n, "fused": 1 / (n + 7)}, {"dense": n + 1, "words": 70_000})
        for n in range(count)
    )
    return HeldOrder(
        candidates,
        170,
        is_whole=False,
        left_out=(an_id("twin"),),
        degraded=("dense: it is down",),
        notes=("rerank: off — für heute",),
        seen=seen or Seen(),
    )


def kept(held: HeldOrders, *ids: HeldId, now: float = 0.0, order: HeldOrder | None = None) -> None:
    for id_ in ids:
        held.keep(id_, order or an_order(), now=now, expires_at=now + 100)


def is_held(held: HeldOrders, *ids: HeldId) -> list[bool]:
    return [held.read(id_, before=0) is not None for id_ in ids]


def test_an_order_is_read_back_as_it_was_kept(make: Make) -> None:
    held, order = make(), an_order()
    kept(held, ONE, order=order)
    read = held.read(ONE, before=0)
    assert read is not None
    assert tuple(read.candidates) == order.candidates
    assert replace(read, candidates=order.candidates) == order


def test_candidates_that_lack_what_others_have_stay_without_it(make: Make) -> None:
    bare, full = Candidate(an_id(1), 0.5, {}, {}), Candidate(an_id(2), 0.0, {"rerank": 0.0}, {"code": 1})
    held = make()
    kept(held, ONE, order=HeldOrder((bare, full), 2))
    read = held.read(ONE, before=0)
    assert read is not None
    assert tuple(read.candidates) == (bare, full)


def test_any_stretch_of_an_order_can_be_taken(make: Make) -> None:
    held, order = make(), an_order(50)
    kept(held, ONE, order=order)
    read = held.read(ONE, before=0)
    assert read is not None
    assert len(read.candidates) == 50
    assert read.candidates[10:14] == order.candidates[10:14]
    assert read.candidates[48:60] == order.candidates[48:]
    assert read.candidates[-1] == order.candidates[-1]
    with pytest.raises(IndexError):
        read.candidates[50]


def test_what_is_not_held_is_none(make: Make) -> None:
    held = make()
    kept(held, ONE)
    assert held.read(OTHER, before=0) is None


def test_what_was_seen_before_a_place_comes_with_the_order(make: Make) -> None:
    held = make()
    kept(held, ONE, order=an_order(seen=Seen(0, A)))
    held.note(ONE, Seen(1, NOTHING + B, {1: RANKS}), expires_at=0.0)
    assert [_seen(held, before) for before in range(4)] == [
        Seen(),
        Seen(0, A),
        Seen(0, A + NOTHING, {1: RANKS}),
        Seen(0, A + NOTHING + B, {1: RANKS}),
    ]


def test_of_a_place_that_is_noted_twice_the_later_note_counts_and_no_other_is_lost(make: Make) -> None:
    held = make()
    kept(held, ONE, order=an_order(seen=Seen(0, A)))
    held.note(ONE, Seen(1, NOTHING + NOTHING + C, {1: RANKS, 2: RANKS}), expires_at=0.0)
    held.note(ONE, Seen(1, B), expires_at=0.0)
    assert _seen(held, 4) == Seen(0, A + B + NOTHING + C, {2: RANKS})


def test_places_that_nobody_noted_show_nothing(make: Make) -> None:
    held = make()
    kept(held, ONE, order=an_order(seen=Seen(0, A)))
    held.note(ONE, Seen(2, C), expires_at=0.0)
    assert _seen(held, 3) == Seen(0, A + NOTHING + C)


def test_an_order_that_is_kept_again_begins_anew(make: Make) -> None:
    held = make()
    kept(held, ONE, order=an_order(seen=Seen(0, A)))
    kept(held, ONE, order=an_order(2))
    read = held.read(ONE, before=9)
    assert read is not None
    assert (len(read.candidates), read.seen) == (2, Seen())


def test_to_note_something_of_what_is_not_held_does_nothing(make: Make) -> None:
    held = make()
    held.note(ONE, Seen(0, A), expires_at=100.0)
    assert held.read(ONE, before=9) is None


def test_what_has_expired_goes_when_something_is_kept(make: Make) -> None:
    held = make()
    kept(held, ONE, now=0.0)
    kept(held, OTHER, now=50.0)
    kept(held, THIRD, now=100.0)
    assert is_held(held, ONE, OTHER, THIRD) == [False, True, True]


def test_what_is_being_leafed_through_lives_on(make: Make) -> None:
    held = make()
    kept(held, ONE, OTHER, now=0.0)
    held.note(ONE, Seen(0, A), expires_at=150.0)
    held.note(OTHER, Seen(0, A), expires_at=50.0)
    kept(held, THIRD, now=100.0)
    assert is_held(held, ONE, OTHER, THIRD) == [True, False, True]


def test_the_oldest_give_way_when_there_is_no_room(make: Make) -> None:
    order = an_order(100)
    held = make(max_bytes=int(2.5 * len(order_bytes(order))))
    kept(held, ONE, OTHER, THIRD, order=order)
    assert is_held(held, ONE, OTHER, THIRD) == [False, True, True]


def test_the_newest_is_held_however_large_it_is(make: Make) -> None:
    held = make(max_bytes=10)
    kept(held, ONE, OTHER)
    assert is_held(held, ONE, OTHER) == [False, True]


def test_threads_share_one(make: Make) -> None:
    held, start = make(), threading.Barrier(4)

    def leaf(thread: int) -> int:
        start.wait(10)
        for turn in range(30):
            id_ = HeldId(bytes([thread, turn]) * 8)
            kept(held, id_)
            held.note(id_, Seen(0, A), expires_at=100.0)
            assert _seen(held, 1, id_) == Seen(0, A)
        return thread

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(leaf, range(4))) == [0, 1, 2, 3]


def _seen(held: HeldOrders, before: int, id_: HeldId = ONE) -> Seen | None:
    read = held.read(id_, before=before)
    return None if read is None else read.seen


# What only a file can do


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pages.db"


def test_another_process_reads_on_in_the_same_file(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as one, closing(SqliteHeldOrders(file)) as other:
        kept(one, ONE)
        other.note(ONE, Seen(0, A), expires_at=100.0)
        assert _seen(one, 1) == Seen(0, A)


def test_the_file_is_made_when_it_is_first_needed(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        assert not file.exists()
        kept(held, ONE)
        assert file.exists()


def test_the_file_and_what_lies_beside_it_are_for_their_owners_eyes_alone(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE)
        names = ["pages.db", "pages.db-shm", "pages.db-wal"]
        assert _modes(file.parent) == dict.fromkeys(names, 0o600)
        assert held.empty()
        assert _modes(file.parent) == dict.fromkeys(names, 0o600)


def test_a_file_that_was_there_keeps_the_rights_it_has(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE)
    file.chmod(0o640)
    with closing(SqliteHeldOrders(file)) as held:
        assert is_held(held, ONE) == [True]
    assert _modes(file.parent) == {"pages.db": 0o640}


def _modes(folder: Path) -> dict[str, int]:
    return {part.name: stat.S_IMODE(part.stat().st_mode) for part in folder.iterdir()}


def test_nothing_is_left_of_what_has_gone(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE, order=an_order(seen=Seen(0, A + NOTHING, {1: RANKS})))
        kept(held, OTHER, now=200.0)
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("SELECT count(*) FROM seen").fetchone() == (1,)


def test_there_are_never_more_orders_than_allowed(file: Path) -> None:
    with closing(SqliteHeldOrders(file, max_orders=10)) as held:
        ids = [HeldId(bytes([n]) * 16) for n in range(25)]
        kept(held, *ids)
        assert 9 <= sum(is_held(held, *ids)) <= 10
        assert all(is_held(held, *ids[-9:]))


def test_a_damaged_file_is_made_anew(file: Path) -> None:
    file.write_bytes(b"this is no database, and was never one " * 100)
    with closing(SqliteHeldOrders(file)) as held:
        with pytest.raises(Unavailable, match="search again"):
            held.read(ONE, before=0)
        kept(held, ONE)
        assert is_held(held, ONE) == [True]


def test_an_order_whose_bytes_are_damaged_has_expired(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE, OTHER)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE held SET data = substr(data, 1, 40) WHERE id = ?", (ONE,))
        assert is_held(held, ONE, OTHER) == [False, True]


def test_a_file_of_another_version_is_made_anew(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE held (something TEXT)")
        connection.execute("PRAGMA user_version = 99")
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE)
        assert is_held(held, ONE) == [True]


def test_a_file_that_was_thrown_away_is_noticed(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as one, closing(SqliteHeldOrders(file)) as other:
        kept(one, ONE)
        for part in file.parent.iterdir():
            part.unlink()
        kept(other, OTHER)
        assert is_held(one, ONE, OTHER) == [False, True]


# Emptied by compaction


def is_in_a_file(folder: Path, words: bytes) -> bool:
    return any(words in part.read_bytes() for part in folder.iterdir())


def test_what_is_emptied_is_in_no_file_while_others_have_it_open_and_they_go_on(file: Path) -> None:
    order = an_order(500)
    traces = [ONE, bytes.fromhex(order.candidates[250].id), A]
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE, order=replace(order, seen=Seen(0, A)))  # in the file itself, once this is closed
    with closing(SqliteHeldOrders(file)) as one, closing(SqliteHeldOrders(file)) as sweeper:
        kept(one, OTHER, order=order)  # in the log beside it
        assert all(is_in_a_file(file.parent, trace) for trace in traces)
        before = file.stat()
        assert sweeper.empty()
        assert (file.stat().st_ino, file.stat().st_size < before.st_size) == (before.st_ino, True)
        assert not any(is_in_a_file(file.parent, trace) for trace in traces)
        assert is_held(one, ONE, OTHER) == [False, False]
        kept(one, THIRD)
        one.note(THIRD, Seen(0, A), expires_at=100.0)
        with closing(SqliteHeldOrders(file)) as another:
            assert is_held(another, ONE, THIRD) == [False, True]
            assert _seen(sweeper, 1, THIRD) == Seen(0, A)


def test_to_empty_what_was_never_needed_makes_no_file(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        assert held.empty()
    assert not file.exists()


def test_what_lies_beside_a_file_that_has_gone_is_emptied_as_well(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE)
        beside = {part: part.read_bytes() for part in file.parent.iterdir() if part != file}
    file.unlink()
    for part, data in beside.items():
        part.write_bytes(data)
    assert is_in_a_file(file.parent, ONE)
    with closing(SqliteHeldOrders(file)) as held:
        assert held.empty()
        assert not is_in_a_file(file.parent, ONE)
    assert list(file.parent.iterdir()) == [file]


def test_a_damaged_file_is_gone_when_it_is_emptied(file: Path) -> None:
    file.write_bytes(b"this is no database, and was never one " * 100)
    with closing(SqliteHeldOrders(file)) as held:
        assert held.empty()
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN IMMEDIATE"], ids=["reads", "writes"])
def test_what_another_is_at_work_in_cannot_be_emptied_and_says_so(
    file: Path, monkeypatch: pytest.MonkeyPatch, begin: str
) -> None:
    monkeypatch.setattr("citewise.adapters.sqlite.rankings.BUSY_SECONDS", 0.01)
    with closing(SqliteHeldOrders(file)) as held, closing(sqlite3.connect(file, isolation_level=None)) as other:
        kept(held, ONE)
        other.execute(begin)
        other.execute("SELECT count(*) FROM held").fetchone()
        assert not held.empty()
        other.execute("COMMIT")
        assert held.empty()
        assert is_held(held, ONE) == [False]
    assert not is_in_a_file(file.parent, ONE)


def test_a_place_that_cannot_be_used_is_unavailable(tmp_path: Path) -> None:
    with (
        closing(SqliteHeldOrders(tmp_path / "missing" / "pages.db")) as held,
        pytest.raises(Unavailable, match="cannot be used now"),
    ):
        kept(held, ONE)


def test_no_name_and_no_word_of_a_document_is_in_the_file(file: Path) -> None:
    with closing(SqliteHeldOrders(file)) as held:
        kept(held, ONE)
    with closing(sqlite3.connect(file)) as connection:
        columns = {row[1] for table in ("held", "seen") for row in connection.execute(f"PRAGMA table_info({table})")}
    assert columns == {"number", "id", "expires_at", "bytes", "data", "held", "texts", "gone"}
