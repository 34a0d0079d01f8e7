"""Cursors that do not fit are refused in words; where they are kept, and who can use them."""

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

from citewise.errors import BadRequest
from citewise.model.access import Principal, Scope
from citewise.model.filters import AnyOf
from citewise.model.query import NOT_SHARED, PageRequest, Query
from citewise.search.pages import PageBuilder
from citewise.wiring import pages_of, search_of, stored_library, upkeep_of
from tests.pipelines.harness import Shelf, a_question, ids
from tests.pipelines.paged import PagedSearch, paged, shelf_of

ANN = Principal("ann", frozenset({"ops"}))
ASKED = "tide word"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return shelf_of(tmp_path_factory.mktemp("shelf"), 30)


@pytest.fixture
def book(shelf: Shelf) -> Iterator[PagedSearch]:
    with paged(shelf) as opened:
        yield opened.asking(principal=ANN)


def refused(book: PagedSearch, cursor: str | None, question: str = ASKED) -> str:
    with pytest.raises(BadRequest) as raised:
        book.page(question, cursor=cursor)
    return str(raised.value)


def cursor_of(book: PagedSearch) -> str:
    cursor = book.page(ASKED).next_cursor
    assert cursor is not None
    return cursor


@pytest.mark.parametrize(
    "changes",
    [
        {"principal": Principal("bob", frozenset({"ops"}))},
        {"principal": Principal("ann")},
        {"principal": Principal(owns_library=True)},
        {"scope": Scope("acme", "handbook")},
        {"conditions": (AnyOf("tags", frozenset({"x"})),)},
        {"rerank": False},
        {"top_k": 20},
        {"text": "tide words"},
    ],
)
def test_a_cursor_belongs_to_its_search_and_its_reader(book: PagedSearch, changes: dict[str, object]) -> None:
    assert "belongs to another search" in refused(book.asking(**changes), cursor_of(book))


@pytest.mark.parametrize("field", [item.name for item in fields(Query)])
def test_every_field_of_a_query_that_decides_is_part_of_the_purpose(book: PagedSearch, field: str) -> None:
    """A field that is added to Query counts unless it is named here."""
    others: dict[str, object] = {"half_life_days": 7.0, "freshness_weight": 0.5, "budget_tokens": 500, "compress": True}
    others |= {"expand_graph": True, "rerank": False, "top_k": 9, "scope": Scope("acme"), "text": "gauge"}
    others |= {"principal": Principal("bob"), "conditions": (AnyOf("tags", frozenset({"x"})),)}
    if field in ("request_id", "asked_at"):
        other = {field: getattr(book.query(ASKED), field) * 2}
        assert book.asking(**other).page(ASKED, cursor=cursor_of(book)).findings
    else:
        assert "belongs to another search" in refused(book.asking(**{field: others[field]}), cursor_of(book))


@pytest.mark.parametrize("cursor", ["", "c", "c0123456789", "\0", "x" * 100_000, "c' OR 1=1 --"])
def test_a_cursor_that_is_broken_or_foreign_is_refused(book: PagedSearch, cursor: str) -> None:
    whole = cursor_of(book)
    for broken in (cursor, whole[:-1], whole + "A", whole[:-1] + ("A" if whole[-1] != "A" else "B")):
        assert "is not one of this library's, or has expired: search again without a cursor" in refused(book, broken)


def test_a_cursor_expires_and_every_page_gives_a_fresh_one(book: PagedSearch) -> None:
    first = book.page(ASKED)
    book.now[0] += 899.0
    second = book.page(ASKED, cursor=first.next_cursor)
    book.now[0] += 1.0
    assert "has expired" in refused(book, first.next_cursor)
    book.page("tide")  # at which what has expired is swept away
    assert book.page(ASKED, cursor=second.next_cursor).findings


