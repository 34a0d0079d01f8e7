"""The leak suite finds nothing in the product as it is, and finds the hole in each product that was broken for it."""

import contextlib
import io
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from citewise.adapters.local_index import vectors as narrowing
from citewise.adapters.local_index import vectors as scans
from citewise.adapters.local_index.index import LocalIndex
from citewise.adapters.sqlite.passages import SqlitePassages
from citewise.answer.ask_selected import AskSelected
from citewise.cli.eval_leaks import run_leaks
from citewise.errors import BadRequest, Unavailable
from citewise.evaluation.leak_surfaces import SURFACES, every_surface, quick_surfaces
from citewise.evaluation.leaking import LAGGING, Surface, leak_report
from citewise.evaluation.leaks import Asking, Leak, LeakReport, Shown
from citewise.evaluation.pipeline import Step
from citewise.model.access import LOCAL_PRINCIPAL, Scope
from citewise.model.answer import AnswerEvent, Token
from citewise.model.filters import Condition, Where
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.ports.catalog import Hydrated
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding, embedding_of
from tests.fakes.counters import HashEmbedder, WordCounter

SEED = 3
OF_A_LIBRARY = {one.name for one in SURFACES if one.is_quick and not one.is_about_selection}
OF_THE_LOG = {"Library.log", "Library.stats", "Library.topics"}
OF_QUESTIONS = OF_A_LIBRARY - OF_THE_LOG


def report(*, rounds: int = 1) -> LeakReport:
    """Every surface that programs have, with a quick embedder."""
    return leak_report(quick_surfaces, Embedding(HashEmbedder(), WordCounter()), rounds=rounds, seed=SEED)


@contextmanager
def selected_surfaces(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
    """Those that answer about selected text, commands among them."""
    with every_surface(settings, embedding) as surfaces:
        yield [one for one in surfaces if one.is_about_selection]


def surfaces_of(leaks: Iterable[Leak]) -> set[str]:
    return {one.surface for one in leaks}


def test_nothing_leaks_on_any_surface_and_nothing_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_leaks(rounds=1, seed=SEED, as_json=True) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["surfaces"].keys() == {one.name for one in SURFACES}
    assert (said["rounds"], said["seed"], said["leaks"], said["missing"]) == (1, SEED, [], [])
    assert said["principals"] > 5
    assert said["documents"] > 25


def test_without_any_access_rule_every_surface_of_a_library_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Query, "where", property(lambda query: Where(query.scope, None, query.conditions)))
    found = report()
    assert surfaces_of(found.leaks) >= OF_QUESTIONS
    assert {"text", "id", "count", "rank"} <= {one.kind for one in found.leaks}


def test_a_search_in_another_tenants_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scope is not the asker's but the last one that was written to."""
    last: list[Any] = []
    write = LocalIndex.write

    def noted(self: LocalIndex, scope: Any, **rest: Any) -> None:
        last[:] = [scope]
        write(self, scope, **rest)

    monkeypatch.setattr(LocalIndex, "write", noted)
    monkeypatch.setattr(Query, "where", property(lambda query: Where(last[0], query.principal.readers)))
    assert {"text", "id"} <= {one.kind for one in report().leaks}


