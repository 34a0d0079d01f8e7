"""One process that writes to a library and several that search it, and what each saw when.

Times are those of the system's monotonic clock, which all processes share.
"""

import random
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import pytest

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.api import LibraryView
from citewise.errors import CitewiseError
from citewise.ingest.project import Project
from citewise.model.access import Principal, Scope
from citewise.model.chunk import ChunkCounts
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import DocumentWrite
from tests.pipelines.harness import Shelf

READERS = {
    "ann of ops": Principal("ann", frozenset({"ops"})),
    "bob of ops": Principal("bob", frozenset({"ops"})),
    "cid": Principal("cid"),
    "dan of dev": Principal("dan", frozenset({"dev"})),
}
OPERATIONS = ("edit", "edit", "edit", "edit", "reindex", "compact")
PAGES, SECTIONS = 12, 2  # so that one search shows all there is
TOP_K = 50
PAUSE_SECONDS = 0.1  # between what the catalog says and what the indexes know, so that searches fall into it
TURN_SECONDS = 0.002  # between two searches of a reader: the writer needs a processor too
BEGUN, DONE = "begun", "done"  # files between which the readers search; a library is built by its first ingestion
_MARK = re.compile(r"page-(\d+) edition-(\d+) section-(\d+)")

Mark = tuple[int, int]  # a page and its edition


@dataclass(frozen=True, slots=True)
class Fact:
    """An edition of a page for some readers, and when it could and when it had to be found."""

    mark: Mark
    is_closed: bool  # for the group ops alone
    possible_from: float
    certain_from: float = inf
    certain_until: float = inf
    possible_until: float = inf

    def admits(self, reader: str) -> bool:
        return not self.is_closed or "ops" in READERS[reader].groups


@dataclass(frozen=True, slots=True)
class Seen:
    """What a search showed, between two instants."""

    reader: str
    began: float
    ended: float
    marks: frozenset[Mark]
    sections: int
    problem: str = ""


# The writer


class Writer:
    """Changes the pages of a library, and keeps the facts."""

    def __init__(self, home: Path) -> None:
        self._shelf = shelf_at(home)
        self._facts: dict[int, Fact] = {}  # of the pages that are stored
        self._coming: dict[int, Fact] = {}  # of those that are written and not yet stored
        self._past: list[Fact] = []
        self._born = 0

    def run(self, operations: Sequence[tuple[str, int]]) -> list[Fact]:
        with _watched(self._note_stored):
            for operation, seed in operations:
                if operation == "edit":
                    self._edit(random.Random(seed))
                else:
                    getattr(self._shelf, operation)()
        return [*self._past, *self._facts.values()]

    def _edit(self, draw: random.Random) -> None:
        """Change, close and delete pages, add new ones, and ingest. A page that is closed stays closed."""
        pages = draw.sample(sorted(self._facts), len(self._facts))
        self._facts |= {page: replace(self._facts[page], certain_until=time.monotonic()) for page in pages[:5]}
        for page in pages[:4]:
            self._write(
                page, self._facts[page].mark[1] + 1, is_closed=page in pages[2:4] or self._facts[page].is_closed
            )
        for page in pages[4:5]:
            self._file(page).unlink()
        for _ in range(PAGES - len(pages) + 1):
            self._born += 1
            self._write(self._born, 1, is_closed=draw.random() < 0.3)
        self._shelf.ingest()
        (self._shelf.docs.parent / BEGUN).touch()
        certain_from = time.monotonic()
        self._facts |= {page: replace(fact, certain_from=certain_from) for page, fact in self._coming.items()}
        self._coming.clear()

    def _write(self, page: int, edition: int, *, is_closed: bool) -> None:
        self._coming[page] = Fact((page, edition), is_closed, possible_from=time.monotonic())
        rule = "---\naccess: group:ops\n---\n" if is_closed else ""
        sections = [
            f"## Section {n}\n\nharbor page-{page} edition-{edition} section-{n} {' '.join([f'gauge{page}'] * 20)}"
            for n in range(SECTIONS)
        ]
        self._file(page).write_text(f"{rule}# Harbor page {page}\n\n" + "\n\n".join(sections) + "\n")

    def _file(self, page: int) -> Path:
        return self._shelf.docs / f"page-{page}.md"

    def _note_stored(self, paths: Collection[str]) -> None:
        """From now on, what stood under these paths must not be shown."""
        now = time.monotonic()
        for page in (int(re.sub(r"\D", "", path)) for path in paths):
            if page in self._facts:
                self._past.append(replace(self._facts.pop(page), possible_until=now))


