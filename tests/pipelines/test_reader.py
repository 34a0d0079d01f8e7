"""A library that is held open: shared by threads, and never stuck on a generation that is gone."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from citewise import Library
from citewise.errors import BadRequest, Misconfigured
from citewise.library import LibraryReader as Reader
from citewise.library import OpenLibrary, StoredLibrary, _Lease
from citewise.model.answer import Cited, Done, Sources, Token
from citewise.model.ranking import SearchResult
from citewise.ports.storage import Generation
from citewise.settings import Settings
from citewise.wiring import LocalStorage, stored_library
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.scripted_generator import ScriptedGenerator
from tests.pipelines.harness import Shelf, a_question, documents

PAGES = {f"page-{at}.md": f"# Page {at}\n\nBoat number{at} sails at {at} o'clock.\n" for at in range(8)}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES)


def first(result: SearchResult) -> str:
    return documents(result)[0]


def rebuild(shelf: Shelf) -> None:
    """Another generation takes the current one's place, whose files are removed."""
    list(stored_library(shelf.settings, shelf.embedding).reembed())


def found_in(lease: _Lease, question: str) -> str:
    return first(lease.pages.search(a_question(question)))


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The generations that the reader has closed, in order. To open one is to collect garbage."""
    names: list[str] = []

    reading = StoredLibrary.reading

    @contextmanager
    def watched(stored: StoredLibrary, generation: Generation) -> Iterator[OpenLibrary]:
        gc.collect()
        with reading(stored, generation) as library:
            yield library
        names.append(generation)

    monkeypatch.setattr(StoredLibrary, "reading", watched)
    return names


def test_threads_share_one_open_library(shelf: Shelf) -> None:
    with shelf.library() as library, ThreadPoolExecutor(8) as threads:
        asked = [at % 8 for at in range(64)]
        found = list(threads.map(lambda at: first(library.as_owner().search(f"boat number{at}")), asked))
    assert found == [f"page-{at}.md" for at in asked]


def test_async_code_asks_in_a_thread(shelf: Shelf) -> None:
    async def ask_all(library: Library) -> list[SearchResult]:
        search = library.as_owner().search
        return await asyncio.gather(*(asyncio.to_thread(search, f"boat number{at}") for at in range(8)))

    with shelf.library() as library:
        assert [first(found) for found in asyncio.run(ask_all(library))] == list(PAGES)


def test_what_is_ingested_later_is_found_without_opening_again(shelf: Shelf) -> None:
    with shelf.library() as library:
        library.as_owner().search("boat")
        shelf.write("late.md", "# Late\n\nThe late lighter arrived.\n")
        shelf.ingest()
        assert first(library.as_owner().search("late lighter")) == "late.md"
        (shelf.docs / "late.md").unlink()
        shelf.ingest()
        assert "late.md" not in documents(library.as_owner().search("late lighter"))


def test_a_new_generation_is_taken_up_while_searches_run(shelf: Shelf) -> None:
    with shelf.library() as library:
        assert first(library.as_owner().search("boat number3")) == "page-3.md"
        errors: list[Exception] = []
        stop = threading.Event()

        def keep_searching() -> None:
            while not stop.is_set():
                try:
                    assert first(library.as_owner().search("boat number3")) == "page-3.md"
                except Exception as error:  # noqa: BLE001  whatever it is, the test shall say so
                    errors.append(error)

        threads = [threading.Thread(target=keep_searching) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            rebuild(shelf)
        stop.set()
        for thread in threads:
            thread.join()
        assert errors == []
        assert [folder.name for folder in shelf.settings.library.glob("gen-*")] == ["gen-3"]
        assert first(library.as_owner().search("boat number3")) == "page-3.md"


READS: dict[str, Callable[[Library], object]] = {
    "documents": lambda library: len(library.as_owner().documents()) == len(PAGES),
    "document": lambda library: library.as_owner().document("page-3.md"),
    "chunks": lambda library: library.as_owner().chunks("page-3.md"),
    "log": lambda library: library.as_owner().log()[0].documents,
    "stats": lambda library: library.as_owner().stats().documents,
    "status": lambda library: library.status().scopes[0].documents == len(PAGES),
    "doctor": lambda library: all(check.is_ok for check in library.doctor()),
}


@pytest.mark.parametrize("name", READS)
def test_a_generation_that_is_replaced_before_its_catalog_is_opened_fails_nothing(
    shelf: Shelf, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = LocalStorage.catalog
    replaced: list[str] = []

    def replaced_first(folder: LocalStorage, generation: Generation, **options: Any) -> object:
        if not replaced:
            replaced.append(generation)
            rebuild(shelf)
        return catalog(folder, generation, **options)

    with shelf.library() as library:
        library.as_owner().search("boat number3")
        monkeypatch.setattr(LocalStorage, "catalog", replaced_first)
        assert READS[name](library)
    assert replaced == ["gen-1"]


def test_what_stands_in_a_new_generation_alone_is_found_and_what_is_gone_from_it_is_not(shelf: Shelf) -> None:
    with shelf.library() as library:
        assert first(library.as_owner().search("boat number3")) == "page-3.md"
        rebuild(shelf)
        shelf.write("late.md", "# Late\n\nThe late lighter arrived.\n")
        (shelf.docs / "page-3.md").unlink()
        shelf.ingest()
        assert first(library.as_owner().search("late lighter")) == "late.md"
        rebuild(shelf)
        assert first(library.as_owner().search("late lighter")) == "late.md"
        assert "page-3.md" not in documents(library.as_owner().search("boat number3"))


def test_a_library_that_is_in_use_stays_open_while_another_takes_its_place(shelf: Shelf, closed: list[str]) -> None:
    reader = shelf.reader()
    with reader.lease() as old:
        assert found_in(old, "boat number3") == "page-3.md"
        rebuild(shelf)
        with reader.lease() as new:
            assert found_in(new, "boat number4") == "page-4.md"
        assert (new is old, closed) == (False, [])
        assert found_in(old, "boat number5") == "page-5.md"
    assert closed == ["gen-1"]
    reader.close()
    assert closed == ["gen-1", "gen-2"]


def test_a_library_that_is_closed_while_it_is_in_use_is_closed_by_its_last_user(
    shelf: Shelf, closed: list[str]
) -> None:
    reader = shelf.reader()
    with reader.lease() as one, reader.lease() as same:
        reader.close()
        assert (one is same, closed) == (True, [])
        assert found_in(one, "boat number5") == "page-5.md"
    assert closed == ["gen-1"]


class Abandoned:
    """Something half done in a cycle, which only the garbage collector can end."""

    def __init__(self, half_done: object) -> None:
        self.half_done, self.itself = half_done, self


def abandon_loan(reader: Reader) -> None:
    loan = reader.lease()
    loan.__enter__()
    Abandoned(loan)


def lend(reader: Reader) -> None:
    with reader.lease():
        pass


def ends(action: Callable[[], object], *, seconds: float = 20) -> bool:
    """Whether it comes back at all; a deadlock must fail a test, not hang it."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


