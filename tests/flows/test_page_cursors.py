"""Cursors that do not fit are refused in words; where they are kept, and who can use them (Q14)."""

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from citewise.errors import BadRequest
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.filters import AnyOf
from citewise.model.paging import NOT_SHARED, PageRequest, Seal
from citewise.model.query import Query
from citewise.search.pages import Pages
from citewise.settings import PagingSettings, Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import opened_for_reading
from citewise.wiring.paging import Paging
from citewise.wiring.search import search_of
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.flows.harness import Shelf
from tests.flows.leafing import KEY, Leafing, ids, leafing, shelf_of

ANN = Principal("ann", frozenset({"ops"}))
ASKED = "tide word"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return shelf_of(tmp_path_factory.mktemp("shelf"), 30)


@pytest.fixture
def book(shelf: Shelf) -> Iterator[Leafing]:
    with leafing(shelf) as opened:
        yield opened.asking(principal=ANN)


def refused(book: Leafing, cursor: str | None, question: str = ASKED) -> str:
    with pytest.raises(BadRequest) as raised:
        book.page(question, cursor=cursor)
    return str(raised.value)


def cursor_of(book: Leafing) -> str:
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
def test_a_cursor_belongs_to_its_search_and_its_reader(book: Leafing, changes: dict[str, object]) -> None:
    assert "belongs to another search" in refused(book.asking(**changes), cursor_of(book))


def test_a_cursor_that_was_changed_or_cut_is_refused(book: Leafing) -> None:
    cursor = cursor_of(book)
    assert "was changed" in refused(book, cursor[:-1] + ("A" if cursor[-1] != "A" else "B"))
    assert "not whole" in refused(book, cursor[:-1])
    assert "not whole" in refused(book, "")


def test_a_cursor_of_another_library_is_refused(book: Leafing) -> None:
    foreign = Seal(b"k" * 32).written(Seal(KEY).read(cursor_of(book)))
    assert "not one of this library's" in refused(book, foreign)


def test_a_cursor_expires_and_every_page_gives_a_fresh_one(book: Leafing) -> None:
    first = book.page(ASKED)
    book.now[0] += 899.0
    second = book.page(ASKED, cursor=first.next_cursor)
    book.now[0] += 1.0
    assert "has expired" in refused(book, first.next_cursor)
    book.page("tide")  # at which what has expired is swept away
    assert book.page(ASKED, cursor=second.next_cursor).findings


def test_a_cursor_whose_order_is_no_longer_held_has_expired(book: Leafing) -> None:
    cursor = cursor_of(book)
    book.now[0] += 900.0
    book.page("tide")
    book.now[0] -= 900.0
    assert "has expired" in refused(book, cursor)


def test_a_cursor_of_a_library_that_was_replaced_is_refused(book: Leafing) -> None:
    assert "before the library was replaced" in refused(book.over(position=lambda scope: 3), cursor_of(book))


def test_a_cursor_that_is_given_again_lives_as_long_as_a_new_one(book: Leafing) -> None:
    cursor, whole = cursor_of(book), ids(*book.walk(ASKED))
    book.now[0] += 899.0
    again = book.pages.renewed(cursor)
    book.now[0] += 899.0
    book.page("tide")  # at which what has expired is swept away
    assert "has expired" in refused(book, cursor)
    assert ids(*book.walk(ASKED, cursor=again)) == whole[5:]


def test_a_cursor_whose_order_is_gone_cannot_be_renewed(book: Leafing) -> None:
    cursor = cursor_of(book)
    book.now[0] += 900.0
    book.page("tide")
    assert book.pages.renewed(cursor) is None


def test_where_a_page_ends_is_not_told_by_its_cursor(book: Leafing) -> None:
    """Cursors are of one length and look random, wherever they lead: nothing behind a page can be counted."""
    cursors = [page.next_cursor for page in book.walk(ASKED) if page.next_cursor]
    assert {len(cursor) for cursor in cursors} == {113}
    for one, other in pairwise(cursors):
        assert sum(left == right for left, right in zip(one, other, strict=True)) < 20


# As the library is wired


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return shelf_of(tmp_path, 12).settings


@contextmanager
def process(settings: Settings) -> Iterator[Pages]:
    """What one process has of the library."""
    with ExitStack() as stack:
        library = stack.enter_context(opened_for_reading(settings, Embedding(HashEmbedder(), WordCounter())))
        threads = stack.enter_context(ThreadPoolExecutor(1))
        paging = Paging(settings)
        stack.callback(paging.close)
        yield paging.pages(library, search_of(library, reranker=None, threads=threads))


def walked(pages: Callable[[], Pages]) -> tuple[list[str], tuple[str, ...]]:
    """The ids of all pages, each from whatever `pages` gives, and what was noted on the first."""
    query = Query(ASKED, request_id="r-1", asked_at=1.7e9, principal=OWNER)
    results = [pages()(query, PageRequest())]
    while results[-1].next_cursor:
        results.append(pages()(query, PageRequest(cursor=results[-1].next_cursor)))
    return ids(*results), results[0].notes


def test_one_process_goes_on_where_another_began(own: Settings) -> None:
    with ExitStack() as processes:
        found, notes = walked(lambda: processes.enter_context(process(own)))
    assert len(set(found)) == len(found) == 12
    assert NOT_SHARED not in notes


def test_a_library_makes_its_key_and_its_pages_when_they_are_needed(own: Settings) -> None:
    made = {"key", "pages.db"}
    assert not made & {file.name for file in own.library.iterdir()}
    with process(own) as pages:
        walked(lambda: pages)
    assert made <= {file.name for file in own.library.iterdir()}
    assert stat.S_IMODE((own.library / "key").stat().st_mode) == 0o600


def test_where_no_key_can_be_shared_pages_are_held_in_memory_and_the_result_says_so(own: Settings) -> None:
    (own.library / "key").write_bytes(b"damaged")
    with process(own) as pages:
        found, notes = walked(lambda: pages)
    assert len(set(found)) == len(found) == 12
    assert NOT_SHARED in notes
    assert not (own.library / "pages.db").exists()


def test_the_settings_say_how_far_and_how_long(own: Settings) -> None:
    shallow = Settings(library=own.library, chunks=own.chunks, paging=PagingSettings(depth=7, ttl_seconds=60.0))
    with process(shallow) as pages:
        assert (pages.depth, pages.ttl_seconds) == (7, 60.0)
        assert len(walked(lambda: pages)[0]) == 7
