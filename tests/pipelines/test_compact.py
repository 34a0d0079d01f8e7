"""Deleted is deleted: after compaction no file of the library holds a trace of it."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import tantivy

from citewise import maintenance
from citewise.adapters.files import bytes_below
from citewise.adapters.memory.query_log import LINGER_SECONDS, QueuedLog
from citewise.errors import BadRequest
from citewise.model.chunk import TermField, Vector, WordVectors
from citewise.model.ids import Digest
from citewise.text.analysis import terms
from citewise.wiring import LOG_FILE, PAGES_FILE
from tests.pipelines.harness import Shelf

SECRET = "zanzibarium"  # in no other document
PAGES = {
    "kept.md": "# Kept\n\nThe harbor opens at dawn.\n",
    "secret.md": f"# Secret\n\nThe {SECRET} lies under the old pier.\n",
}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES)


@pytest.fixture
def wordy(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES, keeps_words=True)


def holding(folder: Path, needle: bytes) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and needle in file.read_bytes()]


def vectors_of(shelf: Shelf, path: str) -> tuple[dict[Digest, Vector], dict[Digest, WordVectors]]:
    """Those of its texts, and those of their words."""
    texts = [chunk.text_digest for chunk in shelf.chunks_of(path)]
    with shelf.opened() as library:
        return dict(library.catalog.vectors(texts)), dict(library.catalog.word_vectors(texts))


def word_vectors_of(shelf: Shelf, path: str) -> list[WordVectors]:
    return list(vectors_of(shelf, path)[1].values())


def terms_of(shelf: Shelf, path: str) -> dict[TermField, set[str]]:
    found = terms((shelf.docs / path).read_text())
    return {"words": set(found.words), "code": set(found.code)}


def in_index(shelf: Shelf, terms: dict[TermField, set[str]]) -> set[str]:
    """Those that its files have as terms; tantivy counts what is deleted until it is merged away."""
    folders = shelf.settings.library.glob("gen-*/index/texts/*/*/[0-9]*")
    searchers = [tantivy.Index.open(str(folder)).searcher() for folder in folders]
    assert searchers
    return {
        term for field, each in terms.items() for term in each if any(one.doc_freq(field, term) for one in searchers)
    }


def test_where_there_is_no_library_none_is_made(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    with pytest.raises(BadRequest, match="there is no library at"):
        shelf.compact()
    assert not shelf.settings.library.exists()


def test_what_was_deleted_is_in_no_file_after_compaction(shelf: Shelf) -> None:
    (vector,) = vectors_of(shelf, "secret.md")[0].values()
    assert holding(shelf.settings.library, SECRET.encode())
    assert holding(shelf.settings.library, vector)
    (shelf.docs / "secret.md").unlink()
    shelf.ingest()
    assert shelf.found(SECRET) == set()
    assert shelf.compact().is_complete
    assert holding(shelf.settings.library, SECRET.encode()) == []
    assert holding(shelf.settings.library, vector) == []


def test_no_vector_of_a_word_of_what_was_deleted_is_in_any_file_after_compaction(wordy: Shelf) -> None:
    ((number, gone),), (kept,) = vectors_of(wordy, "secret.md")[1].items(), word_vectors_of(wordy, "kept.md")
    row = bytes(wordy.embedder.query(SECRET))  # of the one word; they are kept as they are
    assert (gone.count(row), kept.count(row)) == (1, 0)
    assert holding(wordy.settings.library, row)
    (wordy.docs / "secret.md").unlink()
    wordy.ingest()
    assert wordy.compact().is_complete
    assert [holding(wordy.settings.library, form) for form in (row, bytes.fromhex(number))] == [[], []]
    assert word_vectors_of(wordy, "kept.md") == [kept]


def test_vectors_of_words_that_are_no_longer_wanted_give_their_room_back_and_can_be_made_again(wordy: Shelf) -> None:
    (kept,) = word_vectors_of(wordy, "kept.md")
    wordy.keeps_words = False
    assert wordy.compact().is_complete
    assert word_vectors_of(wordy, "kept.md") == []
    assert holding(wordy.settings.library, kept[:64]) == []
    assert wordy.found("harbor")
    wordy.keeps_words = True
    wordy.reindex()
    assert word_vectors_of(wordy, "kept.md") == [kept]


def test_no_word_that_only_a_deleted_document_had_is_a_term_of_the_index(shelf: Shelf) -> None:
    kept = terms_of(shelf, "kept.md")
    gone = {field: terms - kept[field] for field, terms in terms_of(shelf, "secret.md").items()}
    assert SECRET in in_index(shelf, gone)
    (shelf.docs / "secret.md").unlink()
    shelf.ingest()
    assert shelf.compact().is_complete
    assert in_index(shelf, gone) == set()
    assert in_index(shelf, kept)


def test_what_another_library_has_yet_to_log_names_nothing_that_was_deleted(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As far apart as they are, but longer: on a busy machine all this can take half a second by itself.
    monkeypatch.setattr(
        "citewise.adapters.memory.query_log.QueuedLog", partial(QueuedLog, linger_seconds=LINGER_SECONDS + 1)
    )
    monkeypatch.setattr(maintenance, "LOG_SETTLE_SECONDS", maintenance.LOG_SETTLE_SECONDS + 1)
    (id_,) = (chunk.id for chunk in shelf.chunks_of("secret.md"))
    with shelf.library() as one, shelf.library() as other:
        other.as_owner().search("harbor", limit=1)
        other.as_owner().log(limit=1)  # written by now
        assert (shelf.settings.library / LOG_FILE).is_file()
        assert id_ in {found.passage.chunk_id for found in other.as_owner().search(SECRET).findings}
        (shelf.docs / "secret.md").unlink()
        one.ingest(shelf.docs)
        assert one.compact().is_complete
    with shelf.library() as one:
        assert [entry.row.text for entry in one.as_owner().log(limit=1)] == [SECRET]
    number = bytes.fromhex(id_)
    assert [holding(shelf.settings.library, form) for form in (id_.encode(), number, number[::-1])] == [[], [], []]


def test_where_nothing_is_logged_nothing_is_waited_for(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.maintenance.time.sleep", lambda seconds: pytest.fail("it waits"))
    shelf.with_settings(query_log={"retention_days": 0})
    assert shelf.compact().is_complete


def test_what_was_kept_is_still_found_after_compaction(shelf: Shelf) -> None:
    before = shelf.found("harbor")
    assert shelf.compact().is_complete
    assert shelf.found("harbor") == before != set()
    shelf.ingest()
    assert shelf.embedder.embedded == []


def test_a_reader_at_work_makes_compaction_say_that_it_is_not_whole(shelf: Shelf) -> None:
    file = shelf.generation / "catalog.db"
    with shelf.opened() as library, closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM chunks").fetchone()
        assert not library.catalog.compact()
        connection.execute("ROLLBACK")
        assert library.catalog.compact()


def test_pages_that_another_is_reading_make_compaction_say_that_it_is_not_whole(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.sqlite.rankings.BUSY_SECONDS", 0.01)
    with shelf.library() as library:
        assert library.as_owner().search("harbor", limit=1).next_cursor
    with closing(sqlite3.connect(shelf.settings.library / PAGES_FILE, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM rankings").fetchone()
        assert not shelf.compact().is_complete
    assert shelf.compact().is_complete


def test_a_file_that_vanishes_while_sizes_are_added_up_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pages.db").write_bytes(b"12345")
    seen = [(tmp_path, (), ("pages.db-wal", "pages.db"))]  # the first file is gone by now
    monkeypatch.setattr("os.walk", lambda folder: seen)
    assert bytes_below(tmp_path) == 5
