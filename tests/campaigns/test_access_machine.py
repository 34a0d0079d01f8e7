"""The access machine over hundreds of steps, and that it notices each of the ways in which a library could leak.

What may happen stands in access_machine.py, who may read what in access_law.py, what may be shown in access_shown.py.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.api import Library
from citewise.errors import CitewiseError
from citewise.ingest import policy
from citewise.ingest.policy import Ruling
from citewise.ingest.rulings import Rulings, SameTexts
from citewise.insights import Overview, ReadLog
from citewise.library import LibraryReader
from citewise.model.access import OWNER, Access, Principal, Scope
from citewise.model.document import AccessRule
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Dropped, Passage, SearchResult, Shortlist
from citewise.model.report import IngestReport
from citewise.search.pipeline import Search
from tests.campaigns.access_machine import OPERATIONS, SHOWING, Machine
from tests.campaigns.size import shrunk, steps

LIFE = 50  # steps in the life of one library
ALIKE = 20  # characters that two problems of the same kind begin with
MAX_LIVES = 6  # in which a fault has to be noticed
MEMORY = Path("/dev/shm")  # where there is none, a disk takes twice as long over all that a library waits for

Operations = tuple[tuple[str, int], ...]


@pytest.fixture(autouse=True)
def _quick_logs(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("citewise.maintenance.LOG_SETTLE_SECONDS", 0.0)  # the machine flushes every log by itself
    caplog.set_level("ERROR")


def some_operations(draw: random.Random, names: Iterable[str] = OPERATIONS) -> Operations:
    chosen = draw.choices([*names], [OPERATIONS[name] for name in names], k=LIFE)
    return tuple((name, draw.getrandbits(32)) for name in chosen)


def problem_of(operations: Operations, counts: Counter[str] | None = None) -> str:
    """What is wrong after these steps, in a new library; nothing, if all is well."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="citewise-machine-", dir=memory) as folder:
        machine = Machine(Path(folder).resolve())
        try:
            machine.begin()
            for operation, seed in operations:
                machine.step(operation, seed)
        except (AssertionError, CitewiseError) as problem:
            return "\n".join((f"{type(problem).__name__}: {problem}", *machine.story))
        finally:
            machine.close()
            if counts is not None:
                counts.update(machine.counts)
    return ""


def fails_alike(found: str, operations: Operations) -> bool:
    return problem_of(operations)[:ALIKE] == found[:ALIKE]


def test_nothing_is_shown_to_whom_it_is_not_for(draw: random.Random) -> None:
    counts = Counter[str]()
    for _ in range(0, wanted := steps(300, 100_000), LIFE):
        operations = some_operations(draw)
        if found := problem_of(operations, counts):
            fewest = shrunk(operations, partial(fails_alike, found))
            pytest.fail(f"{problem_of(fewest)}\n{len(fewest)} of {LIFE} steps are enough for it: {fewest}")
    sys.stdout.write(f"{wanted} steps: {dict(counts)}\n")
    assert min(counts[each] for each in ("shown", "closed", "sure")) > wanted  # it is no blind machine


# Ways to leak


def seeing_all(scope: Scope, readers: object, conditions: Any = ()) -> Where:
    return Where(scope, None, conditions)


searched, read_on, read = Search.__call__, Search.passages, SqliteCatalog.passages
ingested, looked_over = Library.ingest, ReadLog.overview


def for_the_owner(self: Search, query: Query, candidates: Any) -> Any:
    return read_on(self, replace(query, principal=OWNER), candidates)


def counted_for_the_owner(self: Search, query: Query) -> SearchResult:
    every = searched(self, replace(query, principal=OWNER))
    return replace(searched(self, query), total_candidates=every.total_candidates)


def with_a_foreign_sentence(self: SqliteCatalog, ids: Sequence[ChunkId], *, where: Where) -> dict[ChunkId, Any]:
    found = read(self, ids, where=where)
    return {
        id_: replace(one, text=f"{one.text}\nTom has the key.")
        for id_, one in found.items()
        if isinstance(one, Passage)
    }


def naming_what_is_gone(self: Search, query: Query, candidates: Sequence[Candidate]) -> Shortlist:
    found = read_on(self, query, candidates)
    there = {finding.candidate.id for finding in found.findings}
    gone = [Dropped(candidate, "hydrate", "gone") for candidate in candidates if candidate.id not in there]
    return replace(found, dropped=(*found.dropped, *gone))


def everybodys(cls: Callable[[Scope], object], scope: Scope, principal: Principal) -> object:
    return cls(scope)


