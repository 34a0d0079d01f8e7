"""A library held open for searching: opened at the first question, and again when a new generation took its place."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from citewise.adapters.storage.folder import LibraryFolder
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import OpenLibrary, opened_for_reading

MOST_THREADS = 32  # that run the dense ranking beside the words; a question holds one for milliseconds


@dataclass(slots=True)
class _Held:
    """One generation, open, and how many searches are using it."""

    library: OpenLibrary
    generation: Path
    closing: ExitStack
    users: int = 0


class Reader:
    """Lends an open library to any number of threads."""

    def __init__(self, settings: Settings, embedding: Embedding) -> None:
        self._settings = settings
        self._embedding = embedding
        self._lock = threading.Lock()
        self._held: _Held | None = None
        self.threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="citewise-arm")

    @contextmanager
    def library(self) -> Iterator[OpenLibrary]:
        """The library as it is now; it stays open at least until the block ends."""
        held = self._taken()
        try:
            yield held.library
        finally:
            with self._lock:
                held.users -= 1
                self._close_unused(held)

    def close(self) -> None:
        """Close it once the last search in it has ended; a later one opens it again."""
        with self._lock:
            held, self._held = self._held, None
            if held is not None:
                self._close_unused(held)

    def _taken(self) -> _Held:
        generation = LibraryFolder(self._settings.library).current()
        with self._lock:
            if self._held is None or self._held.generation != generation:
                old, self._held = self._held, self._opened(generation)
                if old is not None:
                    self._close_unused(old)
            self._held.users += 1
            return self._held

    def _opened(self, generation: Path) -> _Held:
        with ExitStack() as stack:
            library = stack.enter_context(opened_for_reading(self._settings, self._embedding))
            return _Held(library, generation, stack.pop_all())

    def _close_unused(self, held: _Held) -> None:
        if held is not self._held and held.users == 0:
            held.closing.close()
