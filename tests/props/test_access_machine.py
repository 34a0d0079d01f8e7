"""The leak machine over a thousand steps, and that it notices each of the ways in which a library could leak.

What may happen stands in access_machine.py; what may be shown then, in access_oracle.py.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.api import Library
from citewise.insights import Overview, ReadLog
from citewise.library import LibraryReader
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Dropped, SearchResult, Shortlist
from citewise.model.report import IngestReport
from citewise.search.pipeline import Search
from tests.props.access_library import make_template
from tests.props.access_machine import Readers, taken

STEPS = 50
EXAMPLES = 30  # of STEPS each at most, for some end early: over a thousand in all
MIN_STEPS = 1_000
MEMORY = Path("/dev/shm")  # where there is none, a disk takes twice as long over all that a library waits for


@pytest.fixture(scope="module", autouse=True)
def _home() -> Iterator[None]:
    fast = MEMORY if os.access(MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix="citewise-machine-", dir=fast) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("citewise.maintenance.LOG_SETTLE_SECONDS", 0.0)  # the machine flushes every log by itself
        Readers.home, Readers.template = Path(folder, "now"), Path(folder, "template")
        make_template(Readers.home, Readers.template)
        yield


def run(*phases: Phase) -> None:
    run_state_machine_as_test(
        Readers,
        settings=settings(
            max_examples=EXAMPLES,
            phases=phases,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_nothing_is_shown_to_whom_it_is_not_for_in_a_thousand_steps() -> None:
    taken.update(dict.fromkeys(taken, 0))
    run(*Phase)
    assert taken["steps"] >= MIN_STEPS
    assert taken["shown"] > MIN_STEPS  # it is no blind machine
    assert min(taken.values()) > 0


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
    return {id_: replace(one, text=f"{one.text}\nTom has the key.") for id_, one in found.items() if one}


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


MUTATIONS: Mapping[str, Mapping[str, object]] = {
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


@pytest.mark.parametrize("which", MUTATIONS)
def test_the_machine_notices(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for target, value in MUTATIONS[which].items():
        monkeypatch.setattr(target, value)
    with pytest.raises(AssertionError):
        run(Phase.generate)  # that it fails is enough: nobody needs the shortest way there
