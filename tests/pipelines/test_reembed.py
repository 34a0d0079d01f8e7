"""Another model or other chunk sizes: the library is rebuilt beside itself."""

from pathlib import Path

import pytest

from citewise.errors import Misconfigured, Unavailable
from citewise.ingest.targets import IngestOptions
from citewise.model.access import Scope
from citewise.model.filters import Where
from citewise.model.report import Reindexed
from citewise.ports.models import Embedding
from citewise.wiring import stored_library
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.pipelines.harness import Shelf

EVERYTHING = Where(Scope(), None)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    for n in range(6):
        shelf.write(f"p{n}.md", f"# Page {n}\n\nharbor words number{n}\n")
    shelf.ingest(options=IngestOptions(access=("group:ops",), corpus_type="DOC_RUNBOOK"))
    return shelf


def reembedded(shelf: Shelf, embedder: HashEmbedder) -> Reindexed:
    shelf.embedder = embedder
    *_, done = stored_library(shelf.settings, shelf.embedding).reembed()
    return done


def generations(shelf: Shelf) -> list[str]:
    return sorted(folder.name for folder in shelf.settings.library.glob("gen-*"))


def test_another_model_embeds_every_text_and_the_next_ingest_finds_nothing_to_do(shelf: Shelf) -> None:
    before = shelf.snapshot()
    assert reembedded(shelf, HashEmbedder(name="hash-2")) == Reindexed(6, 6, is_reembedded=True)
    assert len(shelf.embedder.embedded) == 6
    assert generations(shelf) == ["gen-2"]
    assert shelf.snapshot() == before
    report = shelf.ingest(options=IngestOptions(access=("group:ops",), corpus_type="DOC_RUNBOOK"))
    assert (report.unchanged, report.embedded) == (6, 0)
    assert len(shelf.found("harbor")) == 6


def test_other_sizes_reuse_the_vectors_of_texts_that_stay_the_same(shelf: Shelf) -> None:
    shelf.with_settings(chunks={"target_tokens": 70, "floor_tokens": 20, "ceiling_tokens": 90, "overlap_tokens": 10})
    with pytest.raises(Misconfigured, match="chunker"):
        shelf.ingest()
    reembedded(shelf, HashEmbedder())
    assert shelf.embedder.embedded == []


def test_the_old_library_answers_until_the_new_one_is_whole(shelf: Shelf) -> None:
    old = Embedding(HashEmbedder(), WordCounter())
    new = Embedding(HashEmbedder(name="hash-2"), WordCounter())

    def look() -> None:
        with stored_library(shelf.settings, old).reading() as library:
            assert len(library.vectors.search(old.embedder.query("harbor"), where=EVERYTHING, limit=9)) == 6

    with stored_library(shelf.settings, old).reading() as open_before:
        for _ in stored_library(shelf.settings, new).reembed():
            look()
        assert len(open_before.vectors.search(old.embedder.query("harbor"), where=EVERYTHING, limit=9)) == 6
    with pytest.raises(Misconfigured), stored_library(shelf.settings, old).reading():
        pass


def test_an_interrupted_run_leaves_the_library_as_it_was_and_is_taken_up_again(shelf: Shelf) -> None:
    with pytest.raises(Unavailable, match="run the command again"):
        reembedded(shelf, HashEmbedder(name="hash-2", poison="number3"))
    assert generations(shelf) == ["gen-1", "gen-2"]
    shelf.embedder = HashEmbedder()
    assert len(shelf.found("harbor")) == 6
    (shelf.docs / "p0.md").unlink()
    shelf.ingest(options=IngestOptions(access=("group:ops",), corpus_type="DOC_RUNBOOK"))
    reembedded(shelf, HashEmbedder(name="hash-2"))
    assert shelf.embedder.embedded == ["Page 3\n\n# Page 3\n\nharbor words number3"]
    assert sorted(shelf.snapshot()) == [f"p{n}.md" for n in range(1, 6)]
    assert len(shelf.found("harbor")) == 5


def test_what_was_left_by_a_run_for_another_model_is_not_taken_up(shelf: Shelf) -> None:
    with pytest.raises(Unavailable):
        reembedded(shelf, HashEmbedder(name="hash-2", poison="number3"))
    reembedded(shelf, HashEmbedder(name="hash-3"))
    assert len(shelf.embedder.embedded) == 6
    assert len(shelf.found("harbor")) == 6


def test_a_library_without_documents_is_built_again_too(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.write("empty.md", "gone soon")
    shelf.ingest()
    (shelf.docs / "empty.md").unlink()
    shelf.ingest(options=IngestOptions(prune=True))
    assert reembedded(shelf, HashEmbedder(name="hash-2")) == Reindexed(is_reembedded=True)
