"""A library that is searched page by page, with a clock that stands still until it is told to move."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from citewise.library import OpenLibrary
from citewise.model.query import PageRequest, Query
from citewise.model.ranking import SearchResult
from citewise.ports.models import Reranker
from citewise.search.pages import PageBuilder
from citewise.wiring import search_of
from tests.fakes.memory_rankings import MemoryRankings
from tests.pipelines.harness import Shelf, a_question

MAX_PAGES = 500  # a walk that has no end is an error, not a wait


class PagedSearch:
    """One reader of an open library. What a query has besides its words is the same for all its pages."""

    def __init__(self, library: OpenLibrary, pages: PageBuilder, now: list[float], **changes: Any) -> None:
        self.library = library
        self.pages = pages
        self.now = now
        self._changes = changes

    def over(self, **changes: Any) -> "PagedSearch":
        """The same library, paged through in another way."""
        return PagedSearch(self.library, replace(self.pages, **changes), self.now, **self._changes)

    def asking(self, **changes: Any) -> "PagedSearch":
        """The same library for somebody who asks in another way."""
        return PagedSearch(self.library, self.pages, self.now, **{**self._changes, **changes})

    def query(self, question: str) -> Query:
        return a_question(question, **self._changes)

    def page(self, question: str, *, cursor: str | None = None, limit: int = 5) -> SearchResult:
        request = PageRequest(limit, cursor, is_open="top_k" not in self._changes)
        return self.pages(self.query(question), request)

    def walk(self, question: str, *, limit: int = 5, cursor: str | None = None) -> Iterator[SearchResult]:
        """Page after page, from the first or from a cursor."""
        for _ in range(MAX_PAGES):
            result = self.page(question, cursor=cursor, limit=limit)
            yield result
            cursor = result.next_cursor
            if cursor is None:
                return
        raise AssertionError(f"more than {MAX_PAGES} pages")

    def unpaged(self, question: str) -> SearchResult:
        return self.pages.search(self.query(question))


@contextmanager
def paged(shelf: Shelf, *, reranker: Reranker | None = None, **changes: Any) -> Iterator[PagedSearch]:
    """The shelf's library, open; changes are those of the pages."""
    now = [1_000.0]
    with shelf.opened() as library, ThreadPoolExecutor(1) as threads:
        pages = PageBuilder(
            search_of(library, reranker=reranker, threads=threads),
            MemoryRankings(),
            depth=1_000,
            ttl_seconds=900.0,
            clock=lambda: now[0],
        )
        yield PagedSearch(library, replace(pages, **changes), now)


def text_of(number: int, *, tides: int | None = None) -> str:
    """A page that says something of its own; the more often it says tide, the better it fits."""
    return f"# Page {number}\n\n{'tide ' * (tides or 1 + number % 7)}and word{number} number{number * 31}.\n"


def shelf_of(home: Path, count: int) -> Shelf:
    """So many pages about the tide, for members of the project."""
    return Shelf.holding(home, {f"page-{number}.md": text_of(number) for number in range(count)}, access="project")
