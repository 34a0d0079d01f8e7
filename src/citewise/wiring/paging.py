"""Settings -> pages of a library's searches: its key, and the place where it holds what they found."""

import os
import threading
from contextlib import closing
from typing import TYPE_CHECKING

from citewise.adapters.folder.key import LibraryKey
from citewise.model.paging import NOT_SHARED, Seal
from citewise.model.report import Check
from citewise.ports.rankings import HeldOrders
from citewise.search.pages import Pages
from citewise.search.pipeline import Search
from citewise.settings import Settings
from citewise.wiring.full import OpenLibrary

if TYPE_CHECKING:
    from citewise.adapters.memory.rankings import MemoryHeldOrders
    from citewise.adapters.sqlite.rankings import SqliteHeldOrders

PAGES_FILE = "pages.db"  # beside the generations: an order outlives the one it was made in


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
        is_shared = secret.is_shared and _may_hold(self._settings)
        held = self._held(is_shared=is_shared)
        paging = self._settings.paging
        return Pages(
            search,
            held,
            Seal(secret.key),
            library.catalog.last_position,
            library.catalog.written_since,
            paging.depth,
            paging.ttl_seconds,
            () if is_shared else (NOT_SHARED,),
        )

    def close(self) -> None:
        """Let go of the file; what is held stays held."""
        with self._lock:
            if self._in_folder is not None:
                self._in_folder.close()

    def _held(self, *, is_shared: bool) -> HeldOrders:
        """In the library's folder where that has a key for every process and may be written to, else in memory."""
        with self._lock:
            if is_shared:
                from citewise.adapters.sqlite.rankings import SqliteHeldOrders

                self._in_folder = self._in_folder or SqliteHeldOrders(self._settings.library / PAGES_FILE)
                return self._in_folder
            from citewise.adapters.memory.rankings import MemoryHeldOrders

            self._in_memory = self._in_memory or MemoryHeldOrders()
            return self._in_memory


def pages_check(settings: Settings) -> Check:
    """What the doctor says of further pages."""
    name, key = "pages", LibraryKey(settings.library)
    try:
        if key.is_damaged():
            remedy = "restore it, or remove it to have a new one made"
            return Check(name, f"{key.file} is damaged: cursors end with the process that gave them", remedy)
    except OSError:
        return Check(name, f"{key.file} is not for you to read: cursors end with the process that gave them")
    if not _may_hold(settings):
        return Check(name, "the library's folder may not be written to: cursors end with the process that gave them")
    return Check(name, "cursors work in every process")


def _may_hold(settings: Settings) -> bool:
    """Whether orders can be kept in the library's folder."""
    folder, file = settings.library, settings.library / PAGES_FILE
    return os.access(folder, os.W_OK) and (os.access(file, os.W_OK) or not file.exists())


def sweep_pages(settings: Settings) -> bool:
    """Let go of every order that is held, as part of compaction: to their holders, all cursors have expired.

    False if another process kept it from being done whole.
    """
    from citewise.adapters.sqlite.rankings import SqliteHeldOrders

    with closing(SqliteHeldOrders(settings.library / PAGES_FILE)) as held:
        return held.empty()
