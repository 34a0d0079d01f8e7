"""Items that are no Markdown files: books with pages and chat threads, from their bytes to their citations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from citewise import SourceOptions
from citewise.answer.pack import _citation
from citewise.errors import BadRequest, Misconfigured
from citewise.ingest.prepare import Prepare
from citewise.ingest.targets import IngestOptions, Target
from citewise.library import OpenLibrary
from citewise.model.access import Access, Scope
from citewise.model.chunk import ChunkCounts
from citewise.model.document import Item, ParsedDocument, SourceRef
from citewise.model.filters import conditions_of
from citewise.model.ranking import Passage
from citewise.model.report import IngestReport, Reindexed
from citewise.ports.sources import Format
from citewise.text.urls import Addresses
from citewise.wiring import stored_library
from tests.fakes.counters import HashEmbedder
from tests.fakes.formats import BOOKS, THREAD, BookParser, MemorySource, ThreadChunker, ThreadParser, books, thread
from tests.pipelines.harness import Shelf

TIDES = {"name": "tides", "title": "Tides", "pages": ["Tides rise twice a day.", "A gauge measures the level."]}
PUMPS = {"name": "pumps", "title": "Pumps", "pages": ["Pumps start when the sump is full."]}
TALK = thread(
    "ops", ("ann", 1000.0, "The valve is stuck."), ("bob", 1060.0, "Oil it."), ("ann", 9000.0, "It turns now.")
)
CONTENT = {
    "shelf.books": (BOOKS, books(TIDES, PUMPS)),
    "talk.json": (THREAD, TALK),
    "readme.md": ("text/markdown", b"# Read me\n\nWords.\n"),
}
TARGET = Target(Scope(), SourceRef("archive", "memory", kind="memory"))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def prepare_of(library: OpenLibrary) -> Prepare:
    """The library's own formats and two more: a row of the table for each."""
    more = (
        Format(BOOKS, (".books",), BookParser(), library.stored.formats[0].chunker),
        Format(THREAD, (".json",), ThreadParser(), ThreadChunker()),
    )
    return replace(library.prepare, formats=(*library.prepare.formats, *more))


def ingest(shelf: Shelf, content: Mapping[str, tuple[str, bytes | None]], target: Target = TARGET) -> IngestReport:
    with shelf.opened() as library:
        *_, report = replace(library.ingestion, prepare=prepare_of(library))(MemorySource(content), target)
    assert isinstance(report, IngestReport)
    return report


def found(shelf: Shelf, question: str) -> Passage:
    return shelf.search(question).findings[0].passage


def test_an_item_may_hold_several_documents(shelf: Shelf) -> None:
    report = ingest(shelf, CONTENT)
    assert (report.seen, report.ingested, report.chunks.created) == (3, 3, 5)
    assert list(shelf.snapshot()) == [
        "archive/readme.md",
        "archive/shelf.books/pumps",
        "archive/shelf.books/tides",
        "archive/talk.json",
    ]


def test_a_page_is_found_and_cited_by_its_number(shelf: Shelf) -> None:
    ingest(shelf, CONTENT)
    passage = found(shelf, "gauge measures the level")
    assert (passage.document, passage.title, passage.source_uri) == (
        "archive/shelf.books/tides",
        "Tides",
        "memory:shelf.books",
    )
    assert (passage.page, passage.lines) == (1, None)
    citation = _citation(1, [passage], Addresses(), best=passage, score=1.0)
    assert (citation.page, citation.lines, citation.excerpt.split()[0]) == (1, None, "Tides")


def test_a_thread_is_found_with_author_channel_and_time(shelf: Shelf) -> None:
    ingest(shelf, CONTENT)
    passage = found(shelf, "valve stuck oil")
    assert passage.text == "ann: The valve is stuck.\nbob: Oil it."
    assert (passage.location.author, passage.location.channel, passage.location.sent_at) == ("ann", "ops", 1000.0)
    assert (passage.location.first, passage.location.last) == (1, 2)
    assert (passage.page, passage.lines, passage.is_conversation) == (None, None, True)
    assert [passage.text[block.start : block.end] for block in passage.blocks] == [
        "ann: The valve is stuck.",
        "bob: Oil it.",
    ]
    assert _citation(1, [passage], Addresses(), best=passage, score=1.0).lines is None
    for filters, texts in (
        (["author=bob"], 0),
        (["channel=ops", "timestamp>=1970-01-01T02:00"], 1),
        (["author=ann"], 2),
    ):
        assert len(shelf.search("valve", conditions=conditions_of(filters)).findings) == texts


def test_ingesting_twice_changes_nothing(shelf: Shelf) -> None:
    ingest(shelf, CONTENT)
    report = ingest(shelf, CONTENT)
    assert (report.unchanged, report.ingested, report.removed, report.chunks.unchanged) == (3, 0, 0, 5)


def test_a_document_that_its_item_does_not_hold_any_more_is_removed(shelf: Shelf) -> None:
    ingest(shelf, CONTENT)
    report = ingest(shelf, {**CONTENT, "shelf.books": (BOOKS, books(PUMPS))})
    assert (report.ingested, report.unchanged, report.removed) == (1, 2, 1)
    assert "archive/shelf.books/tides" not in shelf.snapshot()


def test_an_item_that_is_gone_takes_all_its_documents_along(shelf: Shelf) -> None:
    ingest(shelf, CONTENT)
    report = ingest(shelf, {"talk.json": (THREAD, TALK)})
    assert (report.unchanged, report.removed, report.kept) == (1, 0, 3)
    report = ingest(shelf, {"talk.json": (THREAD, TALK)}, replace(TARGET, prune=True))
    assert (report.unchanged, report.removed, report.kept) == (1, 3, 0)


