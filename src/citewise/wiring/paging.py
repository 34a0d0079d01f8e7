"""Settings -> pages of a library's searches: its key, and the place where it holds what they found."""

import threading
from contextlib import closing
from typing import TYPE_CHECKING

from citewise.adapters.storage.key import LibraryKey
from citewise.flows.page import Pages
from citewise.flows.search import Search
from citewise.model.cursor import Seal
from citewise.ports.held import HeldOrders
from citewise.settings import Settings
from citewise.wiring.full import OpenLibrary

if TYPE_CHECKING:
    from citewise.adapters.paging.memory import MemoryHeldOrders
    from citewise.adapters.paging.sqlite import SqliteHeldOrders

PAGES_FILE = "pages.db"  # beside the generations: an order outlives the one it was made in
NOT_SHARED = "paging: nothing can be kept in the library's folder; cursors work in this process only"


class Paging:
    """What all pages of one library share, whichever generation serves. Nothing is made before a page is asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._key = LibraryKey(settings.library)
        self._lock = threading.Lock()
        self._in_folder: SqliteHeldOrders | None = None
        self._in_memory: MemoryHeldOrders | None = None

    def pages(self, library: OpenLibrary, search: Search) -> Pages:
        """The pages of searches in a library that is open.

        Key and place are looked up for each page: a key that was restored, lost or replaced counts from the next page
        on. Cursors of before are refused then, like those of another library, and the same search begins anew.
        """
        secret = self._key.secret()
        held = self._held(is_shared=secret.is_shared)
        paging = self._settings.paging
        return Pages(
            search,
            held,
            Seal(secret.key),
            library.catalog.last_position,
            library.catalog.written_since,
            paging.depth,
            paging.ttl_seconds,
            () if secret.is_shared else (NOT_SHARED,),
        )

    def close(self) -> None:
        """Let go of the file; what is held stays held."""
        with self._lock:
            if self._in_folder is not None:
                self._in_folder.close()

    def _held(self, *, is_shared: bool) -> HeldOrders:
        """In the library's folder where that has a key for every process, else in memory."""
        with self._lock:
            if is_shared:
                from citewise.adapters.paging.sqlite import SqliteHeldOrders

                self._in_folder = self._in_folder or SqliteHeldOrders(self._settings.library / PAGES_FILE)
                return self._in_folder
            from citewise.adapters.paging.memory import MemoryHeldOrders

            self._in_memory = self._in_memory or MemoryHeldOrders()
            return self._in_memory


def sweep_pages(settings: Settings) -> bool:
    """Let go of every order that is held, as part of compaction: to their holders, all cursors have expired.

    False if another process kept it from being done whole.
    """
    from citewise.adapters.paging.sqlite import SqliteHeldOrders

    with closing(SqliteHeldOrders(settings.library / PAGES_FILE)) as held:
        return held.empty()
