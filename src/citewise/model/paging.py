"""Pages of a search."""

from dataclasses import dataclass

from citewise.errors import BadRequest

PAGE_LIMIT = 5  # hits on a page, unless more or fewer are asked for
MAX_LIMIT = 20

NOT_SHARED = "paging: the library's folder cannot be written to; cursors work in this process only"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page is asked for: how many hits, after which cursor. Without a cursor it is the first page."""

    limit: int = PAGE_LIMIT
    cursor: str | None = None
    is_open: bool = True  # no top_k was given: the pages go on through everything that was found

    def __post_init__(self) -> None:
        if not isinstance(self.limit, int) or isinstance(self.limit, bool) or not 1 <= self.limit <= MAX_LIMIT:
            raise BadRequest(f"limit is {self.limit}; a page has 1 to {MAX_LIMIT} hits")
