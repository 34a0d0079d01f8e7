"""More than half of a source does not go by accident: an emptied or unmounted folder removes nothing unasked."""

import shutil
from pathlib import Path

import pytest

from citewise.ingest.targets import IngestOptions
from tests.pipelines.harness import Shelf

PRUNE = IngestOptions(prune=True)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    for n in range(4):
        shelf.write(f"open/p{n}.md", f"# Page {n}\n\nWords of page {n}.\n")
        shelf.write(f"more/q{n}.md", f"# Other {n}\n\nOther words {n}.\n")
    assert shelf.ingest().ingested == 8
    return shelf


def counts(shelf: Shelf, path: Path | None = None, options: IngestOptions | None = None) -> tuple[int, int]:
    report = shelf.ingest(path, options)
    assert report.is_complete == (not report.kept)
    return report.removed, report.kept


def test_an_emptied_folder_removes_nothing_until_it_is_said(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(shelf.docs)
    shelf.docs.mkdir()  # as a mount point whose disk is not there
    assert counts(shelf) == (0, 8)
    assert caplog.messages == [
        f"8 of 8 documents of {shelf.docs} are gone from disk and kept; remove them with --prune"
    ]
    assert len(shelf.snapshot()) == 8
    assert counts(shelf, options=PRUNE) == (8, 0)
    assert not shelf.snapshot()


def test_half_of_a_source_may_go(shelf: Shelf) -> None:
    shutil.rmtree(shelf.docs / "more")
    assert counts(shelf) == (4, 0)
    (shelf.docs / "open/p0.md").unlink()
    assert counts(shelf) == (1, 0)


def test_one_page_more_than_half_stays_with_all_that_is_gone(shelf: Shelf) -> None:
    shutil.rmtree(shelf.docs / "more")
    (shelf.docs / "open/p0.md").unlink()
    assert counts(shelf) == (0, 5)


def test_a_part_is_compared_with_the_whole_source(shelf: Shelf) -> None:
    for page in (shelf.docs / "more").iterdir():
        page.unlink()
    assert counts(shelf, shelf.docs / "more") == (4, 0)  # all of the part, half of the source


def test_what_is_new_does_not_make_up_for_what_is_gone(shelf: Shelf) -> None:
    shutil.rmtree(shelf.docs / "open")
    shutil.rmtree(shelf.docs / "more")
    for n in range(20):
        shelf.write(f"new/n{n}.md", f"# New {n}\n\nNothing like it {n}.\n")
    assert counts(shelf) == (0, 8)


def test_moved_pages_are_not_gone(shelf: Shelf) -> None:
    (shelf.docs / "open").rename(shelf.docs / "public")
    (shelf.docs / "more").rename(shelf.docs / "rest")
    assert counts(shelf) == (8, 0)
    assert len(shelf.snapshot()) == 8


def test_pages_that_were_moved_go_when_others_are_kept(shelf: Shelf) -> None:
    (shelf.docs / "more").rename(shelf.docs / "rest")
    for n in (0, 1, 2):
        (shelf.docs / f"rest/q{n}.md").unlink()
    shutil.rmtree(shelf.docs / "open")
    assert counts(shelf) == (1, 7)


def test_what_a_rule_leaves_out_is_removed(shelf: Shelf) -> None:
    shelf.write(".gitignore", "open/\nq0.md\n")
    assert counts(shelf) == (5, 0)