@pytest.fixture
def _trusted_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydration reads whatever the index found, whoever asks."""
    read = SqlitePassages.passages

    def unchecked(self: SqlitePassages, ids: Sequence[ChunkId], *, where: Where) -> Hydrated:
        return read(self, ids, where=replace(where, readers=None))

    monkeypatch.setattr(SqlitePassages, "passages", unchecked)


@pytest.mark.usefixtures("_trusted_index")
def test_without_the_second_check_what_a_lagging_index_believes_is_shown() -> None:
    found = report()
    assert {one.phase for one in found.leaks if one.surface in OF_QUESTIONS} == {LAGGING}
    assert surfaces_of(found.leaks) >= OF_THE_LOG  # which no index stands before
    assert "Library.search" in surfaces_of(one for one in found.leaks if one.kind == "text")


def test_a_ranking_that_hides_what_may_be_seen_is_missing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = property(lambda query: Where(query.scope, frozenset(), query.conditions))
    monkeypatch.setattr(Query, "where", nobody)
    found = report()
    assert found.leaks == ()
    assert surfaces_of(found.missing) >= {"Library.search"}
    assert not found.is_tight


def test_what_a_refusal_suggests_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.answer.ask.topics", lambda findings: ("The winch zqforeign",))
    assert surfaces_of(report().leaks) == {"Library.ask", "answer as JSON", "Library.stream"}


def test_what_a_refusal_about_a_selection_suggests_is_looked_at_on_every_surface(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("citewise.answer.ask_selected.OFFER", "Read about zqforeign instead.")
    found = leak_report(selected_surfaces, embedding_of(Settings()), rounds=1, seed=SEED)
    assert surfaces_of(found.leaks) == {one.name for one in SURFACES if one.is_about_selection}


def test_a_mark_that_comes_in_two_pieces_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = AskSelected.__call__

    def cut(self: AskSelected, *said: Any, **more: Any) -> Iterator[AnswerEvent]:
        yield from (Token("z"), Token("qforeign"))
        yield from stream(self, *said, **more)

    monkeypatch.setattr(AskSelected, "__call__", cut)
    assert surfaces_of(report().leaks) == {"Library.stream of a selection"}


@pytest.fixture
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways that a million chunks are searched, taken by a few dozen."""
    monkeypatch.setattr("citewise.adapters.local_index.index.LARGE", 0)
    monkeypatch.setattr("citewise.adapters.local_index.vectors.LARGE", 0)
    monkeypatch.setattr("citewise.adapters.local_index.vectors.MOST", 0.01)  # of 0 nobody knows the share
    monkeypatch.setattr("citewise.adapters.local_index.vectors.SIGNS_FROM", 0)
    monkeypatch.setattr("citewise.adapters.local_index.vectors.MIN_DIMENSIONS", 0)
    monkeypatch.setattr("citewise.adapters.local_index.vectors.EXACT_FROM_FILES", 0)


@pytest.mark.usefixtures("_large")
def test_nothing_leaks_from_a_large_library_and_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: Counter[str] = Counter()
    check, scan = narrowing.checked_after, scans.SignsFirst.best

    def checked(*given: Any) -> Any:
        found = check(*given)
        taken["checked after"] += found is not None
        return found

    def scanned(*given: Any) -> Any:
        taken["signs first"] += 1
        return scan(*given)

    monkeypatch.setattr("citewise.adapters.local_index.words.checked_after", checked)
    monkeypatch.setattr(scans.SignsFirst, "best", scanned)
    found = report(rounds=2)
    assert (found.leaks, found.missing) == ((), ())
    assert taken["checked after"] > 50
    assert taken["signs first"] > 50


@pytest.mark.usefixtures("_large")
def test_a_large_library_that_does_not_check_after_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(searcher: Any, query: Any, *_: Any) -> Any:
        return searcher.search(query, limit=1000, count=False).hits

    monkeypatch.setattr("citewise.adapters.local_index.words.checked_after", unchecked)
    assert {"count", "rank"} <= {one.kind for one in report().leaks}


@pytest.mark.usefixtures("_large")
def test_a_scan_of_signs_that_forgets_the_filter_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = scans.SignsFirst.best

    def unfiltered(self: scans.SignsFirst, query: Any, admitted: scans.Admitted, wanted: int) -> scans.Found:
        rows = sum(map(len, self._codes))
        return scan(self, query, scans.Admitted(rows, None), wanted)

    monkeypatch.setattr(scans.SignsFirst, "best", unfiltered)
    assert "count" in {one.kind for one in report().leaks}


def test_whoever_watches_is_told_of_every_phase() -> None:
    steps: list[Step] = []
    embedding = Embedding(HashEmbedder(), WordCounter())
    leak_report(quick_surfaces, embedding, rounds=2, seed=SEED, on_step=steps.append)
    assert [(one.done, one.total) for one in steps] == [(done, 6) for done in range(6)]
    assert [one.doing for one in steps][2:4] == ["round 1, changed", "round 2, as ingested"]


