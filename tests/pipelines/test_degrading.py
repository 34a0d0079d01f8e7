"""Whatever a search needs is broken for real: the search goes on without it, says so, and takes it up again."""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from citewise.adapters.http import Breaker
from citewise.errors import Misconfigured, Unavailable
from citewise.library import OpenLibrary
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.ranking import SearchResult
from citewise.ports.models import Embedding, Reranker
from citewise.wiring import LocalStorage, search_of, stored_library
from citewise.wiring_models import embedding_of, reranker_of
from tests.fakes.clock import Clock
from tests.fakes.embedding_server import DIMENSIONS, rows_for
from tests.fakes.returning_server import ReturningServer, returning_server
from tests.pipelines.harness import Shelf, a_question, documents, ingested

PAGES = {
    "tides.md": "# Tides\n\nThe tide gauge is read at noon and at midnight.\n",
    "ferries.md": "# Ferries\n\nThe ferry to the island leaves at noon.\n",
    "nets.md": "# Nets\n\nNets are mended in winter by the quay.\n",
}
QUESTION = "When is the tide gauge read?"
FAILURES, PAUSE_SECONDS = 2, 30.0
GUARD = {"failures": FAILURES, "pause_seconds": PAUSE_SECONDS}
ANN = Principal("ann")


class Desk:
    """An open library and its search."""

    def __init__(self, library: OpenLibrary, threads: ThreadPoolExecutor, reranker: Reranker | None = None) -> None:
        self.library = library
        self.flow = search_of(library, reranker=reranker, threads=threads)

    def search(self, principal: Principal = OWNER, text: str = QUESTION, **changes: Any) -> SearchResult:
        return self.flow(a_question(text, principal=principal, **changes))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES)


@contextmanager
def desk_of(shelf: Shelf, *, reranker: Reranker | None = None, embedding: Embedding | None = None) -> Iterator[Desk]:
    stored = stored_library(shelf.settings, embedding or shelf.embedding)
    with stored.reading() as library, ThreadPoolExecutor(1) as threads:
        yield Desk(library, threads, reranker)


@pytest.fixture
def desk(shelf: Shelf) -> Iterator[Desk]:
    with desk_of(shelf) as made:
        yield made


def index_of(shelf: Shelf, name: str) -> Path:
    """The active files of the index `vectors` or `texts`."""
    (folder,) = (shelf.generation / "index" / name / "default" / "default").glob("[0-9]*")
    return folder


def overwrite(*files: Path) -> None:
    """Other bytes in the same place, as a failing disk would have them: whoever has it mapped reads them."""
    assert files
    for file in files:
        with file.open("r+b") as opened:
            opened.write(b"\xff" * file.stat().st_size)


def announce(shelf: Shelf) -> None:
    """As if another process had just written: readers look at the files again."""
    for folder in (index_of(shelf, "vectors"), index_of(shelf, "texts")):
        manifest = folder.with_name("manifest")
        body = manifest.read_bytes()
        manifest.unlink()
        manifest.write_bytes(body)


def lose_index(shelf: Shelf) -> None:
    for file in (*index_of(shelf, "vectors").iterdir(), *index_of(shelf, "texts").iterdir()):
        file.unlink()
    announce(shelf)


def rebuild(shelf: Shelf) -> None:
    """`citewise reindex`, which another process would run."""
    with shelf.opened() as library:
        assert sum(library.project.rebuild(Scope()))


# One ranking


@pytest.mark.parametrize("suffix", [".term", ".idx"], ids=["an error", "a panic"])
def test_without_words_meaning_still_finds_and_both_rankings_are_named_until_the_index_is_rebuilt(
    shelf: Shelf, desk: Desk, suffix: str
) -> None:
    overwrite(*index_of(shelf, "texts").glob(f"*{suffix}"))
    found = desk.search()
    assert "tides.md" in documents(found)
    assert [one.split(":")[0] for one in found.degraded] == ["words", "code"]
    assert all(set(one.candidate.ranks) == {"dense"} for one in found.findings)
    rebuild(shelf)
    assert desk.search().degraded == ()


def test_vectors_whose_labels_are_damaged_cost_a_named_reader_no_more_than_a_ranking(shelf: Shelf) -> None:
    """The labels stand behind the vectors; the library's owner needs none of them."""
    with desk_of(shelf) as desk:
        (file,) = index_of(shelf, "vectors").glob("*.rows")
        with file.open("r+b") as opened:
            opened.seek(-200, 2)
            opened.write(b"\xff" * 200)
        found = desk.search(ANN)
    assert "tides.md" in documents(found)
    assert [one.split(":")[0] for one in found.degraded] == ["dense"]


# All of them


@pytest.mark.parametrize("harm", ["deleted", "damaged"])
def test_an_index_that_is_lost_is_not_mistaken_for_one_that_finds_nothing(shelf: Shelf, desk: Desk, harm: str) -> None:
    if harm == "deleted":
        lose_index(shelf)
    else:
        texts = index_of(shelf, "texts")
        overwrite(*index_of(shelf, "vectors").glob("*.rows"), *texts.glob("*.idx"), *texts.glob("*.term"))
        announce(shelf)
    with pytest.raises(Unavailable, match=r"no ranking could answer: the vectors index of default/default is damaged"):
        desk.search()
    rebuild(shelf)
    assert documents(desk.search())[0] == "tides.md"  # at once: there is nothing to wait for


