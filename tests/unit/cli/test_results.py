"""What people see of a search that had every ranking and stage."""

import pytest

from citewise.cli.results import show_search
from citewise.model.query import Query
from citewise.model.ranking import RANKINGS, SCORES, Candidate, Dropped, Finding, SearchResult
from tests.builders import a_passage, a_query


def explained(query: Query, capsys: pytest.CaptureFixture[str], *names: str) -> list[str]:
    passage = a_passage(document="ops/tides.md", lines=(12, 14))
    ranks = {ranking: 100 for ranking in RANKINGS}
    candidate = Candidate(passage.chunk_id, 0.5, dict.fromkeys(names, 14.2345), ranks)
    dropped = (
        Dropped(candidate, "dedup", "says the same", "ops/nets.md:7"),
        Dropped(candidate, "hydrate", "its record is damaged"),
    )
    result = SearchResult(query, (Finding(passage, candidate),), 3, {"total": 1.0}, dropped=dropped)
    show_search(result, None, explain=True)
    return capsys.readouterr().out.splitlines()


def test_an_explanation_of_every_stage_fits_100_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(a_query("tide"), capsys, *SCORES)
    assert max(map(len, lines)) <= 100
    assert lines[2].split()[:4] == ["100", "14.23", "100", "14.23"]


def test_what_is_on_without_any_settings_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(
        a_query("tide"), capsys, *(name for name in SCORES if name not in ("rerank", "freshness", "boost"))
    )
    assert {"word", "late", "lower"} <= {*lines[0].split()}
    assert max(map(len, lines[:2])) <= 80


def test_a_stage_that_gave_no_score_has_no_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(a_query("tide"), capsys, "dense", "fused")[0].split() == ["dense", "fused", "final"]


def test_what_was_dropped_is_named_by_its_place_where_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(a_query("tide"), capsys, "fused")
    assert " -  ops/nets.md:7  (dedup: says the same)" in lines
    assert any(line.endswith("  (hydrate: its record is damaged)") for line in lines)
