"""Pages against a plain list: for any library, page sizes and changes, each hit once and none left out."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.ingest.targets import IngestOptions
from citewise.model.access import Principal, Scope
from citewise.model.ids import digest
from citewise.model.ranking import SearchResult
from tests.pipelines.harness import Shelf, documents, ids
from tests.pipelines.paged import PagedSearch, paged
from tests.stores import all_documents, chunks_at

WORDS = ("tide", "ferry", "gauge", "nets", "quay")
RULES = ("public", "owner:ann", "group:ops")
ASKED = "tide ferry"
PRINCIPALS = (Principal(owns_library=True), Principal("ann"), Principal(groups=frozenset({"ops"})), Principal())

said = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
rules = st.sampled_from(RULES)
# Half of them are so large that the rankings of a first page do not reach everything.
document = st.tuples(said, rules, st.integers(0, 3))
libraries = st.one_of(st.lists(document, min_size=1, max_size=30), st.lists(document, min_size=61, max_size=75))
limits = st.lists(st.integers(1, 20), min_size=1, max_size=5)


@contextmanager
def written(library: Sequence[tuple[list[str], str, int]]) -> Iterator[PagedSearch]:
    """A document for each; those with a 0 say nothing of their own, so that some texts are equal."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:  # tantivy may be tidying up still
        shelf = Shelf(Path(home))
        for at, (words, rule, own) in enumerate(library):
            name = f" number{at}" if own else ""
            shelf.write(f"{rule.replace(':', '-')}/page-{at}.md", f"{' '.join(words)}{name}.\n")
        for rule in RULES:
            folder = shelf.docs / rule.replace(":", "-")
            folder.mkdir(exist_ok=True)
            shelf.ingest(folder, IngestOptions(access=(rule,), name=folder.name))
        with paged(shelf) as book:
            yield book


def walked(book: PagedSearch, sizes: Sequence[int], first: SearchResult | None = None) -> list[SearchResult]:
    """All pages, their sizes taken in turn."""
    pages = [first or book.page(ASKED, limit=sizes[0])]
    while pages[-1].next_cursor:
        limit = sizes[len(pages) % len(sizes)]
        pages.append(book.page(ASKED, limit=limit, cursor=pages[-1].next_cursor))
        assert 0 < len(pages[-1].findings) <= limit
    return pages


@settings(max_examples=15, deadline=None)
@given(libraries, limits, st.sampled_from(PRINCIPALS))
def test_pages_of_any_size_are_one_order_whose_head_is_the_unpaged_search(
    library: list[tuple[list[str], str, int]], sizes: list[int], principal: Principal
) -> None:
    with written(library) as opened:
        book = opened.asking(principal=principal)
        pages = walked(book, sizes)
        found = ids(*pages)
        assert found == ids(*walked(book, [20]))
        head = ids(book.unpaged(ASKED))  # fewer than twenty where much of what it read says the same
        assert found[: len(head)] == head
        whole, unread, _ = book.pages.search.continued(book.query(ASKED))
        order = [*ids(whole), *(candidate.id for candidate in unread)]
        paths = [one.path for one in all_documents(book.library.catalog, Scope()) if may_read(principal, one.path)]
        visible = {chunk.id for path in paths for chunk in chunks_at(book.library.catalog, Scope(), path)}
    dropped = {one.candidate.id for page in pages for one in page.dropped}
    assert [one for one in found if one in order] == [one for one in order if one not in dropped]
    assert set(found) | dropped == visible
    texts = [digest(one.passage.text) for page in pages for one in page.findings]
    assert len(set(texts)) == len(texts)
    assert all(may_read(principal, path) for path in documents(*pages))


@settings(max_examples=15, deadline=None)
@given(libraries, limits, st.sets(st.integers(0, 69)), st.integers(0, 5), st.booleans())
def test_what_stays_is_shown_once_and_what_goes_is_not_shown_after(
    library: list[tuple[list[str], str, int]], sizes: list[int], going: set[int], at_page: int, is_heard_of: bool
) -> None:
    with written([(words, rule, 1) for words, rule, _ in library]) as book:
        before = walked(book, sizes)
        whole, searched = documents(*before), before[0].total_candidates
        kept = before[: 1 + min(at_page, len(before) - 1)]
        gone = {whole[number] for number in going if number < len(whole)}
        book.library.catalog.remove(Scope(), gone)
        if is_heard_of:
            book.library.project(Scope())
        rest = list(book.walk(ASKED, limit=sizes[-1], cursor=kept[-1].next_cursor)) if kept[-1].next_cursor else []
    shown, later = documents(*kept), documents(*rest)
    assert sorted(later) == sorted(one for one in whole[len(shown) :] if one not in gone)
    held = [one for one in whole[len(shown) : searched] if one not in gone]
    assert later[: len(held)] == held  # what is behind it is ordered when somebody comes that far


def may_read(principal: Principal, path: str) -> bool:
    rule = path.partition("/")[0]
    return principal.owns_library or rule in {
        "public",
        f"owner-{principal.user}",
        *(f"group-{one}" for one in principal.groups),
    }
