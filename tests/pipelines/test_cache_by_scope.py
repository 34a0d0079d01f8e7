"""The cache of one tenant's answers while another tenant's documents change."""

from pathlib import Path

import pytest

from citewise import Library, Scope
from tests.pipelines.harness import Shelf, documents

ACME, ZED = Scope("acme"), Scope("zed")
NETS = "# Nets\n\nNets dry on the pier.\n"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path)
    made.write("a.md", "# Tides\n\nThe tide gauge is read at noon.\n")
    return made


@pytest.fixture
def library(shelf: Shelf) -> Library:
    made = shelf.library()
    for scope in (ACME, ZED):
        made.ingest(shelf.docs, scope=scope)
    return made


def test_ingesting_into_one_scope_keeps_what_is_cached_of_another(shelf: Shelf, library: Library) -> None:
    first = library.as_owner(ZED).search("When is the gauge read?")
    shelf.write("b.md", NETS)
    library.ingest(shelf.docs, scope=ACME)
    again = library.as_owner(ZED).search("When is the gauge read?")
    assert again.cache_hit
    assert again.findings == first.findings


def test_ingesting_into_a_scope_drops_what_is_cached_of_it(shelf: Shelf, library: Library) -> None:
    library.as_owner(ZED).search("Where do nets dry?")
    shelf.write("b.md", NETS)
    library.ingest(shelf.docs, scope=ZED)
    again = library.as_owner(ZED).search("Where do nets dry?")
    assert not again.cache_hit
    assert "b.md" in documents(again)


def test_a_library_made_anew_with_the_same_number_of_changes_is_not_taken_for_the_old_one(
    shelf: Shelf, library: Library
) -> None:
    library.as_owner(ZED).search("Where do nets dry?")
    shelf.settings.library.rename(shelf.docs.with_name("old"))
    shelf.write("a.md", NETS)
    for scope in (ACME, ZED):
        library.ingest(shelf.docs, scope=scope)
    again = library.as_owner(ZED).search("Where do nets dry?")
    assert not again.cache_hit
    assert again.findings[0].passage.text.endswith("Nets dry on the pier.")
