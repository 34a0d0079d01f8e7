"""PagedSearch through what a search found: complete, each hit once, in the order of the search."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from citewise.errors import Unavailable
from citewise.model.access import Scope
from citewise.model.chunk import Hit, TermField, Vector
from citewise.model.filters import AnyOf, Where
from citewise.model.query import NOT_SHARED
from citewise.ports.indexes import TextIndex, VectorIndex
from citewise.ports.stores import SavedRanking
from citewise.search.adjust import Deduplicate
from citewise.search.rankings import MIN_HITS
from tests.fakes.memory_rankings import MemoryRankings
from tests.fakes.plain_index import PlainTextIndex, PlainVectorIndex
from tests.pipelines.harness import Shelf, documents, ids
from tests.pipelines.paged import PagedSearch, paged, shelf_of

ASKED = "tide word"
PAGES = 93  # more than the sixty that a ranking gives at least


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return shelf_of(tmp_path_factory.mktemp("shelf"), PAGES)


@pytest.fixture
def book(shelf: Shelf) -> Iterator[PagedSearch]:
    with paged(shelf) as opened:
        yield opened


@pytest.mark.parametrize("limit", [1, 7, 20])
def test_the_head_is_the_usual_search_whatever_the_size_of_a_page(book: PagedSearch, limit: int) -> None:
    unpaged = book.unpaged(ASKED).findings
    findings = [finding for page in book.walk(ASKED, limit=limit) for finding in page.findings]
    assert findings[:20] == list(unpaged)
    assert len(findings) == PAGES


def test_every_hit_is_explained_and_none_scores_above_one_before_it(book: PagedSearch) -> None:
    findings = [finding for page in book.walk(ASKED) for finding in page.findings]
    scores = [finding.score for finding in findings]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    for finding in findings:
        assert set(finding.candidate.scores) >= {"fused", *finding.candidate.ranks}
        assert finding.candidate.ranks
        assert finding.passage.place


def test_behind_the_head_and_behind_the_search_the_order_is_that_of_fusion(book: PagedSearch) -> None:
    """The first forty were read; what the search found besides comes next, then what deeper rankings find."""
    found = [one.candidate for page in book.walk(ASKED) for one in page.findings]
    searched = book.unpaged(ASKED).total_candidates
    assert 40 < searched < PAGES
    for part in (found[40:searched], found[searched:]):
        fused = [one.scores["fused"] for one in part]
        assert fused == sorted(fused, reverse=True)


def test_only_who_comes_to_its_end_has_the_order_made_deeper_and_only_once(book: PagedSearch) -> None:
    pages = list(book.walk(ASKED))
    deepened = ["deepen" in page.timings_ms for page in pages]
    searched = book.unpaged(ASKED).total_candidates
    assert [number for number, is_deeper in enumerate(deepened) if is_deeper] == [(searched - 1) // 5]
    assert [page.total_candidates for page in pages] == [
        PAGES if any(deepened[: number + 1]) else searched for number in range(len(pages))
    ]


def test_what_was_left_out_as_a_twin_does_not_come_back_from_the_deep(book: PagedSearch) -> None:
    """A first page that took ninety-three different texts for much the same holds the rest back for good."""
    alike = replace(book.pages.search, refine=(Deduplicate(min_jaccard=0.3),))
    pages = list(book.over(search=alike).walk(ASKED))
    twins = {one.candidate.id for one in pages[0].dropped}
    assert twins
    assert twins.isdisjoint(ids(*pages))


def test_if_the_deep_cannot_be_searched_what_was_saved_is_all_there_is(book: PagedSearch) -> None:
    pages = list(book.walk(ASKED))
    searched = book.unpaged(ASKED).total_candidates
    broken = replace(
        book.pages.search.retrieve, vectors=NoDeepVectors(book.library.vectors), texts=NoDeepTexts(book.library.texts)
    )
    rest = list(book.over(search=replace(book.pages.search, retrieve=broken)).walk(ASKED))
    assert ids(*rest) == ids(*pages)[:searched]
    assert rest[-1].degraded == ("paging: not available; there may be more hits than these",)


def test_a_page_may_be_larger_or_smaller_than_the_one_before(book: PagedSearch) -> None:
    whole = ids(*book.walk(ASKED))
    first = book.page(ASKED, limit=2)
    second = book.page(ASKED, limit=20, cursor=first.next_cursor)
    assert ids(first, second) == whole[:22]
    assert ids(first, second, *book.walk(ASKED, limit=9, cursor=second.next_cursor)) == whole


def test_the_same_cursor_gives_the_same_page_again(book: PagedSearch) -> None:
    pages = list(book.walk(ASKED))
    again = book.page(ASKED, cursor=pages[3].next_cursor)
    assert again.findings == pages[4].findings
    assert ids(*book.walk(ASKED, cursor=again.next_cursor)) == ids(*pages[5:])


@pytest.mark.parametrize("top_k", [3, 5, 12, 60])
def test_with_a_top_k_the_pages_are_its_hits_and_no_more(book: PagedSearch, top_k: int) -> None:
    bounded = book.asking(top_k=top_k)
    pages = list(bounded.walk(ASKED))
    assert ids(*pages) == ids(bounded.unpaged(ASKED))
    assert {page.query.top_k for page in pages} == {top_k}


@pytest.mark.parametrize("depth", [7, 55])
def test_there_are_at_most_as_many_hits_as_the_settings_allow(book: PagedSearch, depth: int) -> None:
    shallow = book.over(depth=depth)
    assert ids(*shallow.walk(ASKED))[:20] == ids(book.unpaged(ASKED))[:depth]
    assert len(ids(*shallow.walk(ASKED))) == depth
    assert len(ids(*shallow.asking(top_k=60).walk(ASKED))) == depth


def test_filters_hold_on_every_page(book: PagedSearch) -> None:
    wanted = frozenset(f"page-{number}.md" for number in range(0, PAGES, 5))
    narrowed = book.asking(conditions=(AnyOf("document", wanted),))
    assert sorted(documents(*narrowed.walk(ASKED, limit=4))) == sorted(wanted)


def test_a_search_that_fits_on_one_page_has_no_cursor_and_saves_nothing(book: PagedSearch) -> None:
    few = book.over(rankings=FullDisk()).asking(conditions=(AnyOf("document", frozenset({"page-1.md", "page-2.md"})),))
    found = few.page(ASKED, limit=2)
    assert (len(found.findings), found.next_cursor, found.degraded) == (2, None, ())


def test_nothing_found_is_one_empty_page(book: PagedSearch) -> None:
    found = book.asking(scope=Scope("acme", "empty")).page(ASKED)
    assert (found.findings, found.next_cursor) == ((), None)


def test_what_was_degraded_or_noted_is_said_on_every_page(book: PagedSearch) -> None:
    here_only = MemoryRankings()
    here_only.is_shared = False
    pages = list(book.over(rankings=here_only).asking(expand_graph=True).walk(ASKED, limit=20))
    assert all("graph: this library has no service graph" in page.degraded for page in pages)
    assert all("rerank: no model is configured; the fused order stands" in page.notes for page in pages)
    assert [NOT_SHARED in page.notes for page in pages] == [True] * 4 + [False]  # there is no cursor


def test_every_page_tells_how_long_it_took(book: PagedSearch) -> None:
    first = book.page(ASKED)
    second = book.page(ASKED, cursor=first.next_cursor)
    assert {"rankings", "fuse", "hydrate", "fill", "save", "total"} <= set(first.timings_ms)
    assert set(second.timings_ms) == {"load", "fill", "save", "total"}
    assert second.counts == {"candidates": first.total_candidates, "hydrated": 5}


class NoDeepVectors(PlainVectorIndex):
    """An index that gives the usual sixty and no more."""

    def __init__(self, index: VectorIndex) -> None:
        super().__init__()
        self._index = index

    def search(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        _refuse_deep(limit)
        return self._index.search(vector, where=where, limit=limit)


class NoDeepTexts(PlainTextIndex):
    def __init__(self, index: TextIndex) -> None:
        super().__init__()
        self._index = index

    def search(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        _refuse_deep(limit)
        return self._index.search(terms, field=field, where=where, limit=limit)


def _refuse_deep(limit: int) -> None:
    if limit > MIN_HITS:
        raise Unavailable("it is too deep")


class FullDisk:
    """A store on a disk that is full."""

    def save(self, cursor: str, ranking: SavedRanking, *, now: float, expires_at: float) -> None:
        raise Unavailable("the disk is full")

    def load(self, cursor: str, *, now: float) -> SavedRanking | None:
        raise Unavailable("the disk is full")

    def renew(self, cursor: str, *, now: float, expires_at: float) -> bool:
        raise Unavailable("the disk is full")

    def clear(self) -> bool:
        raise Unavailable("the disk is full")


def test_a_page_is_shown_even_if_the_rest_cannot_be_saved(book: PagedSearch) -> None:
    found = book.over(rankings=FullDisk()).page(ASKED)
    assert ids(found) == ids(book.unpaged(ASKED))[:5]
    assert found.next_cursor is None
    assert found.degraded == ("paging: not available; there is no page after this one",)


def test_a_cursor_whose_ranking_cannot_be_loaded_now_may_be_tried_again(book: PagedSearch) -> None:
    cursor = book.page(ASKED).next_cursor
    with pytest.raises(Unavailable):
        book.over(rankings=FullDisk()).page(ASKED, cursor=cursor)


def test_every_page_costs_the_same(book: PagedSearch) -> None:
    """A later page reads its own hits and the first of the next page, and saves less than the page before."""
    rankings = MemoryRankings()
    cursors = [page.next_cursor for page in book.over(rankings=rankings).walk(ASKED) if page.next_cursor]
    saved = [ranking for cursor in cursors if (ranking := rankings.load(cursor, now=book.now[0]))]
    searched = book.unpaged(ASKED).total_candidates
    assert [ranking.place for ranking in saved] == list(range(5, PAGES, 5))
    assert [len(ranking.candidates) for ranking in saved] == [
        (PAGES if ranking.is_complete else searched) - ranking.place for ranking in saved
    ]
