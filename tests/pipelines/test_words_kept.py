"""Vectors of words: made with the text's own, kept once, filled in later, and compared in every search."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from citewise import Library
from citewise.errors import Unavailable
from citewise.library import OpenLibrary
from citewise.model.access import Scope
from citewise.model.chunk import WordVectors
from citewise.model.query import BY_WORD
from citewise.model.ranking import DENSE, Finding, SearchResult
from citewise.model.report import Reindexed
from citewise.search.rescore import FAR, FAR_TIMES, NEAR
from citewise.settings import Settings
from citewise.wiring import stored_library
from tests.fakes.counters import HashEmbedder
from tests.pipelines.harness import Shelf
from tests.stores import all_chunks

PAGES = {f"p{n}.md": f"# Page {n}\n\nharbor words number{n}\n" for n in range(6)}
FAR_OFF = "zebra quartz xylophone"  # in no page, and near none as the hash embedder sees it
NEAR_BY = "Page 3 harbor words number3"


@pytest.fixture
def plain(tmp_path: Path) -> Shelf:
    """Ingested before words were kept."""
    return Shelf.holding(tmp_path, PAGES)


@pytest.fixture
def wordy(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES, keeps_words=True)


def words_in(library: OpenLibrary) -> dict[str, WordVectors | None]:
    """By text: what is kept of its words."""
    chunks = all_chunks(library.catalog, Scope())
    kept = library.catalog.word_vectors({chunk.text_digest for chunk in chunks})
    return {chunk.embedded_text: kept.get(chunk.text_digest) for chunk in chunks}


def words_of(shelf: Shelf) -> dict[str, WordVectors | None]:
    with shelf.opened() as library:
        return words_in(library)


def lacks_words(shelf: Shelf) -> bool:
    with shelf.opened() as library:
        return library.lacks_words()


def rebuilt(shelf: Shelf) -> Reindexed:
    shelf.embedder.embedded.clear()
    return shelf.reindex()


def nearest(found: SearchResult) -> float:
    return max(one.candidate.scores[DENSE] for one in found.findings)


# Kept


def test_each_text_is_embedded_once_for_its_vector_and_its_words(wordy: Shelf) -> None:
    assert len(wordy.embedder.embedded) == 6
    kept = words_of(wordy)
    assert len(kept) == 6
    assert all(kept.values())
    assert not lacks_words(wordy)


def test_equal_texts_are_embedded_once_and_share_their_words(wordy: Shelf) -> None:
    wordy.write("copy/p0.md", PAGES["p0.md"])
    wordy.ingest()
    assert wordy.embedder.embedded == []
    assert not lacks_words(wordy)


def test_the_next_ingest_finds_nothing_to_do(wordy: Shelf) -> None:
    assert wordy.ingest().unchanged == 6
    assert wordy.embedder.embedded == []


def test_a_changed_document_gets_the_words_of_what_changed(plain: Shelf) -> None:
    plain.keeps_words = True
    plain.write("p3.md", "# Page 3\n\nharbor words anchor\n")
    plain.ingest()
    assert plain.embedder.embedded == ["Page 3\n\n# Page 3\n\nharbor words anchor"]
    assert [text for text, kept in words_of(plain).items() if kept] == plain.embedder.embedded
    assert lacks_words(plain)


def test_a_text_whose_vector_is_known_and_its_words_are_not_is_embedded_again(plain: Shelf) -> None:
    plain.keeps_words = True
    plain.write("copy/p0.md", PAGES["p0.md"])
    plain.ingest()
    assert len(plain.embedder.embedded) == 1
    assert [text for text, kept in words_of(plain).items() if kept] == plain.embedder.embedded


def test_a_text_that_cannot_be_embedded_leaves_neither_vector_nor_words(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, keeps_words=True)
    shelf.embedder = HashEmbedder(poison="number3")
    for path, text in PAGES.items():
        shelf.write(path, text)
    report = shelf.ingest()
    assert [one.path for one in report.failed] == ["p3.md"]
    assert len(words_of(shelf)) == 5
    assert not lacks_words(shelf)


def test_where_words_are_not_wanted_none_are_kept_or_missed(plain: Shelf) -> None:
    assert set(words_of(plain).values()) == {None}
    assert not lacks_words(plain)
    assert rebuilt(plain) == Reindexed(6)  # the index alone
    assert plain.embedder.embedded == []


def test_the_built_in_model_keeps_none_where_the_settings_say_so(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Tide\n\nThe gauge is read at noon.\n")
    kept: dict[bool, bool] = {}
    for wanted in (True, False):
        settings = Settings(library=tmp_path / str(wanted)).changed(embedding={"word_vectors": wanted})
        with Library(settings=settings) as library:
            library.ingest(tmp_path / "page.md")
        with stored_library(settings).reading() as opened:
            kept[wanted] = all(words_in(opened).values())
    assert kept == {True: True, False: False}


# Filled in


def test_reindex_fills_in_the_words_of_a_library_that_has_none(plain: Shelf) -> None:
    before = plain.snapshot()
    plain.keeps_words = True
    report = rebuilt(plain)
    assert report.is_reembedded
    assert (report.chunks, report.embedded) == (6, 6)
    assert all(words_of(plain).values())
    assert plain.snapshot() == before
    assert len(plain.found("harbor")) == 6
    assert rebuilt(plain) == Reindexed(6)  # nothing is missing now
    assert plain.embedder.embedded == []
    assert plain.ingest().unchanged == 6


def test_reindex_embeds_only_what_lacks_its_words(plain: Shelf) -> None:
    plain.keeps_words = True
    plain.write("p3.md", "# Page 3\n\nharbor words anchor\n")
    plain.ingest()
    kept = words_of(plain)
    report = rebuilt(plain)
    assert report.is_reembedded
    assert report.embedded == 5
    assert sorted(plain.embedder.embedded) == sorted(text for text, words in kept.items() if not words)
    assert all(words_of(plain).values())


def test_the_words_that_are_filled_in_are_those_that_ingestion_would_have_kept(plain: Shelf, tmp_path: Path) -> None:
    plain.keeps_words = True
    rebuilt(plain)
    other = Shelf(tmp_path / "other", keeps_words=True)
    other.ingest(plain.docs)
    assert words_of(plain) == words_of(other)


def test_filling_in_that_was_interrupted_goes_on_from_what_it_has(plain: Shelf) -> None:
    plain.embedder, plain.keeps_words = HashEmbedder(poison="number3"), True
    with pytest.raises(Unavailable, match="run the command again"):
        rebuilt(plain)
    plain.embedder = HashEmbedder()
    assert len(plain.found("harbor")) == 6
    rebuilt(plain)
    assert plain.embedder.embedded == ["Page 3\n\n# Page 3\n\nharbor words number3"]
    assert all(words_of(plain).values())


def test_other_sizes_reuse_the_words_of_texts_that_stay_the_same(wordy: Shelf) -> None:
    before = words_of(wordy)
    wordy.with_settings(chunks={"target_tokens": 70, "floor_tokens": 20, "ceiling_tokens": 90, "overlap_tokens": 10})
    assert rebuilt(wordy).is_reembedded
    assert wordy.embedder.embedded == []
    assert words_of(wordy) == before


def test_words_of_another_model_are_made_anew(wordy: Shelf) -> None:
    wordy.embedder = HashEmbedder(name="hash-2")
    assert rebuilt(wordy).is_reembedded
    assert len(wordy.embedder.embedded) == 6
    assert not lacks_words(wordy)


# Compared


def test_far_and_near_questions_are_compared_word_by_word(wordy: Shelf) -> None:
    far, near = wordy.search(FAR_OFF), wordy.search(NEAR_BY)
    assert nearest(far) < FAR < NEAR <= nearest(near)
    assert all({BY_WORD, "late"} <= one.candidate.scores.keys() for one in (*far.findings, *near.findings))
    assert not any(one.startswith("late") for one in (*far.notes, *near.notes))


@pytest.mark.parametrize("question", [FAR_OFF, NEAR_BY])
def test_a_library_without_words_says_so(plain: Shelf, question: str) -> None:
    plain.keeps_words = True
    found = plain.search(question)
    (note,) = [one for one in found.notes if one.startswith("late")]
    assert "6 of 6 passages" in note
    assert found.degraded == ()


def test_a_library_that_wants_no_words_says_nothing_of_them(plain: Shelf) -> None:
    found = plain.search(FAR_OFF)
    assert not any(one.startswith("late") for one in found.notes)
    assert not any(BY_WORD in one.candidate.scores for one in found.findings)


def test_without_the_stage_the_order_is_the_one_before_it(wordy: Shelf) -> None:
    whole = wordy.search(FAR_OFF)
    wordy.with_settings(search={"without": ("late",)})
    without = wordy.search(FAR_OFF)
    assert "late" not in without.timings_ms
    assert without.findings == searched(wordy, without=(), late=0.0) != whole.findings
    assert not any("late" in one.candidate.scores for one in without.findings)


def test_the_weight_is_the_one_that_is_set_and_more_for_a_far_question(wordy: Shelf) -> None:
    before = {one.candidate.id: one.score for one in searched(wordy, late=0.0)}
    for late in (0.7, 3.0):
        weighed = {one.candidate.id: one.score for one in searched(wordy, late=late)}
        weight = FAR_TIMES * late
        shares = [(weighed[id_] * (1 + weight) - score) / weight for id_, score in before.items()]
        assert (min(shares), max(shares)) == pytest.approx((0.0, 1.0), abs=1e-6)


def searched(shelf: Shelf, **changes: object) -> tuple[Finding, ...]:
    shelf.with_settings(search=changes)
    return shelf.search(FAR_OFF).findings


def test_words_that_were_damaged_on_disk_count_as_missing_until_they_are_made_anew(wordy: Shelf) -> None:
    (chunk,) = wordy.chunks_of("p0.md")
    with closing(sqlite3.connect(wordy.generation / "catalog.db", isolation_level=None)) as connection:
        number = bytes.fromhex(chunk.text_digest)
        connection.execute("UPDATE word_vectors SET vectors = x'00' WHERE text_digest = ?", (number,))
    found = wordy.search(FAR_OFF)
    assert len(found.findings) == 6
    assert [note for note in found.notes if note.startswith("late: 1 of 6 passages have no vectors of their words")]
    wordy.reindex()
    assert not [note for note in wordy.search(FAR_OFF).notes if note.startswith("late: ")]


def test_a_far_question_has_the_same_first_hits_whatever_the_top_k(tmp_path: Path) -> None:
    words = ["harbor", "pilot", "buoy", "chart", "anchor", "tide", "rope", "lamp"]
    texts = [" ".join(f"{words[(n + k) % 8]}{(n * k) % 7}" for k in range(9)) for n in range(60)]
    pages = {f"p{n}.md": f"# {words[n % 8].title()} {n}\n\n{text}\n" for n, text in enumerate(texts)}
    shelf = Shelf.holding(tmp_path, pages, keeps_words=True)
    question = "which lamp tells a pilot about rope and anchor chart"
    few, many = shelf.search(question, top_k=5), shelf.search(question, top_k=30)
    assert any("late" in one.candidate.scores for one in few.findings)
    assert [(one.candidate.id, one.score) for one in few.findings] == [
        (one.candidate.id, one.score) for one in many.findings[:5]
    ]
