"""A library whose storage is not a folder: built, searched and rebuilt through the port alone."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from citewise.ingest.targets import IngestOptions
from citewise.library import StoredLibrary
from citewise.model.access import Scope
from citewise.wiring import search_of, stored_library
from tests.fakes.memory_storage import MemoryStorage
from tests.pipelines.harness import Shelf, a_question, documents


def found(library: StoredLibrary) -> list[str]:
    with library.reading() as opened, ThreadPoolExecutor(1) as threads:
        return documents(search_of(opened, reranker=None, threads=threads)(a_question("When is the gauge read?")))


def test_a_library_lives_in_any_storage_that_keeps_the_promises(tmp_path: Path) -> None:
    shelf, storage = Shelf(tmp_path), MemoryStorage()
    library = replace(stored_library(shelf.settings, shelf.embedding), storage=storage)
    shelf.write("tides.md", "# Tides\n\nThe tide gauge is read at noon.\n")
    deque(library.ingest({shelf.docs: None}, IngestOptions()), maxlen=0)
    assert found(library) == ["tides.md"]
    first = storage.current()
    deque(library.reembed(), maxlen=0)
    assert storage.current() != first
    assert found(library) == ["tides.md"]
    assert library.read(lambda catalog: catalog.count(Scope())[0]) == 1
    assert not shelf.settings.library.exists()