@pytest.fixture
def kept_garbage() -> Iterator[None]:
    """Garbage stays until a test has it collected."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("kept_garbage", "closed")
def test_an_abandoned_answer_may_be_collected_while_a_library_is_opened(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["Boat ", "number3 ", "sails."] * 50)
    library = shelf.library(generator=generator)
    events = library.as_owner().stream("When does boat number3 sail?")
    assert [type(next(events)) for _ in range(2)] == [Sources, Token]
    rebuild(shelf)
    Abandoned(events)
    del events
    assert ends(lambda: library.as_owner().search("boat"))
    assert not generator.is_at_work
    library.close()


@pytest.mark.usefixtures("kept_garbage")
def test_an_abandoned_loan_may_be_collected_while_a_library_is_opened(shelf: Shelf, closed: list[str]) -> None:
    reader = shelf.reader()
    abandon_loan(reader)
    rebuild(shelf)
    assert ends(lambda: lend(reader))
    assert closed == ["gen-1"]
    reader.close()


@pytest.mark.usefixtures("kept_garbage")
def test_an_abandoned_loan_may_be_collected_while_the_reader_counts(
    shelf: Shelf, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Collecting(str):
        """A generation's name: to compare it is to collect garbage, so it happens wherever the reader counts."""

        def __ne__(self, other: object) -> bool:
            gc.collect()
            return bool(super().__ne__(other))

    reader = shelf.reader()
    abandon_loan(reader)
    rebuild(shelf)
    current = LocalStorage.current
    monkeypatch.setattr(LocalStorage, "current", lambda folder: Collecting(current(folder)))
    assert ends(lambda: lend(reader))
    assert closed == ["gen-1"]
    reader.close()


def test_a_closed_library_opens_again_with_the_next_question(shelf: Shelf) -> None:
    library = shelf.library()
    library.as_owner().search("boat")
    library.close()
    assert first(library.as_owner().search("boat number1")) == "page-1.md"
    library.close()


