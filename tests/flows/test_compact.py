"""Deleted is deleted: after compaction no file of the library holds a trace of it."""

from pathlib import Path

import pytest

from citewise.model.ids import Digest
from citewise.model.scope import Scope
from citewise.model.vector import Vector
from citewise.wiring.care import compact
from citewise.wiring.embedding import Embedding
from tests.fakes.counters import WordCounter
from tests.flows.harness import Shelf

SECRET = "zanzibarium"  # in no other document


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path)
    made.write("kept.md", "# Kept\n\nThe harbor opens at dawn.\n")
    made.write("secret.md", f"# Secret\n\nThe {SECRET} lies under the old pier.\n")
    made.ingest()
    return made


def holding(folder: Path, needle: bytes) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and needle in file.read_bytes()]


def vectors_of(shelf: Shelf, path: str) -> dict[Digest, Vector]:
    with shelf.opened() as library:
        return dict(library.catalog.vectors([one.text_digest for one in library.catalog.chunks(Scope(), path)]))


def compacted(shelf: Shelf) -> bool:
    embedding = Embedding(shelf.embedder, WordCounter())
    return compact(shelf.settings, on_progress=lambda done: None, embedding=embedding).is_complete


def test_what_was_deleted_is_in_no_file_after_compaction(shelf: Shelf) -> None:
    (vector,) = vectors_of(shelf, "secret.md").values()
    assert holding(shelf.settings.library, SECRET.encode())
    assert holding(shelf.settings.library, vector)
    (shelf.docs / "secret.md").unlink()
    shelf.ingest()
    assert shelf.found(SECRET) == set()
    assert compacted(shelf)
    assert holding(shelf.settings.library, SECRET.encode()) == []
    assert holding(shelf.settings.library, vector) == []


def test_what_was_kept_is_still_found_after_compaction(shelf: Shelf) -> None:
    before = shelf.found("harbor")
    assert compacted(shelf)
    assert shelf.found("harbor") == before != set()
    shelf.ingest()
    assert shelf.embedder.embedded == []


def test_a_reader_at_work_makes_compaction_say_that_it_is_not_whole(shelf: Shelf) -> None:
    with shelf.opened() as library, library.catalog._connections.reading("hold on") as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM chunks").fetchone()
        assert not library.catalog.compact()
        connection.execute("ROLLBACK")
        assert library.catalog.compact()