def test_a_lost_index_that_another_process_keeps_from_being_healed_is_named_too(shelf: Shelf) -> None:
    shutil.rmtree(shelf.generation / "index")
    with LocalStorage(shelf.settings.library).writing(), desk_of(shelf) as desk, pytest.raises(Unavailable):
        desk.search()
    with desk_of(shelf) as desk:
        assert desk.search().degraded == ()  # and is healed once nobody does


def test_a_scope_and_a_filter_that_hold_nothing_are_no_loss(desk: Desk) -> None:
    assert desk.search(scope=Scope("other", "project")).findings == ()
    assert desk.search(scope=Scope("other", "project")).degraded == ()
    assert desk.search(Principal()).degraded == ()  # nothing here is public


# The catalog


@contextmanager
def moved_away(shelf: Shelf, desk: Desk) -> Iterator[None]:
    """The catalog's file is not where it was; connections that are open would not notice."""
    desk.library.catalog.close()
    file = shelf.generation / "catalog.db"
    file.rename(file.with_name("elsewhere.db"))
    yield
    file.with_name("elsewhere.db").rename(file)


def test_a_catalog_that_is_gone_is_unavailable_until_it_comes_back(shelf: Shelf, desk: Desk) -> None:
    with moved_away(shelf, desk):
        for _ in range(3):
            with pytest.raises(Unavailable, match="could not read passages"):
                desk.search()
    assert documents(desk.search())[0] == "tides.md"


def test_a_catalog_that_another_process_locks_is_unavailable_until_it_lets_go(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.sqlite.connections.BUSY_SECONDS", 0.01)
    with desk_of(shelf) as desk:
        desk.library.catalog.close()
        other = sqlite3.connect(shelf.generation / "catalog.db", isolation_level=None)
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unavailable, match="database is locked; another process is writing"):
            desk.search()
        other.close()
        assert desk.search().degraded == ()


def test_a_catalog_that_is_damaged_is_the_operator_s(shelf: Shelf, desk: Desk) -> None:
    desk.search()
    desk.library.catalog.close()
    overwrite(shelf.generation / "catalog.db")
    with pytest.raises(Misconfigured, match="is damaged"):
        desk.search()


# Models behind a network


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of circuit breakers, which the test moves."""
    made = Clock()
    monkeypatch.setattr("citewise.adapters.http.Breaker", partial(Breaker, clock=made))
    return made


def embedded(asked: dict[str, list[str]]) -> object:
    return {"data": rows_for(asked["input"])}


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[tuple[ReturningServer, Shelf]]:
    """A library whose vectors come from a server."""
    with returning_server(embedded) as server:
        chosen = {"provider": "openai", "model": "m", "base_url": server.url, "dimensions": DIMENSIONS}
        shelf = Shelf(tmp_path, embedding={**chosen, "timeout_seconds": 5.0})
        for path, text in PAGES.items():
            shelf.write(path, text)
        with stored_library(shelf.settings).writing() as library:
            ingested(library, shelf.docs, seen=shelf.events)
        yield server, shelf


@pytest.mark.server
def test_an_embedder_whose_server_is_gone_leaves_words_then_rests_and_comes_back(
    remote: tuple[ReturningServer, Shelf],
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, shelf = remote
    monkeypatch.setattr(random, "random", lambda: 0.01)
    shelf.with_settings(guard=GUARD)
    with desk_of(shelf, embedding=embedding_of(shelf.settings)) as desk:
        assert desk.search().degraded == ()
        server.down()
        for at in range(FAILURES):
            found = desk.search(text=f"{QUESTION} {at}")
            assert documents(found)[0] == "tides.md"
            assert found.degraded == ("dense: not available",)
        server.up()
        asked = server.asked
        resting = desk.search(text="tide gauge")
        assert resting.degraded == ("dense: not available",)
        assert "dense: the question could not be embedded: the embedding server at 127.0.0.1" in caplog.text
        assert "the embedding server failed 2 times in a row: circuit breaker open" in caplog.text
        assert documents(resting)[0] == "tides.md"
        assert all(
            "circuit breaker open" in str(outcome)
            for outcome in desk.library.stored.embedding.embedder.documents(["a"])
        )
        assert server.asked == asked
        clock.now += PAUSE_SECONDS
        assert desk.search(text="tide gauge").degraded == ()


def reranked(asked: dict[str, list[str]]) -> object:
    return [{"index": at, "score": 0.9 if "island" in text else 0.1} for at, text in enumerate(asked["texts"])]


@pytest.mark.server
def test_a_reranker_whose_server_is_gone_leaves_the_fused_order_then_rests_and_comes_back(
    shelf: Shelf, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with returning_server(reranked) as server:
        chosen = {"provider": "http", "style": "tei", "base_url": server.url}
        reranker = reranker_of(shelf.settings.changed(rerank=chosen, guard=GUARD))
        with desk_of(shelf, reranker=reranker) as desk:
            assert documents(desk.search())[0] == "ferries.md"
            server.down()
            for _ in range(FAILURES):
                found = desk.search()
                assert documents(found)[0] == "tides.md"
                assert found.degraded == ("rerank: not available; the order before it stands",)
            server.up()
            assert desk.search().degraded == ("rerank: not available; the order before it stands",)
            assert "rerank: the rerank server at 127.0.0.1" in caplog.text
            assert "rerank: the rerank server failed 2 times in a row: circuit breaker open" in caplog.text
            clock.now += PAUSE_SECONDS
            assert documents(desk.search())[0] == "ferries.md"
