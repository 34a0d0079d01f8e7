"""Ingesting a folder, again and again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.errors import BadRequest, PathNotFound
from citewise.ingest.targets import IngestOptions
from citewise.model.access import Principal, Scope
from citewise.model.chunk import ChunkCounts
from citewise.model.ids import chunk_id
from citewise.model.report import FileDone, IngestReport
from citewise.wiring import stored_library
from tests.fakes.counters import HashEmbedder
from tests.pipelines.harness import Shelf
from tests.stores import chunks_at

GUIDE = """---
title: Tide guide
tags: [tide, gauge]
---

# Tide guide

Tides rise and fall twice a day.

## Gauges

A gauge reads the water level every six minutes.

## Alerts

An alert fires when the level passes the flood mark.
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    shelf.write("guide.md", GUIDE)
    shelf.write("ops/pumps.md", "# Pumps\n\nPumps start when the sump is full.\n")
    return shelf


def test_a_folder_becomes_documents_and_chunks_that_are_found(shelf: Shelf) -> None:
    report = shelf.ingest()
    assert (report.seen, report.ingested, report.failed, report.skipped) == (2, 2, (), ())
    assert report.chunks == ChunkCounts(created=4)
    assert report.embedded == 4
    assert len(shelf.found("gauge")) == 1
    assert len(shelf.found("pumps")) == 1


def test_ingesting_twice_changes_nothing_and_embeds_nothing(shelf: Shelf) -> None:
    shelf.ingest()
    before = shelf.snapshot()
    report = shelf.ingest()
    assert (report.ingested, report.unchanged, report.removed) == (0, 2, 0)
    assert report.chunks == ChunkCounts(unchanged=4)
    assert report.embedded == 0
    assert shelf.snapshot() == before


def test_an_edited_section_changes_only_its_own_chunks(shelf: Shelf) -> None:
    shelf.ingest()
    before = shelf.snapshot()["guide.md"]
    shelf.write("guide.md", GUIDE.replace("Tides rise", "A new line.\n\nTides rise"))
    report = shelf.ingest()
    assert report.chunks == ChunkCounts(updated=1, unchanged=3)
    assert shelf.embedder.embedded == [text for text in shelf.embedder.embedded if "A new line" in text]
    assert shelf.snapshot()["guide.md"][1:] == before[1:]
    with shelf.opened() as library:
        alerts = chunks_at(library.catalog, Scope(), "guide.md")[2].piece
        lines = (shelf.docs / "guide.md").read_text().split("\n")
        assert lines[alerts.location.first - 1] == "## Alerts"


def test_a_removed_section_takes_its_chunks_along(shelf: Shelf) -> None:
    shelf.ingest()
    shelf.write("guide.md", GUIDE[: GUIDE.index("## Alerts")])
    assert shelf.ingest().chunks == ChunkCounts(deleted=1, unchanged=3)
    assert shelf.found("flood") == set()


def test_a_renamed_file_is_not_embedded_again(shelf: Shelf) -> None:
    shelf.ingest()
    (shelf.docs / "guide.md").rename(shelf.docs / "handbook.md")
    report = shelf.ingest()
    assert (report.ingested, report.removed, report.embedded) == (1, 1, 0)
    assert report.chunks == ChunkCounts(created=3, deleted=3, unchanged=1)
    assert list(shelf.snapshot()) == ["handbook.md", "ops/pumps.md"]


def test_a_file_with_a_title_can_be_renamed_without_embedding(shelf: Shelf) -> None:
    shelf.write("plain.md", "# Plain\n\nOnly words.\n")
    shelf.ingest()
    (shelf.docs / "plain.md").rename(shelf.docs / "other.md")
    assert shelf.ingest().embedded == 0


def test_a_file_without_any_title_is_found_by_its_name(shelf: Shelf) -> None:
    shelf.write("plain.md", "Only words.\n")
    shelf.ingest()
    assert len(shelf.found("plain")) == 1
    (shelf.docs / "plain.md").rename(shelf.docs / "bilge.md")
    shelf.ingest()
    assert (len(shelf.found("plain")), len(shelf.found("bilge"))) == (0, 1)


def test_a_removed_file_is_gone_from_catalog_and_index(shelf: Shelf) -> None:
    shelf.ingest()
    (shelf.docs / "ops/pumps.md").unlink()
    report = shelf.ingest()
    assert (report.removed, report.chunks.deleted) == (1, 1)
    assert shelf.found("pumps") == set()
    assert list(shelf.snapshot()) == ["guide.md"]


