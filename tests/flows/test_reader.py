"""A library that is held open: shared by threads, and never stuck on a generation that is gone."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewise import Library
from citewise.model.answer import Cited, Done, Token
from citewise.model.errors import BadRequest
from citewise.model.result import SearchResult
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import reembed
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.scripted_generator import ScriptedGenerator
from tests.flows.harness import Shelf

PAGES = {f"page-{at}.md": f"# Page {at}\n\nBoat number{at} sails at {at} o'clock.\n" for at in range(8)}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path)
    for path, text in PAGES.items():
        made.write(path, text)
    made.ingest()
    return made


def library_of(shelf: Shelf, **parts: object) -> Library:
    embedding = Embedding(HashEmbedder(), WordCounter())
    return Library(shelf.settings.library, settings=shelf.settings, embedding=embedding, **parts)  # type: ignore[arg-type]


def first(result: SearchResult) -> str:
    return result.findings[0].passage.document


def test_threads_share_one_open_library(shelf: Shelf) -> None:
    with library_of(shelf) as library, ThreadPoolExecutor(8) as threads:
        asked = [at % 8 for at in range(64)]
        found = list(threads.map(lambda at: first(library.search(f"boat number{at}")), asked))
    assert found == [f"page-{at}.md" for at in asked]


def test_async_code_asks_in_a_thread(shelf: Shelf) -> None:
    async def ask_both(library: Library) -> list[SearchResult]:
        return list(await asyncio.gather(*(asyncio.to_thread(library.search, f"boat number{at}") for at in range(8))))

    with library_of(shelf) as library:
        assert [first(one) for one in asyncio.run(ask_both(library))] == list(PAGES)


def test_what_is_ingested_later_is_found_without_opening_again(shelf: Shelf) -> None:
    with library_of(shelf) as library:
        library.search("boat")
        shelf.write("late.md", "# Late\n\nThe late lighter arrived.\n")
        shelf.ingest()
        assert first(library.search("late lighter")) == "late.md"
        (shelf.docs / "late.md").unlink()
        shelf.ingest()
        assert "late.md" not in {one.passage.document for one in library.search("late lighter").findings}


def test_a_new_generation_is_taken_up_while_searches_run(shelf: Shelf) -> None:
    with library_of(shelf) as library:
        assert first(library.search("boat number3")) == "page-3.md"
        errors: list[Exception] = []
        stop = threading.Event()

        def keep_searching() -> None:
            while not stop.is_set():
                try:
                    assert first(library.search("boat number3")) == "page-3.md"
                except Exception as error:  # noqa: BLE001  whatever it is, the test shall say so
                    errors.append(error)

        threads = [threading.Thread(target=keep_searching) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            reembed(shelf.settings, on_document=lambda path: None, embedding=Embedding(HashEmbedder(), WordCounter()))
        stop.set()
        for thread in threads:
            thread.join()
        assert errors == []
        assert [folder.name for folder in shelf.settings.library.glob("gen-*")] == ["gen-3"]
        assert first(library.search("boat number3")) == "page-3.md"


def test_a_closed_library_opens_again_with_the_next_question(shelf: Shelf) -> None:
    library = library_of(shelf)
    library.search("boat")
    library.close()
    assert first(library.search("boat number1")) == "page-1.md"
    library.close()


def test_a_library_that_is_not_there_is_said_at_the_first_question(tmp_path: Path) -> None:
    library = Library(tmp_path / "nowhere", embedding=Embedding(HashEmbedder(), WordCounter()))
    with pytest.raises(BadRequest, match="there is no library"):
        library.search("boat")


def test_an_answer_streams_its_checked_text_and_each_source_once(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["Boat number3 sails at 3 o'", "clock [1", "]. It sails again [9] at 3 [1]."])
    with library_of(shelf, generator=generator) as library:
        events = list(library.stream("When does boat number3 sail?"))
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
    with library_of(shelf, generator=generator) as library:
        events = library.stream("When does boat number3 sail?")
        assert isinstance(next(events), Token)
        events.close()
    assert not generator.is_at_work
