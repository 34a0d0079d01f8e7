"""The library's key comes, goes and changes while a process leafs: cursors go on or are refused, and nothing breaks."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from citewise.errors import BadRequest
from citewise.model.access import OWNER
from citewise.model.paging import NOT_SHARED, PageRequest
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import opened_for_reading
from citewise.wiring.paging import Paging, pages_check, sweep_pages
from citewise.wiring.search import search_of
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.flows.leafing import ids, shelf_of

QUERY = Query("tide word", request_id="r-1", asked_at=1.7e9, principal=OWNER)

Leaf = Callable[[str | None], SearchResult]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return shelf_of(tmp_path, 12).settings


@contextmanager
def process(settings: Settings) -> Iterator[Leaf]:
    """A page behind a cursor, as a process that lives on gives it."""
    with (
        opened_for_reading(settings, Embedding(HashEmbedder(), WordCounter())) as library,
        ThreadPoolExecutor(1) as threads,
        closing(Paging(settings)) as paging,
    ):
        search = search_of(library, reranker=None, threads=threads)
        yield lambda cursor: paging.pages(library, search)(QUERY, PageRequest(cursor=cursor))


@pytest.fixture
def leaf(settings: Settings) -> Iterator[Leaf]:
    with process(settings) as made:
        yield made


def key_of(settings: Settings) -> Path:
    return settings.library / "key"


def walked(leaf: Leaf) -> list[str]:
    pages = [leaf(None)]
    while pages[-1].next_cursor and len(pages) < 10:
        pages.append(leaf(pages[-1].next_cursor))
    return ids(*pages)


def is_whole(found: list[str]) -> bool:
    return len(set(found)) == len(found) == 12


def refuse(leaf: Leaf, cursor: str | None) -> None:
    assert cursor is not None
    with pytest.raises(BadRequest, match="not one of this library's: search again"):
        leaf(cursor)


@pytest.mark.parametrize("key", [None, b"n" * 32], ids=["removed", "replaced"])
def test_a_key_that_changes_ends_the_cursors_of_before_and_a_new_search_begins(
    settings: Settings, leaf: Leaf, key: bytes | None
) -> None:
    cursor = leaf(None).next_cursor
    key_of(settings).unlink()
    if key:
        key_of(settings).write_bytes(key)
    refuse(leaf, cursor)
    assert is_whole(walked(leaf))
    assert NOT_SHARED not in leaf(None).notes


def test_a_key_that_is_damaged_is_said_from_the_next_search_on_and_those_cursors_work_here(
    settings: Settings, leaf: Leaf
) -> None:
    cursor = leaf(None).next_cursor
    key_of(settings).write_bytes(b"damaged")
    refuse(leaf, cursor)
    assert NOT_SHARED in leaf(None).notes
    assert is_whole(walked(leaf))


def test_a_page_reads_the_key_once(settings: Settings, leaf: Leaf, caplog: pytest.LogCaptureFixture) -> None:
    """Else the place and the seal could be of two different keys."""
    key_of(settings).write_bytes(b"damaged")
    leaf(None)
    assert caplog.text.count("is damaged") == 1


def test_a_key_that_is_put_back_brings_its_cursors_back(settings: Settings, leaf: Leaf) -> None:
    cursor, kept = leaf(None).next_cursor, key_of(settings).read_bytes()
    key_of(settings).write_bytes(b"damaged")
    refuse(leaf, cursor)
    key_of(settings).write_bytes(kept)
    assert leaf(cursor).findings
    assert NOT_SHARED not in leaf(None).notes


def test_a_key_that_is_mended_is_shared_with_other_processes_at_once(settings: Settings, leaf: Leaf) -> None:
    key_of(settings).write_bytes(b"damaged")
    here = leaf(None)
    assert NOT_SHARED in here.notes
    key_of(settings).unlink()
    refuse(leaf, here.next_cursor)
    with process(settings) as other:
        assert ids(leaf(other(None).next_cursor)) == ids(other(leaf(None).next_cursor)) != []


def test_a_folder_in_the_key_s_place_breaks_no_search(settings: Settings, leaf: Leaf) -> None:
    cursor = leaf(None).next_cursor
    key_of(settings).unlink()
    key_of(settings).mkdir()
    refuse(leaf, cursor)
    assert NOT_SHARED in leaf(None).notes
    assert is_whole(walked(leaf))


def test_a_sweep_ends_the_cursors_of_a_process_that_goes_on(settings: Settings, leaf: Leaf) -> None:
    cursor = leaf(None).next_cursor
    sweep_pages(settings)
    with pytest.raises(BadRequest, match="has expired: search again"):
        leaf(cursor)
    assert is_whole(walked(leaf))


def test_a_sweep_of_a_library_that_was_never_leafed_through_leaves_nothing(settings: Settings) -> None:
    before = {file.name for file in settings.library.iterdir()}
    sweep_pages(settings)
    assert {file.name for file in settings.library.iterdir()} == before


@pytest.mark.parametrize("written", [None, b"k" * 32, b"damaged"], ids=["no key yet", "a key", "a damaged key"])
def test_the_doctor_says_whether_cursors_work_in_other_processes(settings: Settings, written: bytes | None) -> None:
    if written is not None:
        key_of(settings).write_bytes(written)
    check = pages_check(settings)
    assert check.is_ok is (written != b"damaged")
    assert ("cursors work in every process" in check.detail) is check.is_ok
    assert key_of(settings).exists() is (written is not None)  # it looks, and makes nothing
