"""What every storage of a library promises."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewise.adapters.files import bytes_below
from citewise.errors import CitewiseError, Locked, PathNotFound
from citewise.model.chunk import EmbeddingModel
from citewise.ports.storage import Generation, Storage
from citewise.wiring import LocalStorage
from tests.builders import DIMENSIONS, SCOPE, a_write
from tests.contracts.test_catalog import put
from tests.fakes.memory_storage import MemoryStorage

MODEL = EmbeddingModel("m", DIMENSIONS, 256)


@pytest.fixture(params=["folder", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return MemoryStorage() if request.param == "memory" else LocalStorage(tmp_path / "library")


def build(storage: Storage, generation: Generation, *paths: str) -> None:
    """Fill a generation and make it the one that serves."""
    with storage.open(generation, MODEL, may_create=True) as stores:
        for path in paths:
            put(stores.catalog, a_write(path, [f"Of {path}."]))
    storage.activate(generation)


def paths(storage: Storage, generation: Generation | None = None) -> tuple[str, ...]:
    with storage.catalog(generation or storage.current()) as catalog:
        return catalog.paths(SCOPE)


@pytest.fixture
def library(storage: Storage) -> Storage:
    """One that serves its first generation."""
    with storage.writing():
        build(storage, storage.build(), "a.md")
    return storage


def test_there_is_no_library_until_a_generation_is_activated(storage: Storage) -> None:
    with storage.writing():
        generation = storage.build()
        with storage.open(generation, MODEL, may_create=True):
            pass
        assert storage.mark() is None
        with pytest.raises(PathNotFound):
            storage.current()
        storage.activate(generation)
    assert storage.mark() is not None
    assert storage.current() == generation


def test_what_was_written_is_there_when_it_is_opened_again(library: Storage) -> None:
    assert paths(library) == ("a.md",)
    with library.open(library.current(), MODEL) as stores:
        assert stores.catalog.paths(SCOPE) == ("a.md",)
        facts = library.indexes(library.current())
        assert (stores.vectors.name, stores.texts.name) == (facts["vectors"].name, facts["texts"].name)
        assert stores.vectors.size_bytes() == facts["vectors"].size_bytes


def test_a_generation_that_is_not_there_is_not_created_by_a_reader(library: Storage) -> None:
    with library.writing():
        following = library.build()
    with pytest.raises(CitewiseError), library.open(following, MODEL):
        pass


def test_the_next_generation_is_built_beside_the_one_that_serves(library: Storage) -> None:
    mark = library.mark()
    with library.writing():
        following = library.build()
        with library.open(following, MODEL, may_create=True) as stores:
            put(stores.catalog, a_write("b.md", ["new"]))
        assert (library.mark(), paths(library)) == (mark, ("a.md",))
        library.activate(following)
    assert library.mark() != mark
    assert paths(library) == ("b.md",)


def test_what_an_interrupted_build_left_stays_unless_it_must_be_empty(library: Storage) -> None:
    with library.writing():
        with library.open(library.build(), MODEL, may_create=True) as stores:
            put(stores.catalog, a_write("half.md", ["half"]))
        with library.open(library.build(), MODEL, may_create=True) as again:
            assert again.catalog.paths(SCOPE) == ("half.md",)
        with library.open(library.build(is_empty=True), MODEL, may_create=True) as empty:
            assert empty.catalog.paths(SCOPE) == ()


def test_a_reader_goes_on_in_a_generation_that_was_replaced(library: Storage) -> None:
    with library.open(library.current(), MODEL) as old:
        with library.writing():
            build(library, library.build(), "b.md")
        assert old.catalog.paths(SCOPE) == ("a.md",)
    assert paths(library) == ("b.md",)


def test_only_one_may_write(library: Storage) -> None:
    def is_locked() -> bool:
        try:
            with library.writing():
                return False
        except Locked:
            return True

    with ThreadPoolExecutor(1) as other:
        with library.writing():
            assert other.submit(is_locked).result()
        assert not other.submit(is_locked).result()


def test_the_lock_ends_with_an_error(library: Storage) -> None:
    with pytest.raises(ZeroDivisionError), library.writing():
        _ = 1 // 0
    with library.writing():
        pass


def test_a_catalog_is_opened_without_a_model(library: Storage) -> None:
    with library.catalog(library.current()) as catalog:
        catalog.check()
        assert catalog.count(SCOPE)[0] == 1


def test_a_folder_that_is_removed_while_it_is_measured_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "manifest").write_text("12345")
    scan = os.scandir

    def removed_first(folder: str | Path) -> object:
        if Path(folder).name == "1":
            Path(folder).rmdir()
        return scan(folder)

    monkeypatch.setattr(os, "scandir", removed_first)
    assert bytes_below(tmp_path) == 5