def test_one_file_can_be_ingested_alone_and_removes_nothing(shelf: Shelf) -> None:
    shelf.ingest()
    shelf.write("guide.md", GUIDE.replace("six", "ten"))
    shelf.write("ops/pumps.md", "# Pumps\n\nNot looked at.\n")
    report = shelf.ingest(shelf.docs / "guide.md")
    assert (report.seen, report.ingested, report.removed) == (1, 1, 0)
    assert len(shelf.found("sump")) == 1


def test_a_part_of_a_source_keeps_the_paths_of_the_whole(shelf: Shelf) -> None:
    shelf.ingest()
    shelf.write("ops/new.md", "# New\n\nFresh words.\n")
    (shelf.docs / "ops/pumps.md").unlink()
    report = shelf.ingest(shelf.docs / "ops")
    assert (report.ingested, report.removed) == (1, 1)
    assert list(shelf.snapshot()) == ["guide.md", "ops/new.md"]


def test_a_second_source_is_mounted_under_its_name(shelf: Shelf, tmp_path: Path) -> None:
    shelf.ingest()
    more = tmp_path / "more"
    more.mkdir()
    (more / "guide.md").write_text("# Another guide\n\nDifferent words.\n")
    assert shelf.ingest(more).ingested == 1
    assert list(shelf.snapshot()) == ["guide.md", "more/guide.md", "ops/pumps.md"]
    assert shelf.ingest().removed == 0


def test_a_second_source_never_takes_a_path_that_is_another_ones(shelf: Shelf, tmp_path: Path) -> None:
    shelf.ingest()
    ops = tmp_path / "other" / "ops"
    ops.mkdir(parents=True)
    (ops / "pumps.md").write_text("# Other pumps\n\nDifferent words.\n")
    assert shelf.ingest(ops).ingested == 1
    assert list(shelf.snapshot()) == ["guide.md", "ops/pumps.md", "other/ops/pumps.md"]
    shelf.write("other/ops/pumps.md", "# Late comer\n")
    report = shelf.ingest()
    assert [entry.path for entry in report.failed] == ["other/ops/pumps.md"]
    assert "--name" in report.failed[0].reason
    assert len(shelf.found("different")) == 1


def test_of_nested_sources_the_innermost_is_meant(shelf: Shelf) -> None:
    shelf.ingest(shelf.docs / "ops")
    shelf.ingest()
    shelf.write("ops/pumps.md", "# Pumps\n\nRewritten.\n")
    assert shelf.ingest(shelf.docs / "ops").ingested == 1
    assert "Rewritten" in shelf.snapshot()["pumps.md"][0]


def test_a_source_that_moved_keeps_its_documents_when_it_is_named(shelf: Shelf, tmp_path: Path) -> None:
    shelf.ingest()
    before = shelf.snapshot()
    moved = shelf.docs.rename(tmp_path / "content")
    report = shelf.ingest(moved, IngestOptions(name="."))
    assert (report.unchanged, report.ingested, report.removed) == (2, 0, 0)
    assert shelf.snapshot() == before


def test_ids_follow_the_documented_scheme(shelf: Shelf) -> None:
    shelf.ingest()
    expected = chunk_id(Scope(), "guide.md", anchor="gauges", ordinal=0)
    assert shelf.snapshot()["guide.md"][1].startswith(expected)


def test_a_broken_file_fails_alone_and_keeps_what_was_known_of_it(shelf: Shelf) -> None:
    shelf.ingest()
    (shelf.docs / "guide.md").write_bytes(b"# Broken \xff\xfe here\n")
    report = shelf.ingest()
    assert [(entry.path, "not UTF-8" in entry.reason) for entry in report.failed] == [("guide.md", True)]
    assert (report.unchanged, report.removed) == (1, 0)
    assert len(shelf.found("gauge")) == 1


def test_a_file_of_too_many_chunks_fails_alone_before_anything_of_it_is_embedded(shelf: Shelf) -> None:
    shelf.write("many.md", "".join(f"# h{n}\n\nplover\n\n" for n in range(20_001)))
    report = shelf.ingest()
    assert [(entry.path, entry.reason[:27]) for entry in report.failed] == [("many.md", "would become 20,001 chunks;")]
    assert report.ingested == 2
    assert not any("plover" in text for text in shelf.embedder.embedded)


def test_a_binary_file_is_skipped_with_a_reason(shelf: Shelf) -> None:
    (shelf.docs / "image.md").write_bytes(b"\x89PNG\x00\x01")
    report = shelf.ingest()
    assert [entry.path for entry in report.skipped] == ["image.md"]
    assert "binary" in report.skipped[0].reason
    assert report.seen == report.ingested + len(report.skipped)


def test_a_known_file_that_becomes_binary_or_too_large_keeps_what_was_known(shelf: Shelf) -> None:
    shelf.ingest()
    (shelf.docs / "guide.md").write_bytes(b"# Guide\x00")
    (shelf.docs / "ops/pumps.md").write_text("x" * 11_000_000)
    report = shelf.ingest()
    assert (len(report.skipped), report.removed) == (2, 0)
    assert len(shelf.found("gauge")) == 1