@pytest.mark.parametrize("broken", [(BOOKS, None), (BOOKS, b"something else"), ("image/png", b"\x89PNG")])
def test_an_item_that_cannot_be_read_keeps_its_documents(shelf: Shelf, broken: tuple[str, bytes | None]) -> None:
    ingest(shelf, CONTENT)
    report = ingest(shelf, {**CONTENT, "shelf.books": broken})
    assert (report.unchanged, report.removed, len(report.failed) + len(report.skipped)) == (2, 0, 1)
    assert "archive/shelf.books/tides" in shelf.snapshot()


def test_no_document_of_an_item_is_stored_if_one_cannot_be_embedded(shelf: Shelf) -> None:
    shelf.embedder = HashEmbedder(poison="sump")
    report = ingest(shelf, CONTENT)
    assert [entry.path for entry in report.failed] == ["shelf.books"]
    assert list(shelf.snapshot()) == ["archive/readme.md", "archive/talk.json"]


def test_secrets_in_binary_items_are_masked(shelf: Shelf) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    report = ingest(
        shelf, {"keys.books": (BOOKS, books({"name": "k", "title": "Keys", "pages": [f"Use {key} here."]}))}
    )
    assert sum(report.masked.values()) == 1
    assert key not in str(shelf.snapshot())


class _NoParser:
    """Fails if anything is parsed."""

    version = "books-1"

    def parse(self, data: bytes, item: Item) -> Sequence[ParsedDocument]:
        raise AssertionError("re-embedding needs no parser")


def test_stored_documents_are_cut_and_embedded_again_without_a_parser(shelf: Shelf, tmp_path: Path) -> None:
    ingest(shelf, CONTENT)
    before = shelf.snapshot()
    other = Shelf(tmp_path / "other")
    with shelf.opened() as old, other.opened() as new:
        prepare = prepare_of(new)
        blind = replace(prepare, formats=tuple(replace(each, parser=_NoParser()) for each in prepare.formats))
        *_, last = replace(new.ingestion, prepare=blind).reembed(old.catalog)
    assert last == Reindexed(chunks=5, is_reembedded=True)  # the old vectors are reused
    assert other.snapshot() == before
    assert found(other, "valve stuck oil").location.author == "ann"
    assert ingest(other, CONTENT).unchanged == 3


def test_a_new_kind_of_document_is_no_reason_to_refuse_a_library_but_another_chunker_is(shelf: Shelf) -> None:
    shelf.ingest()
    stored = stored_library(shelf.settings, shelf.embedding)
    (markdown,) = stored.formats
    threads = Format(THREAD, (".json",), ThreadParser(), ThreadChunker())
    with replace(stored, formats=(markdown, threads)).writing() as library:
        assert library.catalog.facts() == library.stored.facts
    changed = replace(stored, formats=(replace(markdown, chunker=ThreadChunker()),))
    with (
        pytest.raises(Misconfigured, match=f"chunker of {markdown.media_type} is .*, the settings say thread-1"),
        changed.reading(),
    ):
        pass


def test_a_source_of_your_own_is_ingested_once_below_its_name(shelf: Shelf) -> None:
    source = MemorySource({"readme.md": CONTENT["readme.md"]})
    with shelf.library() as library:
        assert library.ingest_source(source, name="notes").ingested == 1
        again = IngestReport(unchanged=1, chunks=ChunkCounts(unchanged=1))
        assert list(library.ingest_source_events(source, name="notes")) == [again]
        assert [document.path for document in library.as_owner().documents()] == ["notes/readme.md"]


def test_a_source_of_your_own_has_the_options_of_a_folder_and_remembers_its_rule(shelf: Shelf) -> None:
    source = MemorySource({"readme.md": CONTENT["readme.md"]})
    with shelf.library() as library:
        library.ingest_source(source, name="notes")
        given: tuple[SourceOptions, ...] = (
            {"name": "notes", "access": "group:ops"},
            {"name": "notes", "corpus_type": "DOC_NOTE"},
        )
        for options in given:
            assert library.ingest_source(source, **options).ingested == 1
        document = library.as_owner().document("notes/readme.md")
    assert document is not None
    assert (document.access, document.corpus_type) == (Access.of(["group:ops"]), "DOC_NOTE")


@pytest.mark.parametrize("name", ["", ".", "../x", "a b", "docs"])
def test_a_source_of_your_own_needs_a_usable_name_of_its_own(shelf: Shelf, name: str) -> None:
    shelf.write("readme.md", "# Read me\n\nWords.\n")
    shelf.ingest(options=IngestOptions(name="docs"))
    with (
        shelf.library() as library,
        pytest.raises(BadRequest, match="name"),
    ):
        library.ingest_source(MemorySource({"readme.md": CONTENT["readme.md"]}), name=name)


def test_an_item_that_cannot_be_read_fails_in_every_run_and_stops_none(shelf: Shelf) -> None:
    source = MemorySource({"bad.md": ("text/markdown", None), "readme.md": CONTENT["readme.md"]})
    with shelf.library() as library:
        for counts in ((1, 0), (0, 1)):
            last = library.ingest_source(source, name="notes")
            assert ((last.ingested, last.unchanged), [problem.path for problem in last.failed]) == (counts, ["bad.md"])
