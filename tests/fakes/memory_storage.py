"""A library's storage in memory that keeps the promises of the port."""

import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager

from citewise.errors import Locked, PathNotFound
from citewise.model.chunk import EmbeddingModel
from citewise.ports.catalog import Catalog
from citewise.ports.storage import Generation, IndexFacts, IndexRole, Stores
from tests.fakes.memory_catalog import MemoryCatalog
from tests.fakes.plain_index import PlainTextIndex, PlainVectorIndex


class MemoryStorage:
    """The port `Storage`: what was opened once is opened again with what it holds."""

    def __init__(self) -> None:
        self._stores: dict[Generation, Stores] = {}
        self._current: Generation | None = None
        self._swaps = 0
        self._lock = threading.Lock()

    def mark(self) -> Hashable:
        return self._swaps or None

    def current(self) -> Generation:
        if self._current is None:
            raise PathNotFound("there is no library in memory")
        return self._current

    def build(self, *, is_empty: bool = False) -> Generation:
        generation = Generation(str(int(self._current or 0) + 1))
        if is_empty:
            self._stores.pop(generation, None)
        return generation

    def activate(self, generation: Generation) -> None:
        self._current = generation
        self._swaps += 1
        self._stores = {generation: self._stores[generation]}

    @contextmanager
    def writing(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise Locked("somebody else is writing")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def open(self, generation: Generation, model: EmbeddingModel, *, may_create: bool = False) -> Iterator[Stores]:
        if generation not in self._stores and not may_create:
            raise PathNotFound(f"there is no generation {generation}")
        yield self._stores.setdefault(generation, Stores(MemoryCatalog(), PlainVectorIndex(), PlainTextIndex()))

    @contextmanager
    def catalog(self, generation: Generation) -> Iterator[Catalog]:
        yield self._stores[generation].catalog

    def indexes(self, generation: Generation) -> Mapping[IndexRole, IndexFacts]:
        vectors, texts = self._stores[generation].vectors, self._stores[generation].texts
        return {
            "vectors": IndexFacts(vectors.name, "plain", vectors.size_bytes()),
            "texts": IndexFacts(texts.name, "plain", texts.size_bytes()),
        }