def test_a_file_of_only_frontmatter_is_a_document_without_chunks(shelf: Shelf) -> None:
    shelf.write("empty.md", "---\ntitle: Nothing here\n---\n")
    report = shelf.ingest()
    assert report.ingested == 3
    assert [entry.path for entry in report.warnings] == ["empty.md"]
    assert shelf.snapshot()["empty.md"] == ()
    assert shelf.ingest().unchanged == 3


def test_a_document_that_cannot_be_embedded_fails_and_the_rest_go_on(shelf: Shelf) -> None:
    shelf.embedder = HashEmbedder(poison="sump")
    report = shelf.ingest()
    assert [entry.path for entry in report.failed] == ["ops/pumps.md"]
    assert "choked" in report.failed[0].reason
    assert list(shelf.snapshot()) == ["guide.md"]
    shelf.embedder = HashEmbedder()
    assert shelf.ingest().ingested == 1


def test_one_refused_text_does_not_make_anyone_pay_twice_for_its_neighbors(shelf: Shelf) -> None:
    shelf.embedder = HashEmbedder(poison="flood mark")
    assert shelf.ingest(shelf.docs / "guide.md").embedded == 2
    report = shelf.ingest(shelf.docs / "guide.md")
    assert (report.embedded, len(report.failed)) == (0, 1)


@pytest.mark.parametrize("value", ["0x" + "F" * 4000, "1" * 5000, "1e999", ".nan", "2026-01-01", "[1, [2, {a: b}]]"])
def test_no_metadata_stops_an_ingestion(shelf: Shelf, value: str) -> None:
    shelf.write("odd.md", f"---\nodd: {value}\n---\n\n# Odd\n\nwords\n")
    assert shelf.ingest().failed == ()
    assert shelf.ingest().unchanged == 3


def test_secrets_are_masked_before_anything_is_stored(shelf: Shelf) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    shelf.write("deploy.md", f"# Deploy\n\nUse the token {key} to push.\n")
    report = shelf.ingest()
    assert sum(report.masked.values()) == 1
    assert all(key not in text for texts in shelf.snapshot().values() for text in texts)
    assert all(key not in text for text in shelf.embedder.embedded)
    raw = b"".join(file.read_bytes() for file in shelf.settings.library.rglob("*") if file.is_file())
    assert key.encode() not in raw


def test_an_ingested_file_is_announced_only_when_it_is_stored(shelf: Shelf) -> None:
    stored: list[bool] = []
    with shelf.opened() as library:
        for event in library.ingest({shelf.docs: None}, IngestOptions()):
            if isinstance(event, FileDone) and event.outcome == "ingested":
                stored.append(event.path in library.catalog.paths(Scope()))
    assert stored == [True, True]


