"""What a service works on, as plain values: a library, an answer pipeline and a log."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from citewise.answer.pipeline import AnswerPipeline
from citewise.errors import CitewiseError
from citewise.library import LibraryReader
from citewise.model.access import Scope
from citewise.model.answer import AnswerEvents, Message
from citewise.model.cancellation import Cancellation
from citewise.model.filters import Where
from citewise.model.logged import Logged
from citewise.model.query import PageRequest, Query
from citewise.model.ranking import FoundSection, Passage, SearchResult
from citewise.text.sections import sections_of
from tests.fakes.scripted_generator import ScriptedGenerator


class FakeLibrary(LibraryReader):
    """Finds the same for every question, what a function finds, or fails; remembers what it was asked."""

    was_opened = True

    def __init__(self, found: SearchResult | Exception | Callable[[Query], SearchResult]) -> None:
        self.found = found
        self.passages: Sequence[Passage] | CitewiseError = ()
        self.state = "v1"
        self.searched: list[tuple[Query, PageRequest | None]] = []
        self.asked_popular: list[tuple[Where, int]] = []
        self.meanwhile: Callable[[], None] = lambda: None  # what happens while a search runs
        self.renew: Callable[[str], str | None] = lambda cursor: cursor.upper()

    def search(self, query: Query, page: PageRequest | None = None) -> SearchResult:
        self.searched.append((query, page))
        self.meanwhile()
        if isinstance(self.found, Exception):
            raise self.found
        return replace(self.found, query=query) if isinstance(self.found, SearchResult) else self.found(query)

    def sections(
        self, query: Query, found: SearchResult, *, depth: int
    ) -> tuple[SearchResult, tuple[FoundSection, ...]]:
        return found, sections_of(found.findings[:depth])

    def popular(self, where: Where, limit: int) -> tuple[Passage, ...]:
        self.asked_popular.append((where, limit))
        if isinstance(self.passages, Exception):
            raise self.passages
        return tuple(self.passages[:limit])

    def version(self, scope: Scope) -> str:
        return f"{scope} {self.state}"

    def renewed(self, cursor: str) -> str | None:
        return self.renew(cursor)

    def close(self) -> None:
        pass


class FakePipeline(AnswerPipeline):
    """Answers with what a function gives."""

    __setattr__ = object.__setattr__  # the real one is frozen

    def __init__(self, events: Callable[[Query], AnswerEvents], generator_name: str = "g") -> None:
        object.__setattr__(self, "generator", ScriptedGenerator([], name=generator_name))
        self.histories: list[Sequence[Message]] = []
        self.found: list[SearchResult] = []
        self.sections: list[Sequence[FoundSection]] = []
        self._events_of = events

    def ask(
        self,
        query: Query,
        found: SearchResult,
        sections: Sequence[FoundSection] = (),
        *,
        history: Sequence[Message] = (),
        cancellation: Cancellation | None = None,
    ) -> AnswerEvents:
        self.histories.append(history)
        self.found.append(found)
        self.sections.append(sections)
        return self._events_of(query)


def no_answers() -> FakePipeline:
    raise AssertionError("nothing is answered here")


class ListLog:
    """The port QueryLog as a list."""

    def __init__(self) -> None:
        self.rows: list[Logged] = []

    def add(self, row: Logged) -> None:
        self.rows.append(row)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass
