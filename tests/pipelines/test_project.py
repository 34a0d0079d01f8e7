"""The index follows the catalog, whatever happens to it."""

import shutil
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.library import OpenLibrary
from citewise.model.access import Scope
from citewise.ports.catalog import ProjectionState
from citewise.ports.indexes import KeepsPosition
from tests.pipelines.harness import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, {f"p{n}.md": f"# Page {n}\n\nharbor words number{n}\n" for n in range(5)})


def index_files(shelf: Shelf, pattern: str) -> list[Path]:
    return sorted((shelf.settings.library / "gen-1" / "index").rglob(pattern))


def test_a_deleted_index_folder_is_rebuilt_without_embedding(shelf: Shelf) -> None:
    shutil.rmtree(shelf.settings.library / "gen-1" / "index")
    shelf.embedder.embedded.clear()
    assert len(shelf.found("harbor")) == 5
    assert shelf.embedder.embedded == []


@pytest.mark.parametrize("pattern", ["*.rows", "manifest", "*.idx", "*.term", "*.fast", "meta.json"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
def test_a_damaged_index_file_is_noticed_and_rebuilt(shelf: Shelf, pattern: str, damage: str) -> None:
    file = index_files(shelf, pattern)[0]
    data = bytearray(file.read_bytes())
    file.unlink()  # and written anew: a file that is still mapped by this process must not shrink under it
    if damage == "truncate":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(data)
    shelf.embedder.embedded.clear()
    assert len(shelf.found("harbor")) == 5
    assert shelf.embedder.embedded == []


def test_an_index_that_fell_behind_catches_up_when_the_library_is_opened(shelf: Shelf) -> None:
    manifest = index_files(shelf, "manifest")[0].parent
    old = shelf.settings.library.parent / "old-index"
    shutil.copytree(manifest, old)
    shelf.write("p5.md", "# Page 5\n\nharbor words\n")
    (shelf.docs / "p0.md").unlink()
    shelf.ingest()
    shutil.rmtree(manifest)
    shutil.copytree(old, manifest)
    with shelf.opened() as library:
        assert not library.project.is_behind(Scope())
    assert len(shelf.found("harbor")) == 5


def test_a_deletion_file_that_was_never_committed_is_no_damage(shelf: Shelf) -> None:
    segment = index_files(shelf, "*.idx")[0]
    segment.with_suffix(".999.del").write_bytes(b"torn")
    with shelf.opened() as library:
        assert isinstance(library.texts, KeepsPosition)
        assert library.texts.state(Scope()) is not None
        assert not library.needs_healing()


def test_another_analyzer_makes_the_index_anew_without_embedding(shelf: Shelf) -> None:
    with shelf.opened() as library:
        facts = library.catalog.facts()
        assert facts is not None
        library.catalog.record_facts(replace(facts, analyzer="english-0"))
        assert library.needs_healing()
    shelf.embedder.embedded.clear()
    with shelf.opened() as library:
        assert not library.needs_healing()
    assert shelf.embedder.embedded == []
    assert len(shelf.found("harbor")) == 5


def test_rebuilding_gives_the_same_index(shelf: Shelf) -> None:
    before = shelf.found("harbor")
    with shelf.opened() as library:
        assert sum(library.project.rebuild(Scope())) == 5
    assert shelf.found("harbor") == before


# The catalog records how far each index has come, and so does each index: what disagrees is noticed


def states(library: OpenLibrary) -> dict[str, ProjectionState | None]:
    return {index.name: library.catalog.projection(index.name, Scope()) for index in library.project.indexes}


def test_the_catalog_records_where_each_index_stands(shelf: Shelf) -> None:
    with shelf.opened() as library:
        last = library.catalog.last_position(Scope())
        assert states(library) == {"vectors": ProjectionState(1, last), "texts": ProjectionState(1, last)}
        assert sum(library.project.rebuild(Scope())) == 5
        assert states(library) == {"vectors": ProjectionState(2, last), "texts": ProjectionState(2, last)}


def test_only_the_index_that_is_lost_is_rebuilt(shelf: Shelf) -> None:
    shutil.rmtree(shelf.settings.library / "gen-1" / "index" / "texts")
    with shelf.opened() as library:
        generations = {name: state and state.generation for name, state in states(library).items()}
    assert generations == {"vectors": 1, "texts": 2}
    assert len(shelf.found("harbor")) == 5


def test_an_index_of_mostly_deleted_texts_is_rebuilt_by_the_ingestion_that_deleted_them(shelf: Shelf) -> None:
    for n in range(4):
        (shelf.docs / f"p{n}.md").unlink()
        shelf.ingest()
    with shelf.opened() as library:
        vectors, texts = states(library).values()
        assert vectors == ProjectionState(1, library.catalog.last_position(Scope()))
        assert texts is not None
        assert texts.generation > 1
    assert len(shelf.found("harbor")) == 1


@pytest.mark.parametrize("older", ["index", "catalog.db"])
def test_an_index_and_a_catalog_of_two_backups_are_brought_together(shelf: Shelf, older: str) -> None:
    generation = shelf.settings.library / "gen-1"
    backup = shelf.settings.library.parent / "backup"
    shutil.copytree(generation, backup)
    with shelf.opened() as library:
        deque(library.project.rebuild(Scope()), maxlen=0)
    shelf.write("p5.md", "# Page 5\n\nharbor words\n")
    (shelf.docs / "p0.md").unlink()
    shelf.ingest()
    if older == "index":
        shutil.rmtree(generation / "index")
        shutil.copytree(backup / "index", generation / "index")
    else:
        for file in generation.glob("catalog.db*"):
            file.unlink()
        for file in backup.glob("catalog.db*"):
            shutil.copy(file, generation / file.name)
    with shelf.opened() as library:
        assert not library.needs_healing()
    known = {text.split()[0] for texts in shelf.snapshot().values() for text in texts}
    assert shelf.found("harbor") == known


def test_a_rebuild_that_is_interrupted_leaves_the_active_index_and_is_done_again(shelf: Shelf) -> None:
    with shelf.opened() as library:
        rebuild = library.project.rebuild(Scope())
        next(rebuild)  # something was written, nothing activated
        rebuild.close()  # type: ignore[attr-defined]
        assert not library.project.is_behind(Scope())
    (shelf.docs / "p0.md").unlink()
    shelf.ingest()
    with shelf.opened() as library:
        assert sum(library.project.rebuild(Scope())) == 4
    assert len(shelf.found("harbor")) == 4