def test_a_watch_outlives_what_cannot_be_read_now(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    ignore = shelf.docs / ".gitignore"

    def changes(*_: object) -> Iterator[dict[Path, list[Path]]]:
        ignore.symlink_to("missing")
        yield {shelf.docs: [shelf.docs]}
        ignore.unlink()
        yield {}

    stored = stored_library(shelf.settings, shelf.embedding)
    monkeypatch.setattr(type(stored.parts), "changes", changes)
    *_, report = stored.watch([shelf.docs], IngestOptions())
    assert isinstance(report, IngestReport)
    assert report.ingested == 2


def test_access_comes_from_the_call_the_path_and_the_frontmatter(shelf: Shelf) -> None:
    shelf.write("open.md", "# Open\n\nharbor words\n")
    shelf.write("mine.md", "---\naccess: owner:bob\n---\n\n# Mine\n\npilot words\n")
    by_path = {"ops/**": ("group:ops",), "open.md": ("public",), "mine.md": ("project",)}
    shelf.with_settings(ingest=replace(shelf.settings.ingest, access_by_path=by_path))
    shelf.ingest(options=IngestOptions(access=("owner:ann",)))
    stranger, ann = Principal(), Principal(user="ann")
    ops = Principal(user="bob", groups=frozenset({"ops"}))
    assert len(shelf.found("harbor", principal=stranger)) == 1
    assert len(shelf.found("gauge", principal=ann)) == 1
    assert shelf.found("gauge", principal=ops) == set()
    assert len(shelf.found("sump", principal=ops)) == 1
    assert shelf.found("sump", principal=ann) == set()
    assert shelf.found("pilot", principal=ann) == set()
    assert len(shelf.found("pilot", principal=ops)) == 1


def test_by_default_members_of_the_project_see_a_document_and_strangers_do_not(shelf: Shelf) -> None:
    shelf.ingest()
    assert len(shelf.found("gauge", principal=Principal(user="bob"))) == 1
    assert shelf.found("gauge", principal=Principal()) == set()
    assert shelf.found("gauge", scope=Scope("rival")) == set()


def test_a_changed_access_rule_reaches_the_index_without_embedding(shelf: Shelf) -> None:
    shelf.ingest()
    report = shelf.ingest(options=IngestOptions(access=("group:ops",)))
    assert report.embedded == 0
    assert report.chunks.updated == 4
    assert shelf.found("gauge", principal=Principal(user="bob")) == set()


def test_a_rule_said_once_holds_until_another_is_said(shelf: Shelf) -> None:
    shelf.ingest(options=IngestOptions(access=("group:ops",)))
    assert shelf.ingest().unchanged == 2
    shelf.write("ops/pumps.md", "# Pumps\n\nRewritten.\n")
    shelf.ingest(shelf.docs / "ops")
    assert shelf.found("rewritten", principal=Principal(user="bob")) == set()
    assert len(shelf.found("rewritten", principal=Principal(groups=frozenset({"ops"})))) == 1
    shelf.ingest(options=IngestOptions(access=("project",), widen=True))
    assert len(shelf.found("rewritten", principal=Principal(user="bob"))) == 1


def test_a_rule_for_one_file_concerns_that_file_and_is_not_forgotten_either(shelf: Shelf) -> None:
    shelf.ingest()
    shelf.ingest(shelf.docs / "guide.md", IngestOptions(access=("group:ops",)))
    for _ in range(2):
        assert shelf.found("gauge", principal=Principal(user="bob")) == set()
        assert len(shelf.found("sump", principal=Principal(user="bob"))) == 1
        assert shelf.ingest().unchanged == 2
    shelf.ingest(options=IngestOptions(access=("public",), widen=True))  # what was said of one file stays
    assert len(shelf.found("sump", principal=Principal())) == 1
    assert shelf.found("gauge", principal=Principal(user="bob")) == set()
    shelf.ingest(shelf.docs / "guide.md", IngestOptions(access=("public",), widen=True))
    assert len(shelf.found("gauge", principal=Principal())) == 1


def test_a_frontmatter_rule_that_is_none_fails_closed(shelf: Shelf) -> None:
    shelf.write("guide.md", GUIDE.replace("title:", "access: everyone-i-like\ntitle:"))
    report = shelf.ingest()
    assert [entry.path for entry in report.failed] == ["guide.md"]
    assert "access rule" in report.failed[0].reason


def test_a_folder_that_cannot_be_read_keeps_its_documents(shelf: Shelf) -> None:
    shelf.ingest()
    # A .gitignore that cannot be read hides what it would have ignored, so its folder is not walked.
    (shelf.docs / "ops" / ".gitignore").symlink_to("/nowhere/at/all")
    report = shelf.ingest()
    assert [entry.path for entry in report.skipped] == ["ops/"]
    assert report.removed == 0
    assert len(shelf.found("sump")) == 1


def test_the_report_adds_up(shelf: Shelf) -> None:
    shelf.write(".gitignore", "drafts/\n")
    shelf.write("drafts/x.md", "# X\n")
    shelf.write("picture.png", "not really")
    shelf.write("blank.md", "")
    shelf.write("node_modules/left-pad/README.md", "# Left pad\n")
    shelf.write(".github/CONTRIBUTING.md", "# Contributing\n")
    (shelf.docs / "bad.md").write_bytes(b"\xff")
    for _ in range(2):
        report = shelf.ingest()
        assert (report.seen, len(report.skipped) - report.files_skipped) == (6, 3)  # files and folders
        left_out = [entry.path for entry in report.skipped if "folder" in entry.reason]
        assert left_out == [".github/", "node_modules/"]
        assert report.folders_left_out == 2
        files_done = [event for event in shelf.events if isinstance(event, FileDone)]
        assert len(files_done) == 9
        shelf.events.clear()


@pytest.mark.parametrize("error", [PathNotFound, BadRequest, FileNotFoundError])
def test_a_missing_folder_is_a_bad_request_and_a_file_not_found(shelf: Shelf, error: type[Exception]) -> None:
    with pytest.raises(error, match="no folder or file"):
        shelf.ingest(shelf.docs / "nowhere")


def test_a_file_read_by_an_older_parser_is_ingested_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser of 0.1 gave admonitions no children."""
    shelf.write("a.md", "# A\n\n:::note\n\nWords.\n\n:::\n")
    with monkeypatch.context() as older:
        older.setattr(MarkdownParser, "version", "markdown-1")
        shelf.ingest()
    assert shelf.ingest().ingested == 3
