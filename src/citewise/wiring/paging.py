"""Settings -> pages of a library's searches, and where their rankings are saved."""

import os
from pathlib import Path

from citewise.adapters.memory.rankings import MemoryRankings
from citewise.adapters.sqlite.rankings import SqliteRankings
from citewise.model.paging import NOT_SHARED
from citewise.model.report import Check
from citewise.search.pages import PageBuilder
from citewise.search.pipeline import Search
from citewise.settings import Settings

PAGES_FILE = "pages.db"  # beside the generations: a ranking outlives the one it was made in


class Paging:
    """Saves rankings in the library's folder, so that every process can use a cursor; in memory if it is read-only."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._memory = MemoryRankings()

    def pages(self, search: Search) -> PageBuilder:
        is_shared = _is_writable(self._settings)
        return PageBuilder(
            search,
            SqliteRankings(_file(self._settings)) if is_shared else self._memory,
            self._settings.paging.depth,
            self._settings.paging.ttl_seconds,
            () if is_shared else (NOT_SHARED,),
        )


def pages_check(settings: Settings) -> Check:
    """What the doctor says about further pages."""
    if _is_writable(settings):
        return Check("pages", "cursors work in every process")
    return Check("pages", "the library's folder cannot be written to: cursors end with the process that gave them")


def sweep_pages(settings: Settings) -> bool:
    """Erase all saved rankings, as part of compaction; False if another process kept it from finishing."""
    return SqliteRankings(_file(settings)).clear()


def _file(settings: Settings) -> Path:
    return settings.library / PAGES_FILE


def _is_writable(settings: Settings) -> bool:
    file = _file(settings)
    return os.access(settings.library, os.W_OK) and (os.access(file, os.W_OK) or not file.exists())
