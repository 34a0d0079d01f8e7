"""The leak suite finds nothing in citewise as it is, and finds the hole in each citewise that was broken for it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from citewise.adapters.local_index import scan as scans
from citewise.adapters.local_index import texts
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.answer.pipeline import AnswerPipeline
from citewise.errors import Unavailable
from citewise.model.access import OWNER, Scope
from citewise.model.answer import AnswerEvent, Token
from citewise.model.filters import Condition, Where
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Damaged, Passage
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring_models import embedding_of
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.leaks.judge import Leak, LeakReport, Output, Request
from tests.leaks.suite import LAGGING, leak_report
from tests.leaks.surfaces import SURFACES, OpenedLibrary, Surface

SEED = 3
QUICK = [surface for surface in SURFACES if surface.is_quick]
OF_THE_LOG = {"Library.log", "Library.stats"}
OF_DOCUMENTS = {"Library.documents", "Library.document", "Library.chunks"}
OF_QUESTIONS = {surface.name for surface in QUICK if not surface.is_about_selection} - OF_THE_LOG - OF_DOCUMENTS


def report(surfaces: Sequence[Surface] = QUICK, *, rounds: int = 1) -> LeakReport:
    """Every surface of the Python API, with a quick embedder."""
    return leak_report(surfaces, Embedding(HashEmbedder(), WordCounter()), rounds=rounds, seed=SEED)


def report_of_commands(surfaces: Sequence[Surface]) -> LeakReport:
    """Commands use the embedding of the settings."""
    return leak_report(surfaces, embedding_of(Settings()), rounds=1, seed=SEED)


def surfaces_of(leaks: Iterable[Leak]) -> set[str]:
    return {leak.surface for leak in leaks}


def test_nothing_leaks_on_any_surface_and_nothing_is_missing() -> None:
    found = report_of_commands(SURFACES)
    assert (found.leaks, found.missing) == ((), ())
    assert found.surfaces.keys() == {surface.name for surface in SURFACES}
    assert found.readers > 5
    assert found.documents > 25


def test_without_any_access_rule_every_surface_of_a_library_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Query, "where", property(lambda query: Where(query.scope, None, query.conditions)))
    found = report()
    assert surfaces_of(found.leaks) >= OF_QUESTIONS
    assert {"text", "id", "count", "rank"} <= {leak.kind for leak in found.leaks}


def test_a_search_in_another_tenants_scope_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scope is not the reader's but the last one written to."""
    last: list[Any] = []
    write = LocalVectorIndex.write

    def noting(self: LocalVectorIndex, scope: Any, *rest: Any) -> None:
        last[:] = [scope]
        write(self, scope, *rest)

    monkeypatch.setattr(LocalVectorIndex, "write", noting)
    monkeypatch.setattr(Query, "where", property(lambda query: Where(last[0], query.principal.readers)))
    assert {"text", "id"} <= {leak.kind for leak in report().leaks}


@pytest.fixture
def _trusted_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydration reads whatever the index found."""
    read = SqliteCatalog.passages

    def unchecked(self: SqliteCatalog, ids: Sequence[ChunkId], *, where: Where) -> Mapping[ChunkId, Passage | Damaged]:
        return read(self, ids, where=replace(where, readers=None))

    monkeypatch.setattr(SqliteCatalog, "passages", unchecked)


@pytest.mark.usefixtures("_trusted_index")
def test_without_the_second_check_a_lagging_index_leaks() -> None:
    found = report()
    assert {leak.phase for leak in found.leaks if leak.surface in OF_QUESTIONS} == {LAGGING}
    assert surfaces_of(found.leaks) >= OF_THE_LOG  # which uses no index
    assert "Library.search" in surfaces_of(leak for leak in found.leaks if leak.kind == "text")


def test_a_search_that_hides_what_may_be_seen_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = property(lambda query: Where(query.scope, frozenset(), query.conditions))
    monkeypatch.setattr(Query, "where", nobody)
    found = report()
    assert found.leaks == ()
    assert surfaces_of(found.missing) >= {"Library.search"}


def test_what_a_refusal_suggests_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Passage, "topic", "The winch zqforeign")
    assert surfaces_of(report().leaks) == {"Library.ask", "Library.stream"}


def test_what_a_refusal_about_a_selection_says_is_checked_on_every_surface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.answer.pipeline.NOT_IN_SELECTION", "Read about zqforeign instead.")
    about_selections = [surface for surface in SURFACES if surface.is_about_selection]
    found = report_of_commands(about_selections)
    assert surfaces_of(found.leaks) == {surface.name for surface in about_selections}


def test_a_marker_split_between_two_tokens_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = AnswerPipeline.ask_selected

    def cut(self: AnswerPipeline, *arguments: Any, **more: Any) -> Iterator[AnswerEvent]:
        yield from (Token("z"), Token("qforeign"))
        yield from stream(self, *arguments, **more)

    monkeypatch.setattr(AnswerPipeline, "ask_selected", cut)
    assert surfaces_of(report().leaks) == {"Library.stream about a selection"}


@pytest.fixture
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search a few dozen chunks as a million are searched."""
    monkeypatch.setattr("citewise.search.rankings.LARGE_INDEX_BYTES", 0)
    monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)
    monkeypatch.setattr("citewise.adapters.local_index.texts.MIN_SHARE", 0.01)
    monkeypatch.setattr("citewise.adapters.local_index.scan.SIGNS_FROM", 0)
    monkeypatch.setattr("citewise.adapters.local_index.scan.MIN_DIMENSIONS", 0)
    monkeypatch.setattr("citewise.adapters.local_index.scan.EXACT_FROM_FILES", 0)


