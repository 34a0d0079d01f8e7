"""Settings -> pages of a library's searches: its key, and the place where it holds what they found."""

import threading
from typing import Protocol

from citewise.adapters.storage.key import LibraryKey
from citewise.flows.page import Pages
from citewise.flows.search import Search
from citewise.model.cursor import Seal
from citewise.ports.held import HeldOrders
from citewise.settings import Settings
from citewise.wiring.full import OpenLibrary

PAGES_FILE = "pages.db"  # beside the generations: an order outlives the one it was made in
NOT_SHARED = "paging: nothing can be kept in the library's folder; cursors work in this process only"


class _Closing(Protocol):
    def close(self) -> None: ...


class Paging:
    """What all pages of one library share, whichever generation serves. Nothing is made before a page is asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._key = LibraryKey(settings.library)
        self._lock = threading.Lock()
        self._held: tuple[HeldOrders, bool] | None = None
        self._closing: list[_Closing] = []

    def pages(self, library: OpenLibrary, search: Search) -> Pages:
        """The pages of searches in a library that is open."""
        held, is_shared = self._place()
        paging = self._settings.paging
        return Pages(
            search,
            held,
            Seal(self._key.secret()),
            library.catalog.last_position,
            library.catalog.written_since,
            paging.depth,
            paging.ttl_seconds,
            () if is_shared else (NOT_SHARED,),
        )

    def close(self) -> None:
        """Let go of the file; what is held stays held."""
        with self._lock:
            for one in self._closing:
                one.close()

    def _place(self) -> tuple[HeldOrders, bool]:
        """In the library's folder where that has a key for every process, else in memory; decided once."""
        with self._lock:
            if self._held is None:
                self._held = (self._in_folder(), True) if self._key.is_shared() else (_in_memory(), False)
            return self._held

    def _in_folder(self) -> HeldOrders:
        from citewise.adapters.paging.sqlite import SqliteHeldOrders

        held = SqliteHeldOrders(self._settings.library / PAGES_FILE)
        self._closing.append(held)
        return held


def sweep_pages(settings: Settings) -> None:
    """Let go of every order that is held, as part of compaction: to their holders, all cursors have expired."""
    for end in ("", "-wal", "-shm"):
        (settings.library / f"{PAGES_FILE}{end}").unlink(missing_ok=True)


def _in_memory() -> HeldOrders:
    from citewise.adapters.paging.memory import MemoryHeldOrders

    return MemoryHeldOrders()