def with_everybodys_figures(self: ReadLog, scope: Scope, principal: Principal, **named: float) -> Overview:
    every = looked_over(self, scope, OWNER, **named)
    unworded = {name: replace(getattr(every, name), questions=()) for name in ("unanswered", "poor")}
    own = looked_over(self, scope, principal, **named)
    return replace(every, documents=own.documents, lost=own.lost, **unworded)


own_changes: Counter[int] = Counter()  # by the settings of a Library, which its search has too


def ingest_and_count(self: Library, *paths: Any, **named: Any) -> IngestReport:
    own_changes[id(self._settings)] += 1
    return ingested(self, *paths, **named)


def own_version(self: LibraryReader, scope: Scope) -> str:
    return str(own_changes[id(self._stored.settings)])


def nothing(*args: object, **named: object) -> bool:
    return True


decide, narrowing = policy.access_of, Rulings._narrowing


def forgetful(said: Access, **named: Any) -> Ruling:
    return decide(said, **{**named, "past": ()})


def for_nobody(said: Access, **named: Any) -> Ruling:
    return Ruling(Access(frozenset()))


def without_other_names(
    self: Rulings, path: str, aliases: object, covering: Sequence[AccessRule]
) -> Iterator[tuple[Access, str]]:
    return narrowing(self, path, (), covering)


RULED: Mapping[str, Mapping[str, object]] = {
    "what a document was for before is not looked at": {"citewise.ingest.rulings.access_of": forgetful},
    "other names of a file are not looked at": {
        "citewise.ingest.rulings.Rulings._narrowing": without_other_names,
        "citewise.ingest.files.Files.same_files": lambda self, *paths: [],
    },
    "text that is gone is not looked for": {
        "citewise.ingest.rulings.Rulings._same_texts": lambda self, *known: SameTexts(),
        "citewise.ingest.rulings.Rulings.carry": lambda self, items: self._source,
    },
    "copies of what is gone stay open": {"citewise.ingest.rulings.Rulings.close_copies": lambda self, removed: None},
    "a narrower rule does not reach stored documents": {"citewise.ingest.rulings.Rulings.tighten": lambda self: None},
    "everything is closed": {"citewise.ingest.rulings.access_of": for_nobody},
}
MUTATIONS: Mapping[str, Mapping[str, object]] = {
    **RULED,
    "no rule in a search": {
        "citewise.model.query.Query.where": property(lambda query: Where(query.scope, None, query.conditions))
    },
    "candidates counted for everybody": {"citewise.search.pipeline.Search.__call__": counted_for_the_owner},
    "a text that stands in no document": {
        "citewise.adapters.sqlite.catalog.SqliteCatalog.passages": with_a_foreign_sentence
    },
    "a memory for everybody": {"citewise.search.cache.key_parts": lambda query: (str(query.scope),)},
    "a memory that never hears of changes": {"citewise.library.LibraryReader.version": lambda self, scope: "always"},
    "a memory that hears of no changes but its own": {
        "citewise.api.Library.ingest": ingest_and_count,
        "citewise.library.LibraryReader.version": own_version,
    },
    "pages for everybody": {"citewise.search.pipeline.Search.passages": for_the_owner},
    "pages that name what is gone": {"citewise.search.pipeline.Search.passages": naming_what_is_gone},
    "cursors for everybody": {"citewise.search.pages._purpose": lambda query, request: ""},
    "names in the log for everybody": {"citewise.insights.Where": seeing_all},
    "questions and their number for everybody": {"citewise.model.logged.LogScope.of": classmethod(everybodys)},
    "figures of everybody's questions": {"citewise.insights.ReadLog.overview": with_everybodys_figures},
    "documents listed for everybody": {"citewise.api.Where": seeing_all},
    "a compaction that keeps the texts": {"citewise.adapters.sqlite.catalog.SqliteCatalog.compact": nothing},
    "a compaction that keeps what was shown": {"citewise.maintenance.sweep_log": nothing},
    "a compaction that keeps the pages": {"citewise.adapters.sqlite.rankings.SqliteRankings.clear": nothing},
}


FILES = (
    "write",
    "rename_file",
    "rename_folder",
    "copy",
    "copy_closed",
    "link",
    "damage",
    "own_access",
    "tighten",
    "widen",
    "ingest",
)


@pytest.mark.parametrize("which", MUTATIONS)
def test_the_machine_notices(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for target, value in MUTATIONS[which].items():
        monkeypatch.setattr(target, value)
    draw = random.Random(which)  # the same steps in every run
    names = FILES if which in RULED else SHOWING
    assert any(problem_of(some_operations(draw, names)) for _ in range(MAX_LIVES))
