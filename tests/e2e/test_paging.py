"""One process ingests, edits and deletes, another reads page by page: nothing comes twice, nothing is missing."""

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from citewise import Library
from citewise.library import OpenLibrary
from citewise.model.access import Scope
from citewise.model.ranking import SearchResult
from citewise.wiring import stored_library
from tests.pipelines.harness import Shelf
from tests.stores import chunks_at

STEADY, RESTLESS = 30, 20  # documents that are only edited; documents that are deleted and written again as well
LEAFING_SECONDS = 4.0
LONGEST_SECONDS = 9.0  # after which the writer gives up by itself
ASKED = "harbor gauge"


def page_text(number: int, edition: int) -> str:
    """The first section is another one in each edition; the second one stays."""
    return (
        f"# Page {number}\n\n## News\n\nharbor edition {edition} of gauge {number} says {edition * 7919 % 10007}.\n\n"
        f"## Rules\n\nsteady harbor rule{number} about gauge{number * 31} and buoy{number * 17}.\n"
    )


def write_pages(docs: Path, draw: random.Random, edition: int) -> None:
    """Edit most documents; of the restless ones, delete some and bring some back; write a new one."""
    for number in range(STEADY + RESTLESS):
        file = docs / f"page-{number}.md"
        if number >= STEADY and draw.random() < 0.3:
            file.unlink(missing_ok=True)
        elif edition == 0 or draw.random() < 0.6:
            file.write_text(page_text(number, edition))
    (docs / f"new-{edition % 5}.md").write_text(page_text(1000 + edition, edition))


def keep_writing(home: Path, stop: Event, rounds: Connection) -> None:
    """The other process."""
    shelf, draw, edition = Shelf(home), random.Random(5), 0
    ends_at = time.monotonic() + LONGEST_SECONDS
    while not stop.is_set() and time.monotonic() < ends_at:
        edition += 1
        write_pages(shelf.docs, draw, edition)
        shelf.ingest()
    rounds.send(edition)


def walk(library: Library, limit: int) -> Iterator[SearchResult]:
    cursor: str | None = None
    while True:
        result = library.as_owner().search(ASKED, limit=limit, cursor=cursor)
        yield result
        cursor = result.next_cursor
        if cursor is None:
            return


def steady_ids(opened: OpenLibrary) -> set[str]:
    chunks = [chunk for number in range(STEADY) for chunk in chunks_at(opened.catalog, Scope(), f"page-{number}.md")]
    return {str(chunk.id) for chunk in chunks if "steady" in chunk.piece.text}


@contextmanager
def writing(home: Path) -> Iterator[Connection]:
    """Another process that changes the library until the block ends; the connection tells how often it did."""
    spawning = multiprocessing.get_context("spawn")
    stop = spawning.Event()
    receiving, sending = spawning.Pipe(duplex=False)
    writer = spawning.Process(target=keep_writing, args=(home, stop, sending))
    writer.start()
    try:
        yield receiving
    finally:
        stop.set()
        writer.join(LONGEST_SECONDS)
        assert writer.exitcode == 0


@pytest.mark.parametrize("megabytes", [0.0, 8.0], ids=["fresh", "cached"])
def test_while_another_process_writes_every_walk_shows_all_that_stayed_and_nothing_twice(
    tmp_path: Path, megabytes: float
) -> None:
    shelf = Shelf(tmp_path, query_cache={"megabytes": megabytes})
    write_pages(shelf.docs, random.Random(4), 0)
    shelf.ingest()
    moved = walks = 0
    with (
        stored_library(shelf.settings, shelf.embedding).reading() as opened,
        shelf.library() as library,
        writing(tmp_path) as rounds,
    ):
        stayed = steady_ids(opened)
        started = time.monotonic()
        while time.monotonic() < started + (LEAFING_SECONDS if moved > 1 else LONGEST_SECONDS):
            before = opened.catalog.last_position(Scope())
            findings = [one for page in walk(library, limit=1 + walks % 7) for one in page.findings]
            moved += opened.catalog.last_position(Scope()) != before
            walks += 1
            shown = [str(one.passage.chunk_id) for one in findings]
            texts = [one.passage.text for one in findings]
            assert len(set(shown)) == len(shown)
            assert len(set(texts)) == len(texts)
            assert stayed <= set(shown)
    assert len(stayed) == STEADY
    assert rounds.recv() > 1
    assert moved > 1
