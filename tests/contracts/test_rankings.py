"""What every store of saved rankings promises."""

import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from citewise.adapters.sqlite.connections import PrivateFile
from citewise.adapters.sqlite.rankings import TABLES, VERSION, SqliteRankings
from citewise.errors import BadRequest, Misconfigured, Unavailable
from citewise.model.ranking import Candidate
from citewise.ports.stores import RankingStore, SavedRanking
from tests.builders import an_id
from tests.fakes.memory_rankings import MemoryRankings

Make = Callable[[int], RankingStore]


@pytest.fixture(params=["sqlite", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """A store with room for about so many rankings of three candidates."""

    def made(rankings: int) -> RankingStore:
        if request.param == "memory":
            return MemoryRankings(max_candidates=3 * rankings)
        return SqliteRankings(tmp_path / "pages.db", max_bytes=300 * rankings)

    return made


@pytest.fixture
def store(make: Make) -> RankingStore:
    return make(1_000)


def a_ranking(count: int = 3, *, place: int = 0) -> SavedRanking:
    return SavedRanking(
        purpose="p" * 64,
        candidates=tuple(
            Candidate(an_id(at), 1 / (3 + at), {"dense": 0.1 + at, "fused": 1 / 7}, {"dense": at + 1} if at % 2 else {})
            for at in range(count)
        ),
        total_candidates=count + 9,
        place=place,
        is_complete=False,
        known=(an_id("twin"),),
        shown=frozenset({"ab" * 8, "cd" * 8}),
        degraded=("rerank: it rests",),
        notes=("a note",),
    )


def save(store: RankingStore, *cursors: str, now: float = 0.0, count: int = 3) -> None:
    for cursor in cursors:
        store.save(cursor, a_ranking(count), now=now, expires_at=now + 10.0)


def saved(store: RankingStore, *cursors: str, now: float = 0.0) -> list[bool]:
    return [store.load(cursor, now=now) is not None for cursor in cursors]


def test_a_ranking_is_loaded_as_it_was_saved(store: RankingStore) -> None:
    ranking = a_ranking(place=2)
    store.save("a", ranking, now=0.0, expires_at=10.0)
    assert store.load("a", now=0.0) == ranking


def test_an_unknown_cursor_is_none(store: RankingStore) -> None:
    assert saved(store, "a", "") == [False, False]
    assert not store.renew("a", now=0.0, expires_at=10.0)
    save(store, "a")
    assert saved(store, "a", "b", "") == [True, False, False]


def test_a_ranking_expires(store: RankingStore) -> None:
    save(store, "a")
    assert saved(store, "a", now=9.9) == [True]
    assert saved(store, "a", now=10.0) == [False]
    assert not store.renew("a", now=10.0, expires_at=99.0)
    save(store, "b", now=10.0)
    assert saved(store, "a") == [False]  # removed when another one was saved


def test_a_cursor_from_the_future_has_expired(store: RankingStore) -> None:
    save(store, "a", now=4e9)  # the clock was a century ahead, and is right again
    assert saved(store, "a", now=1e9) == [False]
    assert not store.renew("a", now=1e9, expires_at=2e9)
    save(store, "b", now=1e9)
    assert saved(store, "b", now=1e9 - 5) == [True]  # a clock that was set by some seconds


def test_a_renewed_cursor_lasts_longer_and_never_shorter(store: RankingStore) -> None:
    save(store, "a")
    assert store.renew("a", now=9.0, expires_at=20.0)
    assert store.renew("a", now=9.0, expires_at=12.0)
    save(store, "b", now=15.0)
    assert saved(store, "a", now=19.0) == [True]


def test_the_oldest_give_way_when_there_is_no_room(make: Make) -> None:
    store = make(3)
    save(store, *"abcdefghi")
    assert saved(store, "a", "i") == [False, True]
    assert 1 <= sum(saved(store, *"abcdefghi")) <= 4


def test_the_newest_is_saved_however_large_it_is(make: Make) -> None:
    store = make(1)
    save(store, "a")
    save(store, "b", count=500)
    assert saved(store, "a", "b") == [False, True]


def test_a_ranking_may_be_saved_again(store: RankingStore) -> None:
    save(store, "a")
    save(store, "a", count=5)
    loaded = store.load("a", now=0.0)
    assert loaded is not None
    assert len(loaded.candidates) == 5


def test_nothing_is_left_after_clearing(store: RankingStore) -> None:
    assert store.clear()
    save(store, "a", "b")
    assert store.clear()
    assert saved(store, "a", "b") == [False, False]
    save(store, "c")
    assert saved(store, "c") == [True]


def test_threads_share_a_store(store: RankingStore) -> None:
    def use(number: int) -> bool:
        save(store, f"c{number}")
        return saved(store, f"c{number}") == [True]

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(40)))