def test_a_stream_that_is_first_read_after_its_library_was_closed_opens_nothing(
    shelf: Shelf, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = shelf.library()
    library.as_owner().search("boat")
    late = library.as_owner().stream("When does boat number3 sail?")
    library.close()
    assert closed == ["gen-1"]
    with monkeypatch.context() as patch:
        patch.setattr(StoredLibrary, "reading", lambda *_: pytest.fail("a closed reader opens the library"))
        with pytest.raises(BadRequest, match="the library was closed before this question was served: ask again"):
            next(late)
    assert library.as_owner().ask("When does boat number3 sail?").citations[0].document == "page-3.md"
    library.close()


def test_a_stream_goes_on_when_its_library_is_closed_after_the_first_event(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["Boat number3 sails at 3 o'clock [1]."])
    with shelf.library(generator=generator) as library:
        events = library.as_owner().stream("When does boat number3 sail?")
        next(events)
    assert isinstance(list(events)[-1], Done)


def test_a_reader_that_is_closed_while_it_opens_keeps_nothing_open(
    shelf: Shelf, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = shelf.reader()
    make_pages = reader._make_pages

    def close_first(*given: Any) -> Any:
        reader.close()
        return make_pages(*given)

    monkeypatch.setattr(reader, "_make_pages", close_first)
    lend(reader)
    assert closed == ["gen-1"]


def test_a_library_that_is_not_there_is_said_at_the_first_question(tmp_path: Path) -> None:
    library = Library(tmp_path / "nowhere", embedder=HashEmbedder(), token_counter=WordCounter())
    with pytest.raises(BadRequest, match="there is no library"):
        library.as_owner().search("boat")


def test_an_emptied_catalog_is_named_where_documents_are_listed(shelf: Shelf) -> None:
    for file in shelf.generation.glob("catalog.db*"):
        file.write_bytes(b"")
    view = shelf.library().as_owner()
    for look in (view.documents, lambda: view.document("a.md"), lambda: view.chunks("a.md"), view.log):
        with pytest.raises(Misconfigured, match="emptied"):
            look()


def test_an_answer_streams_its_checked_text_and_each_source_once(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["Boat number3 sails at 3 o'", "clock [1", "]. It sails again [9] at 3 [1]."])
    with shelf.library(generator=generator) as library:
        events = list(library.as_owner().stream("When does boat number3 sail?"))
    text = "".join(event.text for event in events if isinstance(event, Token))
    assert text == "Boat number3 sails at 3 o'clock [1]. It sails again at 3 [1]."
    assert [event.citation.n for event in events if isinstance(event, Cited)] == [1]
    (done,) = [event for event in events if isinstance(event, Done)]
    assert events[-1] == done
    assert done.answer.text == text
    assert done.answer.removed_markers == 1
    assert done.answer.citations[0].document == "page-3.md"


def test_a_reader_who_leaves_stops_the_generator(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["Boat ", "number3 ", "sails."] * 50)
    with shelf.library(generator=generator) as library:
        events = library.as_owner().stream("When does boat number3 sail?")
        assert [type(next(events)) for _ in range(2)] == [Sources, Token]
        events.close()
    assert not generator.is_at_work


@pytest.mark.parametrize(
    ("said", "is_answer", "warned"),
    [
        ("The sources do not say when it sails.", False, "do not seem to answer"),
        ("Boat number3 sails at 3 o'clock.", True, "points at no source"),
        ("Boat number3 sails at 3 o'clock [1].", True, None),
    ],
)
def test_a_generator_that_finds_no_answer_has_not_given_one(
    shelf: Shelf, said: str, *, is_answer: bool, warned: str | None
) -> None:
    with shelf.library(generator=ScriptedGenerator([said])) as library:
        answer = library.as_owner().ask("When does boat number3 sail?")
    assert answer.sufficient_context is is_answer
    assert (warned or "") in (answer.quality.warning or "")
    assert (answer.quality.warning is None) is (warned is None)


def test_a_closed_library_is_freed_without_the_garbage_collector(shelf: Shelf) -> None:
    settings = Settings(library=shelf.settings.library.parent / "freed")
    gc.collect()
    gc.disable()
    try:
        with Library(settings=settings) as library:
            library.ingest(shelf.docs)
            library.as_owner().search("boat number3")
            query: Any = library._embedding().embedder.query
            model = weakref.ref(query.__self__)
        del library, query
        assert model() is None
    finally:
        gc.enable()


@pytest.fixture
def freeze(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No library is open and nothing is frozen, whatever ran before."""
    monkeypatch.setattr("citewise.library._frozen_for", set())
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("freeze")
def test_garbage_collection_skips_what_is_loaded_until_the_last_library_is_closed(shelf: Shelf) -> None:
    one, other = shelf.library(), shelf.library()
    frozen = []
    for use in (one.as_owner().search, other.as_owner().search):
        use("boat number3")
        frozen.append(gc.get_freeze_count() > 0)
    for library in (one, other):
        library.close()
        frozen.append(gc.get_freeze_count() > 0)
    assert frozen == [True, True, True, False]


@pytest.mark.usefixtures("freeze")
def test_what_a_program_has_frozen_itself_stays_frozen(shelf: Shelf) -> None:
    gc.freeze()
    with shelf.library() as library:
        library.as_owner().search("boat number3")
    assert gc.get_freeze_count() > 0
