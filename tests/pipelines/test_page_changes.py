"""PagedSearch while the library changes: the catalog decides at each page what is there for its reader."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from citewise.ingest.targets import IngestOptions
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.ranking import Candidate, SearchResult
from tests.pipelines.harness import documents, generation_folder, ids, ingested
from tests.pipelines.paged import PagedSearch, paged, shelf_of, text_of
from tests.stores import seal_again

PAGES = 60  # of which the first page reads forty: what is behind them, only later ones meet
ANN = Principal("ann", frozenset({"ops"}))
MEMBERS = IngestOptions(access=("project",))
ASKED = "tide word"


@pytest.fixture
def book(tmp_path: Path) -> Iterator[PagedSearch]:
    with paged(shelf_of(tmp_path, PAGES)) as opened:
        yield opened.asking(principal=ANN)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return tmp_path / "docs"


def remove(book: PagedSearch, *paths: str, is_heard_of: bool = True) -> None:
    """From the catalog; the index hears of it at once, or not yet."""
    book.library.catalog.remove(Scope(), paths)
    if is_heard_of:
        book.library.project(Scope())


def rest_of(book: PagedSearch, first: SearchResult) -> list[SearchResult]:
    return list(book.walk(ASKED, cursor=first.next_cursor))


def without(whole: list[str], *gone: str) -> list[str]:
    return [one for one in whole if one not in gone]


def candidates(*pages: SearchResult) -> list[Candidate]:
    return [finding.candidate for page in pages for finding in page.findings]


def changed_by_hand(book: PagedSearch, statement: str, *values: str) -> None:
    with (
        closing(sqlite3.connect(generation_folder(book.library.stored.settings) / "catalog.db")) as connection,
        connection,
    ):
        connection.execute(statement, values)


def test_what_is_deleted_is_gone_from_the_next_page_and_others_take_its_place(book: PagedSearch) -> None:
    whole = documents(*book.walk(ASKED))
    first = book.page(ASKED)
    gone = (whole[2], whole[6], whole[11], whole[50])
    remove(book, *gone)
    rest = rest_of(book, first)
    assert documents(*rest) == without(whole[5:], *gone)
    assert [len(page.findings) for page in rest] == [5] * 10 + [2]


def test_what_becomes_another_readers_is_gone_from_the_next_page(book: PagedSearch, docs: Path) -> None:
    whole = documents(*book.walk(ASKED))
    first = book.page(ASKED)
    ingested(book.library, docs / whole[7], IngestOptions(access=("owner:bob",)))
    assert documents(*rest_of(book, first)) == without(whole[5:], whole[7])


def test_only_the_owner_sees_ranks_on_pages(book: PagedSearch) -> None:
    """A gap in them would tell other readers of something that was hidden or deleted."""
    pages = list(book.walk(ASKED))
    assert not any(candidate.ranks for candidate in candidates(*pages))
    owner = book.asking(principal=OWNER)
    assert all(candidate.ranks for candidate in candidates(*owner.walk(ASKED)))


def test_what_an_index_still_believes_in_leaves_no_trace(book: PagedSearch) -> None:
    whole = documents(*book.walk(ASKED))
    gone = (whole[1], whole[28], whole[59])
    remove(book, *gone, is_heard_of=False)
    pages = list(book.walk(ASKED))
    assert documents(*pages) == without(whole, *gone)
    assert not [one for page in pages for one in page.dropped]
    assert pages[-1].next_cursor is None


def test_there_is_no_next_page_for_what_its_reader_may_not_see(book: PagedSearch) -> None:
    whole = documents(*book.walk(ASKED))
    remove(book, *whole[10:], is_heard_of=False)
    assert [len(page.findings) for page in book.walk(ASKED)] == [5, 5]


def test_a_first_page_is_filled_from_behind_the_head(book: PagedSearch) -> None:
    whole = documents(*book.walk(ASKED))
    remove(book, *whole[:40], is_heard_of=False)
    assert [len(page.findings) for page in book.walk(ASKED, limit=12)] == [12, 8]
    assert documents(*book.walk(ASKED, limit=12)) == whole[40:]


def test_an_edited_passage_is_shown_as_it_is_now(book: PagedSearch, docs: Path) -> None:
    pages = list(book.walk(ASKED))
    path = documents(*pages)[6]
    first = book.page(ASKED)
    heading = (docs / path).read_text().splitlines()[0]
    (docs / path).write_text(f"{heading}\n\nIt was rewritten meanwhile.\n")
    ingested(book.library, docs / path, MEMBERS)
    second = book.page(ASKED, cursor=first.next_cursor)
    assert ids(second) == ids(pages[1])
    assert "It was rewritten meanwhile." in second.findings[1].passage.text


def test_new_documents_move_no_page_and_come_at_the_end_if_at_all(book: PagedSearch, docs: Path) -> None:
    whole = documents(*book.walk(ASKED))
    first = book.page(ASKED)
    for number in range(100, 120):
        (docs / f"page-{number}.md").write_text(text_of(number, tides=9))
    ingested(book.library, docs, MEMBERS)
    paged = documents(first, *rest_of(book, first))
    assert paged[:PAGES] == whole
    assert sorted(paged[PAGES:]) == [f"page-{number}.md" for number in range(100, 120)]
    assert documents(book.page(ASKED))[0] not in whole


@pytest.mark.parametrize("shown_at", [2, 6])
def test_a_text_that_was_shown_is_not_shown_again_under_another_name(book: PagedSearch, shown_at: int) -> None:
    pages = list(book.walk(ASKED))
    whole = ids(*pages)
    second = book.page(ASKED, cursor=book.page(ASKED).next_cursor)
    text = [finding.passage.text for page in pages for finding in page.findings][shown_at]
    changed_by_hand(book, "UPDATE chunks SET text = ? WHERE id = ?", text, whole[17])
    seal_again(generation_folder(book.library.stored.settings) / "catalog.db")
    rest = rest_of(book, second)
    assert ids(*rest) == without(whole[10:], whole[17])
    (dropped,) = (one for page in rest for one in page.dropped)
    assert (dropped.candidate.id, dropped.stage) == (whole[17], "dedup")


def test_when_everything_is_gone_the_next_page_is_the_last_and_empty(book: PagedSearch) -> None:
    first = book.page(ASKED)
    remove(book, *documents(*book.walk(ASKED)))
    second = book.page(ASKED, cursor=first.next_cursor)
    assert (second.findings, second.next_cursor, second.dropped) == ((), None, ())


def test_a_record_that_cannot_be_read_is_named_and_spoils_no_page(
    book: PagedSearch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = ids(*book.walk(ASKED))
    changed_by_hand(book, "UPDATE chunks SET breadcrumb = '[' WHERE id = ?", whole[52])
    with caplog.at_level(logging.WARNING):
        pages = list(book.walk(ASKED))
    assert ids(*pages) == without(whole, whole[52])
    assert [one.candidate.id for page in pages for one in page.dropped] == [whole[52]]
    assert whole[52] in caplog.text


def test_a_cursor_goes_on_after_the_index_was_made_anew(book: PagedSearch) -> None:
    pages = list(book.walk(ASKED))
    book.library.project.rebuild(Scope())
    assert ids(*rest_of(book, pages[0])) == ids(*pages[1:])


def test_what_comes_meanwhile_takes_no_place_from_what_was_there(book: PagedSearch, docs: Path) -> None:
    """Even where not all of it can be paged through: what is new stands last, and says so."""
    small = book.over(depth=PAGES + 10)
    whole = documents(*small.walk(ASKED))
    first = small.page(ASKED)
    for number in range(PAGES, 2 * PAGES):
        (docs / f"page-{number}.md").write_text(text_of(number, tides=7))
    ingested(book.library, docs, MEMBERS)
    pages = [first, *rest_of(small, first)]
    shown = documents(*pages)
    assert len(shown) == len(set(shown))
    assert set(whole) <= set(shown)
    assert shown[: len(whole)] == whole
    assert any("can be paged through" in note for note in pages[-1].notes)
