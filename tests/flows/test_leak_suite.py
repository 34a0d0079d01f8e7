"""The leak suite finds nothing in the product as it is, and finds the hole in each product that was broken for it."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from citewise.adapters.catalog.passages import SqlitePassages
from citewise.adapters.index.local import LocalIndex
from citewise.entry.cli.eval_leaks import run_leaks
from citewise.entry.leak_surfaces import SURFACES, every_surface, quick_surfaces
from citewise.evaluate.leaks import Asking, Leak, LeakReport, Shown
from citewise.model.errors import BadRequest, Unavailable
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.scope import LOCAL_PRINCIPAL
from citewise.model.where import Where
from citewise.ports.passages import Hydrated
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.leaking import LAGGING, Surface, leak_report
from tests.fakes.counters import HashEmbedder, WordCounter

SEED = 3
OF_A_LIBRARY = {one.name for one in SURFACES if one.is_quick and not one.is_about_selection}


def report(*, rounds: int = 1) -> LeakReport:
    """Every surface that programs have, with a quick embedder."""
    return leak_report(quick_surfaces, Embedding(HashEmbedder(), WordCounter()), rounds=rounds, seed=SEED)


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
    assert surfaces_of(found.leaks) == OF_A_LIBRARY
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
    assert {one.phase for one in found.leaks} == {LAGGING}
    assert "Library.search" in surfaces_of(one for one in found.leaks if one.kind == "text")


def test_a_ranking_that_hides_what_may_be_seen_is_missing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = property(lambda query: Where(query.scope, frozenset(), query.conditions))
    monkeypatch.setattr(Query, "where", nobody)
    found = report()
    assert found.leaks == ()
    assert surfaces_of(found.missing) >= {"Library.search"}
    assert not found.is_tight


@contextmanager
def commands(settings: Settings, embedding: Embedding) -> Iterator[Sequence[Surface]]:
    with every_surface(settings, embedding) as surfaces:
        yield [one for one in surfaces if not one.is_quick and not one.is_about_selection]


def test_a_command_that_forgets_who_asks_is_named_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("citewise.entry.cli.eval_leaks.every_surface", commands)
    monkeypatch.setattr("citewise.entry.cli.options.principal_of", lambda user, groups: LOCAL_PRINCIPAL)
    assert run_leaks(rounds=1, seed=SEED, as_json=False) == 1
    said = capsys.readouterr().out
    assert re.search(
        r"^LEAK \(text\) on citewise (search|ask).*, to (user|group) .* in .*: 'zq\w+' in ", said, re.MULTILINE
    )
    assert f"citewise eval leaks --rounds 1 --seed {SEED}" in said


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

    monkeypatch.setattr("citewise.wiring.answering.Answering.search", down)
    found = report()
    assert not found.is_tight
    assert surfaces_of(found.missing) >= OF_A_LIBRARY


def test_a_suite_without_rounds_is_refused() -> None:
    with pytest.raises(BadRequest, match="at least 1"):
        run_leaks(rounds=0, seed=1, as_json=False)
