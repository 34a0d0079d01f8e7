"""Threads that search while another writes. Other processes: tests/campaigns/test_readers.py."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewise.adapters.local_index.vectors import MAX_MASKS
from citewise.model.filters import AnyOf, Where
from tests.builders import SCOPE, a_point, a_vector
from tests.stores import Indexes

STRESS_SEARCHES = 600  # of each thread: every filter is asked for twice


def test_threads_search_one_index_while_it_is_written(tmp_path: Path) -> None:
    index = Indexes.local(tmp_path)
    index.write(SCOPE, puts=[a_point(n, words="tide") for n in range(50)], drops=(), position=1)
    everything = Where(SCOPE, None)
    done = False

    def search(thread: int) -> int:
        runs = 0
        while not done:
            assert len(index.nearest(a_vector(thread), where=everything, limit=20)) == 20
            assert len(index.matching(["tide"], field="words", where=everything, limit=20)) == 20
            runs += 1
        return runs

    with ThreadPoolExecutor(8) as pool:
        searches = [pool.submit(search, thread) for thread in range(8)]
        for position in range(2, 12):
            puts = [a_point(position * 100 + n, words="tide") for n in range(30)]
            index.write(SCOPE, puts=puts, drops=[a_point(n).id for n in range(position)], position=position)
        done = True
        assert all(each.result() > 0 for each in searches)


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns as often as they can, so that a race is a matter of moments."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("kept", [1, MAX_MASKS])
def test_threads_share_the_remembered_filters_of_one_set_of_vectors(
    kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.vectors.MAX_MASKS", kept)
    puts = [a_point(n, labels=[f"tags=t{n}"]) for n in range(300)]
    shared = Indexes.local(tmp_path)
    shared.write(SCOPE, puts=puts)

    def search(thread: int) -> None:
        for run in range(STRESS_SEARCHES):
            n = (run * (thread + 1)) % len(puts)
            where = Where(SCOPE, None, (AnyOf("tags", frozenset({f"t{n}"})),))
            (hit,) = shared.vectors.search(puts[n].vector, where=where, limit=5)
            assert hit.id == puts[n].id

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(search, range(8)))
