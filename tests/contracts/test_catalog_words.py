"""What every catalog promises of the vectors of words."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.errors import Unavailable
from citewise.model.chunk import WordVectors
from citewise.model.ids import Digest, digest
from citewise.ports.catalog import DocumentWrite
from tests.builders import SCOPE, a_write, vectors_of
from tests.contracts.test_catalog import OTHER, put


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    opened = SqliteCatalog(Connections(tmp_path / "catalog.db", may_create=True), model_name="m")
    yield opened
    opened.close()


def words_of(write: DocumentWrite) -> dict[Digest, WordVectors]:
    return {chunk.text_digest: WordVectors(f"words of {chunk.piece.text}".encode()) for chunk in write.chunks}


def put_with_words(catalog: SqliteCatalog, *writes: DocumentWrite) -> None:
    for write in writes:
        catalog.keep(vectors_of(write), words_of(write))
    catalog.store(writes)


def test_vectors_of_words_are_remembered_by_text_even_after_removal(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", ["one", "two"])
    put_with_words(catalog, write)
    catalog.remove(SCOPE, ["a.md"])
    keys = [chunk.text_digest for chunk in write.chunks]
    assert catalog.word_vectors(keys) == words_of(write)
    assert catalog.word_vectors([*keys[:1], digest("never seen")]) == {keys[0]: WordVectors(b"words of one")}
    assert catalog.word_vectors([]) == {}
    assert catalog.vectors(keys) == vectors_of(write)


def test_many_vectors_of_words_come_back_from_one_call(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", [f"text {at}" for at in range(1_234)])
    put_with_words(catalog, write)
    assert catalog.word_vectors([chunk.text_digest for chunk in write.chunks]) == words_of(write)


def test_what_was_kept_of_a_text_first_stays_and_its_words_can_come_later(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", ["one"])
    (key,) = words_of(write)
    put(catalog, write)
    assert catalog.word_vectors([key]) == {}
    catalog.keep(vectors_of(write), words_of(write))
    catalog.keep({}, {key: WordVectors(b"others")})
    assert catalog.word_vectors([key]) == words_of(write)
    assert catalog.vectors([key]) == vectors_of(write)


def test_vectors_of_words_of_another_model_are_not_found(catalog: SqliteCatalog, tmp_path: Path) -> None:
    write = a_write("a.md", ["one"])
    (key,) = words_of(write)
    put_with_words(catalog, write)
    other = SqliteCatalog(Connections(tmp_path / "catalog.db"), model_name="n")
    assert other.word_vectors([key]) == {}
    assert other.lacks_word_vectors()
    other.keep({}, {key: WordVectors(b"of n")})
    assert other.word_vectors([key]) == {key: b"of n"}
    other.close()
    assert catalog.word_vectors([key]) == words_of(write)


def test_vectors_of_a_text_and_its_words_are_kept_together_or_not_at_all(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", ["one"])
    (key,) = words_of(write)
    with pytest.raises(sqlite3.Error):
        catalog.keep(vectors_of(write), {key: cast("WordVectors", object())})
    assert catalog.vectors([key]) == {}
    assert catalog.word_vectors([key]) == {}


def test_a_disk_too_full_for_the_words_keeps_no_vectors_either(catalog: SqliteCatalog) -> None:
    put_with_words(catalog, a_write("a.md", ["one"]))
    with catalog._connections.reading("limit") as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    write = a_write("b.md", ["two"])
    (key,) = words_of(write)
    with pytest.raises(Unavailable, match="make room on the disk"):
        catalog.keep(vectors_of(write), {key: WordVectors(bytes(100_000))})
    assert catalog.vectors([key]) == {}


def test_a_catalog_knows_whether_a_chunk_lacks_its_words(catalog: SqliteCatalog) -> None:
    assert not catalog.lacks_word_vectors()  # there is no chunk
    put_with_words(catalog, a_write("a.md", ["one", "two"]))
    assert not catalog.lacks_word_vectors()
    put(catalog, a_write("b.md", ["two", "three"], scope=OTHER))
    assert catalog.lacks_word_vectors()
    catalog.remove(OTHER, ["b.md"])
    assert not catalog.lacks_word_vectors()  # what is no chunk's text any more is nobody's loss
    put(catalog, a_write("b.md", ["two"]))
    assert not catalog.lacks_word_vectors()  # an equal text has them


def test_compaction_removes_the_words_of_texts_that_are_gone(catalog: SqliteCatalog) -> None:
    gone, kept = a_write("a.md", ["one", "both"]), a_write("b.md", ["both", "two"])
    put_with_words(catalog, gone, kept)
    catalog.remove(SCOPE, ["a.md"])
    assert catalog.compact()
    keys = [chunk.text_digest for write in (gone, kept) for chunk in write.chunks]
    assert catalog.word_vectors(keys) == words_of(kept)
    assert catalog.vectors(keys) == vectors_of(kept)