def test_a_cursor_whose_order_is_no_longer_held_has_expired(book: PagedSearch) -> None:
    cursor = cursor_of(book)
    book.now[0] += 900.0
    book.page("tide")
    book.now[0] -= 900.0
    assert "has expired" in refused(book, cursor)


def test_a_cursor_that_is_given_again_lives_as_long_as_a_new_one(book: PagedSearch) -> None:
    cursor, whole = cursor_of(book), ids(*book.walk(ASKED))
    book.now[0] += 899.0
    assert book.pages.renewed(cursor) == cursor
    book.now[0] += 899.0
    book.page("tide")  # removes what has expired
    assert ids(*book.walk(ASKED, cursor=cursor)) == whole[5:]


def test_a_cursor_whose_order_is_gone_cannot_be_renewed(book: PagedSearch) -> None:
    cursor = cursor_of(book)
    book.now[0] += 900.0
    book.page("tide")
    assert book.pages.renewed(cursor) is None


def test_a_cursor_tells_nothing(book: PagedSearch) -> None:
    """Cursors have one length and are random, wherever they lead; the same page gives another one each time."""
    cursors = [page.next_cursor for page in (*book.walk(ASKED), *book.walk(ASKED)) if page.next_cursor]
    assert {len(cursor) for cursor in cursors} == {33}
    assert len(set(cursors)) == len(cursors)


# As the library is wired


@pytest.fixture
def own(tmp_path: Path) -> Shelf:
    return shelf_of(tmp_path, 12)


@contextmanager
def process(shelf: Shelf) -> Iterator[PageBuilder]:
    """What one process has of the library."""
    with stored_library(shelf.settings, shelf.embedding).reading() as library, ThreadPoolExecutor(1) as threads:
        yield pages_of(shelf.settings, search_of(library, reranker=None, threads=threads))


def walked(pages: Callable[[], PageBuilder]) -> tuple[list[str], tuple[str, ...]]:
    """The ids of all pages, each from whatever `pages` gives, and what was noted on the first."""
    query = a_question(ASKED)
    results = [pages()(query, PageRequest())]
    while results[-1].next_cursor:
        results.append(pages()(query, PageRequest(cursor=results[-1].next_cursor)))
    return ids(*results), results[0].notes


def test_one_process_goes_on_where_another_began(own: Shelf) -> None:
    with ExitStack() as processes:
        found, notes = walked(lambda: processes.enter_context(process(own)))
    assert len(set(found)) == len(found) == 12
    assert NOT_SHARED not in notes


def test_the_file_of_saved_rankings_is_created_when_it_is_needed_for_its_owner_alone(own: Shelf) -> None:
    file = own.settings.library / "pages.db"
    assert not file.exists()
    with process(own) as pages:
        walked(lambda: pages)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_where_the_folder_cannot_be_written_to_rankings_are_saved_for_this_process_and_the_result_says_so(
    own: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.sqlite.connections.PrivateFile.can_write", lambda self: False)
    with process(own) as pages:
        found, notes = walked(lambda: pages)
    assert len(set(found)) == len(found) == 12
    assert NOT_SHARED in notes
    assert not (own.settings.library / "pages.db").exists()
    (shared,) = [check for check in own.library().doctor() if check.name == "pages"]
    assert "end with the process" in shared.detail


def test_compaction_ends_the_cursors_of_a_process_that_goes_on(own: Shelf) -> None:
    with process(own) as pages:
        cursor = pages(a_question(ASKED), PageRequest()).next_cursor
        assert upkeep_of(own.settings).pages.clear()
        with pytest.raises(BadRequest, match="has expired"):
            pages(a_question(ASKED), PageRequest(cursor=cursor))


def test_the_settings_say_how_far_and_how_long(own: Shelf) -> None:
    own.with_settings(paging={"depth": 7, "ttl_seconds": 60.0})
    with process(own) as pages:
        assert (pages.depth, pages.ttl_seconds) == (7, 60.0)
        assert len(walked(lambda: pages)[0]) == 7
