"""Several searchers while one ingests: in other processes, and in threads of the same one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewise.adapters.local_index.vectors import MAX_MASKS
from citewise.model.access import Scope
from citewise.model.filters import AnyOf, Where
from citewise.settings import Settings
from citewise.wiring import stored_library
from citewise.wiring_models import embedding_of
from tests.builders import SCOPE, a_point, a_vector
from tests.e2e.cli import COMMAND, json_of, written
from tests.stores import Indexes

EVERYTHING = Where(Scope(), None)
STRESS_SEARCHES = 600  # of each thread: every filter is asked for twice


def test_a_reader_sees_an_ingestion_of_another_process_grow(tmp_path: Path) -> None:
    written(tmp_path, {"docs/first.md": "# First\n\nharbor\n"})
    json_of("ingest", "docs", cwd=tmp_path)
    for n in range(400):
        sections = "\n\n".join(f"## Part {k}\n\nharbor words {n} {k}" for k in range(4))
        written(tmp_path, {f"docs/p{n}.md": f"# Page {n}\n\n{sections}\n"})
    embedding = embedding_of(Settings())
    query = embedding.embedder.query("harbor")
    settings = Settings(library=tmp_path / ".citewise")
    seen = []
    writer = subprocess.Popen(
        [COMMAND, "ingest", "docs"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with stored_library(settings, embedding).reading() as library:
        while writer.poll() is None:
            by_words = library.texts.search(["harbor"], field="words", where=EVERYTHING, limit=5000)
            by_meaning = library.vectors.search(query, where=EVERYTHING, limit=5000)
            assert by_words
            assert by_meaning
            seen.append(len(by_meaning))
            newcomer = Indexes.local(settings.library / "gen-1" / "index", dimensions=384)
            assert len(newcomer.nearest(query, where=EVERYTHING, limit=5000)) >= len(by_meaning)
            time.sleep(0.02)
        assert writer.communicate()[1] == ""
        assert writer.returncode == 0
        assert len(library.vectors.search(query, where=EVERYTHING, limit=5000)) == 1601
        assert len(library.texts.search(["harbor"], field="words", where=EVERYTHING, limit=5000)) == 1601
    assert seen == sorted(seen)
    assert len(set(seen)) > 1


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
