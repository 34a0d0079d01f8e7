"""The cache of one tenant's answers while another tenant's documents change."""

from pathlib import Path

import pytest

from citewise import Library, Scope
from tests.fakes.counters import HashEmbedder, WordCounter

ACME, ZED = Scope("acme"), Scope("zed")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Tides\n\nThe tide gauge is read at noon.\n")
    made = Library(tmp_path / "library", embedder=HashEmbedder(), token_counter=WordCounter())
    for scope in (ACME, ZED):
        made.ingest(tmp_path / "docs", scope=scope)
    return made


def test_ingesting_into_one_scope_keeps_what_is_cached_of_another(library: Library, tmp_path: Path) -> None:
    first = library.as_owner(ZED).search("When is the gauge read?")
    (tmp_path / "docs" / "b.md").write_text("# Nets\n\nNets dry on the pier.\n")
    library.ingest(tmp_path / "docs", scope=ACME)
    again = library.as_owner(ZED).search("When is the gauge read?")
    assert again.cache_hit
    assert again.findings == first.findings


def test_ingesting_into_a_scope_drops_what_is_cached_of_it(library: Library, tmp_path: Path) -> None:
    library.as_owner(ZED).search("Where do nets dry?")
    (tmp_path / "docs" / "b.md").write_text("# Nets\n\nNets dry on the pier.\n")
    library.ingest(tmp_path / "docs", scope=ZED)
    again = library.as_owner(ZED).search("Where do nets dry?")
    assert not again.cache_hit
    assert "b.md" in {finding.passage.document for finding in again.findings}


def test_a_library_made_anew_with_the_same_number_of_changes_is_not_taken_for_the_old_one(
    library: Library, tmp_path: Path
) -> None:
    library.as_owner(ZED).search("Where do nets dry?")
    (tmp_path / "library").rename(tmp_path / "old")
    (tmp_path / "docs" / "a.md").write_text("# Nets\n\nNets dry on the pier.\n")
    for scope in (ACME, ZED):
        library.ingest(tmp_path / "docs", scope=scope)
    again = library.as_owner(ZED).search("Where do nets dry?")
    assert not again.cache_hit
    assert again.findings[0].passage.text.endswith("Nets dry on the pier.")
