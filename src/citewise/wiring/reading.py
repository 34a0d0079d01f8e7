"""A library held open for searching: opened at the first question, and again when a new generation took its place."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from citewise.adapters.folder.storage import LibraryFolder
from citewise.errors import CitewiseError
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import GivenIndexes, OpenLibrary, opened_for_reading

MAX_THREADS = 32  # that run the dense ranking beside the words; a question holds one for milliseconds
TRIES = 5  # at opening a generation that is replaced meanwhile


@dataclass(slots=True)
class _Held:
    """One generation, open, and how many searches are using it."""

    library: OpenLibrary
    generation: Path
    mark: tuple[int, int] | None  # of the folder, before its current generation was looked up
    closing: ExitStack
    users: int = 0


class Reader:
    """Lends an open library to any number of threads."""

    def __init__(self, settings: Settings, embedding: Embedding, indexes: GivenIndexes | None = None) -> None:
        self._indexes = indexes
        self._settings = settings
        self._embedding = embedding
        self._folder = LibraryFolder(settings.library)
        self._opening = threading.RLock()  # one thread opens, the others wait for it
        # Never held for long. Reentrant, since an abandoned answer is closed by the garbage collector, anywhere.
        self._counting = threading.RLock()
        self._held: _Held | None = None
        self.threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="citewise-arm")

    @contextmanager
    def library(self) -> Iterator[OpenLibrary]:
        """The library as it is now; it stays open at least until the block ends."""
        held = self._taken()
        try:
            yield held.library
        finally:
            self._given_back(held)

    def is_current(self, library: OpenLibrary) -> bool:
        """Whether nothing has taken its place since it was lent."""
        held = self._held
        return held is not None and held.library is library and self._folder.current() == held.generation

    def close(self) -> None:
        """Close it once the last search in it has ended; a later one opens it again."""
        with self._counting:
            held, self._held = self._held, None
        if held is not None:
            self._close_unused(held)

    def _taken(self) -> _Held:
        for left in reversed(range(TRIES)):
            mark = self._folder.mark()
            kept = self._kept(mark)
            if kept is not None:
                return kept
            generation = self._folder.current()
            try:
                return self._opened(generation, mark)
            except CitewiseError:
                if not left or self._folder.current() == generation:
                    raise  # nobody replaced it: it really cannot be opened
        raise AssertionError("the last try returns or raises")

    def _kept(self, mark: tuple[int, int] | None) -> _Held | None:
        with self._counting:
            if self._held is None or mark is None or self._held.mark != mark:
                return None
            self._held.users += 1
            return self._held

    def _opened(self, generation: Path, mark: tuple[int, int] | None) -> _Held:
        with self._opening:
            kept = self._kept(mark)  # by whoever was here first
            if kept is not None:
                return kept
            with ExitStack() as stack:
                library = stack.enter_context(
                    opened_for_reading(self._settings, self._embedding, generation, self._indexes)
                )
                opened = _Held(library, generation, mark, stack.pop_all(), users=1)
            with self._counting:
                old, self._held = self._held, opened
        if old is not None:
            self._close_unused(old)
        return opened

    def _given_back(self, held: _Held) -> None:
        with self._counting:
            held.users -= 1
        self._close_unused(held)

    def _close_unused(self, held: _Held) -> None:
        with self._counting:
            is_unused = held is not self._held and held.users == 0
        if is_unused:
            held.closing.close()  # a second time does nothing