@contextmanager
def _watched(note: Callable[[Collection[str]], None]) -> Iterator[None]:
    """Tell what the catalog has stored or removed, and wait before the indexes learn of it."""
    store, remove, project = SqliteCatalog.store, SqliteCatalog.remove, Project.__call__

    def stored(self: SqliteCatalog, writes: Sequence[DocumentWrite]) -> ChunkCounts:
        counts = store(self, writes)
        note([write.document.path for write in writes])
        return counts

    def removed(self: SqliteCatalog, scope: Scope, paths: Collection[str]) -> int:
        count = remove(self, scope, paths)
        note(paths)
        return count

    def late(self: Project, scope: Scope) -> int:
        time.sleep(PAUSE_SECONDS)
        return project(self, scope)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteCatalog, "store", stored)
        patch.setattr(SqliteCatalog, "remove", removed)
        patch.setattr(Project, "__call__", late)
        yield


def shelf_at(home: Path) -> Shelf:
    return Shelf(home, query_log={"retention_days": 0})


def write(home: Path, operations: Sequence[tuple[str, int]], fault: str = "") -> list[Fact]:
    """The writer's process."""
    with planted(fault):
        try:
            return Writer(home).run(operations)
        finally:
            (home / DONE).touch()


def read(home: Path, reader: str, fault: str = "") -> list[Seen]:
    """A reader's process: searches until the writer is done."""
    seen, shelf = list[Seen](), shelf_at(home)
    while not (home / BEGUN).exists() and not (home / DONE).exists():
        time.sleep(TURN_SECONDS)
    with planted(fault), shelf.library() as library:
        view = library.as_principal(READERS[reader])
        while not (home / DONE).exists():
            seen.append(_search(view, reader))
            time.sleep(TURN_SECONDS)
    return seen


def _search(view: LibraryView, reader: str) -> Seen:
    began = time.monotonic()
    try:
        result = view.search("harbor", top_k=TOP_K)
    except CitewiseError as error:
        return Seen(reader, began, time.monotonic(), frozenset(), 0, problem=str(error))
    found = [match for each in result.findings for match in _MARK.findall(each.passage.text)]
    marks = frozenset((int(page), int(edition)) for page, edition, _ in found)
    return Seen(reader, began, time.monotonic(), marks, len(found), problem="; ".join(result.degraded))


# What is wrong with what was seen


def problems(facts: Sequence[Fact], seen: Sequence[Seen]) -> Iterator[str]:
    for each in seen:
        if each.problem:
            yield f"{each.reader} got an error: {each.problem}"
        possible = [fact for fact in facts if fact.possible_from <= each.ended and each.began <= fact.possible_until]
        certain = [fact for fact in facts if fact.certain_from <= each.began and each.ended <= fact.certain_until]
        if wrong := each.marks - {fact.mark for fact in possible}:
            yield f"{each.reader} saw what was replaced or deleted: {sorted(wrong)}"
        elif foreign := each.marks - {fact.mark for fact in possible if fact.admits(each.reader)}:
            yield f"{each.reader} saw what is for others: {sorted(foreign)}"
        if missed := {fact.mark for fact in certain if fact.admits(each.reader)} - each.marks:
            yield f"{each.reader} missed {sorted(missed)}"
        if len({page for page, _ in each.marks}) < len(each.marks):
            yield f"{each.reader} saw two editions of a page at once: {sorted(each.marks)}"
        if each.sections != SECTIONS * len(each.marks):
            yield f"{each.reader} saw {each.sections} sections of {len(each.marks)} pages"


# Faults


@contextmanager
def planted(fault: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if fault == "the version is not raised":
            patch.setattr("citewise.adapters.sqlite.writing.raise_version", lambda connection, scope_id: None)
        elif fault == "passages are read without the rule":
            passages = SqliteCatalog.passages

            def unruled(self: SqliteCatalog, ids: Sequence[ChunkId], *, where: Where) -> object:
                return passages(self, ids, where=Where(where.scope, None))

            patch.setattr(SqliteCatalog, "passages", unruled)
        yield


FAULTS = ("the version is not raised", "passages are read without the rule")