@pytest.mark.usefixtures("_large")
def test_nothing_leaks_from_a_large_library_and_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: Counter[str] = Counter()
    check, scan = texts._Commit._checked_after, scans.Scan._near

    def checked(*given: Any) -> Any:
        found = check(*given)
        taken["checked after"] += found is not None
        return found

    def scanned(*given: Any) -> Any:
        taken["signs first"] += 1
        return scan(*given)

    monkeypatch.setattr(texts._Commit, "_checked_after", checked)
    monkeypatch.setattr(scans.Scan, "_near", scanned)
    found = report(rounds=2)
    assert (found.leaks, found.missing) == ((), ())
    assert taken["checked after"] > 50
    assert taken["signs first"] > 50


@pytest.mark.usefixtures("_large")
def test_a_large_library_that_does_not_check_after_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(self: texts._Commit, query: Any, *_: Any) -> Any:
        return self._searcher.search(query, limit=1000, count=False).hits

    monkeypatch.setattr(texts._Commit, "_checked_after", unchecked)
    assert {"count", "rank"} <= {leak.kind for leak in report().leaks}


@pytest.mark.usefixtures("_large")
def test_a_scan_of_signs_that_forgets_the_filter_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = scans.Scan.nearest

    def unfiltered(self: scans.Scan, vector: Any, admitted: scans.Admitted, wanted: int) -> Any:
        return scan(self, vector, scans.Admitted(int(self._starts[-1]), None), wanted)

    monkeypatch.setattr(scans.Scan, "nearest", unfiltered)
    assert "count" in {leak.kind for leak in report().leaks}


@pytest.mark.parametrize("name", ["citewise ask", "citewise log", "citewise eval"])
def test_a_command_that_ignores_who_asks_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.cli.options._principal", lambda user, groups: OWNER)
    before = ("Library.search", "Library.log")  # they fill the log and write it to disk
    found = report_of_commands([each for each in SURFACES if each.name in before or each.name.startswith(name)])
    assert {leak.kind for leak in found.leaks} & {"text", "id"}
    assert f" on {name}" in str(found.leaks[0])


def test_scores_that_depend_on_other_scopes_are_noticed() -> None:
    search = QUICK[0]

    def changed(opened: OpenedLibrary, request: Request) -> Output | None:
        output = search.show(opened, request)
        scopes = len(list((opened.home / "pages").iterdir()))
        return output and replace(output, scores=tuple((id_, score / scopes) for id_, score in output.scores))

    found = report([replace(search, show=changed)], rounds=2)
    assert {(leak.surface, leak.kind) for leak in found.leaks} == {("Library.search", "isolation")}


def test_surfaces_that_only_show_errors_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object, **__: object) -> None:
        raise Unavailable("the store is away")

    monkeypatch.setattr("citewise.library.LibraryReader.search", down)
    found = report()
    assert surfaces_of(found.missing) >= OF_QUESTIONS


def test_a_log_that_names_documents_to_anybody_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader may no longer see what was shown once."""

    def unguarded(scope: Scope, readers: object, conditions: tuple[Condition, ...] = ()) -> Where:
        return Where(scope, None, conditions)

    monkeypatch.setattr("citewise.insights.Where", unguarded)
    monkeypatch.setattr("citewise.api.Where", unguarded)
    assert surfaces_of(report(rounds=2).leaks) == OF_THE_LOG | OF_DOCUMENTS


def test_a_cache_that_mixes_up_readers_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.search.cache.key_parts", lambda query: ("anybody",))
    assert surfaces_of(report().leaks) & {"Library.search", "Library.search, asked again"}