def test_the_bar_is_on_a_terminal_and_in_nothing_that_commands_print(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if there were one
    monkeypatch.setenv("TERM", "xterm")
    caught: list[str] = []

    @contextmanager
    def slow(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
        def show(asking: Asking) -> Shown:
            out = io.StringIO()
            with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
                time.sleep(0.3)  # the bar is drawn ten times a second
            caught.append(out.getvalue())
            return Shown("")

        yield [Surface("slow", show, is_quick=False, is_about_selection=True)]

    monkeypatch.setattr("citewise.cli.eval_leaks.every_surface", slow)
    assert run_leaks(rounds=1, seed=SEED, as_json=False) == 0
    said = capsys.readouterr()
    assert "round 1, as ingested" in said.err
    assert set(caught) == {""}
    assert "on 1 surface, by " in said.out
    assert "in 1 round with seed" in said.out


@contextmanager
def commands(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
    with every_surface(settings, embedding) as surfaces:
        yield [one for one in surfaces if not one.is_quick and not one.is_about_selection]


def test_a_command_that_forgets_who_asks_is_named_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("citewise.cli.eval_leaks.every_surface", commands)
    monkeypatch.setattr("citewise.cli.options.principal_of", lambda user, groups: LOCAL_PRINCIPAL)
    assert run_leaks(rounds=1, seed=SEED, as_json=False) == 1
    said = capsys.readouterr().out
    assert re.search(
        r"^LEAK \(text\) on citewise (search|ask).*, to (user|group) .* in .*: 'zq\w+' in ", said, re.MULTILINE
    )
    assert f"citewise eval leaks --rounds 1 --seed {SEED}" in said


@pytest.mark.parametrize("name", ["citewise eval"])
def test_an_evaluation_that_forgets_whose_eyes_it_has_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def one(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
        with every_surface(settings, embedding) as surfaces:
            yield [each for each in surfaces if each.name == name]

    monkeypatch.setattr("citewise.cli.options.principal_of", lambda user, groups: LOCAL_PRINCIPAL)
    found = leak_report(one, embedding_of(Settings()), rounds=1, seed=SEED)
    assert {each.kind for each in found.leaks} >= {"text"}


def test_other_places_that_move_a_score_are_noticed() -> None:
    """A surface whose scores depend on how many places the library has."""

    @contextmanager
    def doors(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
        with quick_surfaces(settings, embedding) as (search, *_):
            places = len(list((settings.library.parent / "pages").iterdir()))

            def moved(asking: Asking) -> Shown | None:
                shown = search.show(asking)
                return shown and replace(shown, scores=tuple((id_, score / places) for id_, score in shown.scores))

            yield [replace(search, show=moved)]

    found = leak_report(doors, Embedding(HashEmbedder(), WordCounter()), rounds=2, seed=SEED)
    assert {(one.surface, one.kind) for one in found.leaks} == {("Library.search", "wall")}


def test_surfaces_that_only_show_errors_are_missing_what_may_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object, **__: object) -> None:
        raise Unavailable("the store is away")

    monkeypatch.setattr("citewise.wiring.searching.Searching.__call__", down)
    found = report()
    assert not found.is_tight
    assert surfaces_of(found.missing) >= OF_QUESTIONS


def test_a_log_that_names_documents_to_anybody_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody was shown once, they may no longer see."""

    def unguarded(scope: Scope, readers: object, conditions: tuple[Condition, ...] = ()) -> Where:
        return Where(scope, None, conditions)

    monkeypatch.setattr("citewise.insights.Where", unguarded)
    monkeypatch.setattr("citewise.api.Where", unguarded)
    assert surfaces_of(report(rounds=2).leaks) == OF_THE_LOG


def test_a_memory_that_mixes_up_readers_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.search.cached.bucket_parts", lambda query: ("anybody",))
    assert surfaces_of(report().leaks) & {"Library.search", "Library.search, asked again"}


def test_a_suite_without_rounds_is_refused() -> None:
    with pytest.raises(BadRequest, match="at least 1"):
        run_leaks(rounds=0, seed=1, as_json=False)