# In a file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pages.db"


def a_file(file: Path, version: int = VERSION) -> PrivateFile:
    return PrivateFile(file, tables=TABLES, version=version, read_seconds=1.0, write_seconds=1.0)


def test_another_process_goes_on_in_the_same_file(file: Path) -> None:
    save(SqliteRankings(file), "a")
    assert saved(SqliteRankings(file), "a") == [True]


def test_the_file_is_for_its_owner_alone_and_nothing_is_left_beside_it(file: Path) -> None:
    store = SqliteRankings(file)
    assert store.clear()
    assert saved(store, "a") == [False]
    assert not file.exists()
    save(store, "a")
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {"pages.db": 0o600}


def test_what_is_cleared_is_no_longer_in_the_file(file: Path) -> None:
    store = SqliteRankings(file)
    save(store, "a-cursor-to-look-for")
    assert b"a-cursor-to-look-for" in file.read_bytes()
    assert store.clear()
    assert b"a-cursor-to-look-for" not in file.read_bytes()


def test_a_damaged_file_is_deleted_and_the_next_save_creates_another(file: Path) -> None:
    file.write_bytes(b"no database at all" * 99)
    store = SqliteRankings(file)
    with pytest.raises(Unavailable, match="search again"):
        store.load("a", now=0.0)
    save(store, "a")
    assert saved(store, "a") == [True]


@pytest.mark.parametrize("cursor", ["a\udcff", 2**70, ["a"]])
def test_a_cursor_that_cannot_be_looked_up_is_no_damage(file: Path, cursor: Any) -> None:
    store = SqliteRankings(file)
    save(store, "a")
    for use in (partial(store.load, cursor), partial(store.renew, cursor, expires_at=9.0)):
        with pytest.raises((BadRequest, sqlite3.Error)):
            use(now=0.0)
    assert saved(store, "a") == [True]


def test_a_file_of_another_version_is_deleted(file: Path) -> None:
    with a_file(file, VERSION - 1).writing("create it"):
        pass
    with pytest.raises(Unavailable):
        save(SqliteRankings(file), "a")
    save(SqliteRankings(file), "a")


def test_a_ranking_whose_bytes_are_damaged_has_expired(file: Path) -> None:
    store = SqliteRankings(file)
    save(store, "a")
    with a_file(file).writing("damage it") as connection:
        connection.execute("UPDATE rankings SET data = x'00'")
    assert saved(store, "a") == [False]


def test_a_store_that_another_process_writes_to_cannot_be_cleared(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.adapters.sqlite.rankings.BUSY_SECONDS", 0.05)
    store = SqliteRankings(file)
    save(store, "a")
    with a_file(file).writing("hold it"):
        assert not store.clear()
    assert store.clear()


def test_a_folder_in_the_place_of_the_file_is_reported_with_the_remedy(file: Path) -> None:
    file.mkdir()
    with pytest.raises(Misconfigured, match="not a regular file; move it away"):
        save(SqliteRankings(file), "a")


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="save a ranking"):
        save(SqliteRankings(tmp_path / "missing" / "pages.db"), "a")
