"""The query log of a real library: from settings to what the commands print."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from citewise import maintenance
from citewise.adapters.memory.query_log import NoLog
from citewise.cli.main import app
from citewise.errors import BadRequest, Misconfigured
from citewise.ingest.targets import IngestOptions
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.ranking import SearchResult
from citewise.model.report import Check
from citewise.service import Service
from citewise.settings import Settings
from citewise.wiring import LOG_FILE, log_store_of, query_log_of, stored_library, upkeep_of
from tests.builders import DAY, a_row
from tests.fakes.searchable import FakeLibrary, no_answers
from tests.pipelines.harness import Shelf, a_question

ANN = Principal("ann")
NOW = 1_704_110_400.0  # 2024-01-01 12:00 UTC
PAGES = {
    "tides.md": "# Tides\n\nThe tide gauge is read at noon.\n",
    "nets.md": "# Nets\n\nNets dry on the quay.\n",
}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES, query_log={"retention_days": 1e6})  # whatever day it is, NOW is kept


@contextmanager
def logging_search(shelf: Shelf) -> Iterator[Any]:
    """Searches as the product composes them; what they leave is written when the block ends."""
    log = query_log_of(shelf.settings)
    with shelf.searching() as search:
        service = Service(FakeLibrary(search), no_answers, log=log)

        def ask(text: str, *, who: Principal = OWNER, at: float = NOW) -> SearchResult:
            return service.search(a_question(text, asked_at=at, principal=who))

        yield ask
    log.flush()


def log_file(shelf: Shelf) -> Path:
    return shelf.settings.library / LOG_FILE


def sweep_log(shelf: Shelf) -> None:
    store = log_store_of(shelf.settings)
    stored_library(shelf.settings).read(lambda catalog: maintenance.sweep_log(catalog, store))


def log_check(shelf: Shelf) -> Check:
    return maintenance.log_check(stored_library(shelf.settings), upkeep_of(shelf.settings))


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def run(shelf: Shelf, command: str, *flags: object, who: Principal = OWNER, since: str = "2000-01-01") -> None:
    config = shelf.settings.library.parent / "citewise.toml"
    config.write_text(f"[query_log]\nretention_days = {shelf.settings.query_log.retention_days}\n")
    words = [command, "--library", shelf.settings.library, "--config", config, "--since", since, *flags]
    words += [] if who.user is None else ["--user", who.user]
    assert app.main(list(map(str, words)), standalone_mode=False) is None


def log_of(
    shelf: Shelf, capsys: pytest.CaptureFixture[str], who: Principal = OWNER, since: str = "2000-01-01"
) -> list[Any]:
    run(shelf, "log", "--json", who=who, since=since)
    return list(printed(capsys)["queries"])


def test_a_question_is_in_the_log_with_what_was_shown_for_it(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    with logging_search(shelf) as ask:
        found = ask("tide gauge", who=ANN)
    (row,) = log_of(shelf, capsys, ANN)
    assert (row["query"], row["kind"], row["user"], row["at"]) == (
        "tide gauge",
        "search",
        "ann",
        "2024-01-01T12:00:00Z",
    )
    assert (row["hits"], row["total_candidates"]) == (len(found.findings), found.total_candidates)
    assert row["chunk_ids"] == [one.passage.chunk_id for one in found.findings]
    assert {one["document"] for one in row["documents"]} == {"tides.md", "nets.md"}
    assert row["latency_ms"] > 0
    assert row["conversation"] is None


def test_the_words_are_kept_as_the_settings_say(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    for kept in ("full", "masked", "none"):
        shelf.with_settings(query_log=replace(shelf.settings.query_log, text=kept))
        with logging_search(shelf) as ask:
            ask("tides for ann@example.org")
    words = [row["query"] for row in log_of(shelf, capsys)]
    assert words == [None, "tides for <address>", "tides for ann@example.org"]


def test_without_retention_there_is_no_log_and_a_sweep_removes_an_old_one(shelf: Shelf) -> None:
    with logging_search(shelf) as ask:
        ask("tide gauge")
    shelf.with_settings(query_log={"retention_days": 0})
    assert isinstance(query_log_of(shelf.settings), NoLog)
    assert shelf.library().as_owner().log(limit=9) == ()
    assert log_check(shelf).is_ok
    sweep_log(shelf)
    assert not log_file(shelf).exists()


def test_no_more_rows_are_kept_than_the_settings_say(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.with_settings(query_log=replace(shelf.settings.query_log, rows=2))
    with logging_search(shelf) as ask:
        for at, text in enumerate(("tide gauge", "nets", "quay")):
            ask(text, at=NOW + at)
    assert [row["query"] for row in log_of(shelf, capsys)] == ["quay", "nets"]


def test_a_sweep_forgets_documents_that_are_gone(shelf: Shelf) -> None:
    with logging_search(shelf) as ask:
        ask("tide gauge")
    store = log_store_of(shelf.settings)
    (shelf.docs / "tides.md").unlink()
    shelf.ingest()
    assert len(store.shown()) == 2
    sweep_log(shelf)
    assert len(store.shown()) == 1


def test_a_broken_file_fails_no_search_and_is_said_once(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    log_file(shelf).write_bytes(b"no database" * 1000)
    with caplog.at_level(logging.WARNING), logging_search(shelf) as ask:
        assert ask("tide gauge").findings
        assert ask("nets").findings
    assert len(caplog.records) == 1
    assert "not logged" in caplog.text
    check = log_check(shelf)
    assert not check.is_ok
    assert "damaged" in check.detail
    assert "move the file away" in check.remedy


@pytest.mark.parametrize("changes", [{"rows": 0}, {"queue": 0}, {"retention_days": -1.0}])
def test_a_bound_that_keeps_nothing_is_refused_with_what_it_can_be(changes: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured, match=r"query_log\.\w+ must be at least [01]"):
        Settings().changed(query_log=changes)


def test_the_doctor_tells_of_dropped_rows(shelf: Shelf) -> None:
    assert log_check(shelf).is_ok
    log_store_of(shelf.settings).write([], lost={Scope(): 12})
    check = log_check(shelf)
    assert "12 dropped" in check.detail
    assert "query_log.queue" in check.remedy


def test_statistics_in_json_have_every_figure(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    with logging_search(shelf) as ask:
        for _ in range(3):
            ask("tide gauge")
        ask("nets", who=ANN, at=NOW - DAY)
    run(shelf, "stats", "--json")
    found = printed(capsys)
    assert (found["queries"], found["kinds"], found["dropped"]) == (4, {"search": 4, "ask": 0}, 0)
    assert [one["queries"] for one in found["per_day"]] == [1, 3]
    assert found["latency_ms"].keys() == {"p50", "p95", "p99"}
    assert (found["cache_hit_rate"], found["degraded"]["share"], found["unanswered"]["count"]) == (0.0, 0.0, 0)
    assert {one["document"]: one["queries"] for one in found["top_documents"]} == {"tides.md": 4, "nets.md": 4}
    run(shelf, "stats", "--json", who=ANN)
    own = printed(capsys)
    assert (own["queries"], own["dropped"]) == (1, None)


def test_a_reader_is_told_nothing_of_what_others_asked(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    file = shelf.write("secret.md", "# Heron\n\nThe heron nests behind the lighthouse.\n")
    shelf.ingest(file, IngestOptions(access=("owner:bob",)))
    with logging_search(shelf) as ask:
        for _ in range(3):
            ask("heron lighthouse", who=Principal("bob"))
    for words in (("log",), ("log", "--json"), ("stats",), ("stats", "--json")):
        run(shelf, *words, who=ANN)
        assert "eron" not in capsys.readouterr().out
    run(shelf, "stats", "--plot", shelf.docs / "plot.html", who=ANN)
    assert "eron" not in (shelf.docs / "plot.html").read_text()
    run(shelf, "stats", "--plot", shelf.docs / "plot.html")
    assert "Heron" in (shelf.docs / "plot.html").read_text()


def test_tables_show_the_same_to_people(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    with logging_search(shelf) as ask:
        ask("tide gauge\twith a tab", who=ANN)
        ask("nets", at=time.time() - 60)  # of late: what is popular is
    run(shelf, "log")
    told = capsys.readouterr().out
    assert "2024-01-01 12:00" in told
    assert "\t" not in told
    assert "ann" in told
    run(shelf, "stats")
    told = capsys.readouterr().out
    assert "2 search" in told
    assert "tides.md" in told


def test_a_long_question_without_an_answer_is_cut_in_a_list(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    row = replace(a_row("tide " * 300, hits=0, at=NOW), scope=Scope())
    log_store_of(shelf.settings).write([row], lost={})
    run(shelf, "stats")
    told = capsys.readouterr().out
    assert "Unanswered" in told
    assert "…" in told
    assert told.count("tide") < 40


def test_an_empty_log_says_so(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    run(shelf, "log")
    run(shelf, "stats")
    assert capsys.readouterr().out.count("No queries in this period that you may see.") == 2


@pytest.mark.parametrize("command", ["log", "stats"])
def test_a_folder_in_the_logs_place_is_no_empty_log(shelf: Shelf, command: str) -> None:
    log_file(shelf).mkdir()
    with pytest.raises(Misconfigured, match="it is not a regular file; move it away"):
        run(shelf, command)
    assert "not a regular file" in log_check(shelf).detail


def test_a_plot_that_cannot_be_written_is_said_before_anything_is_read(shelf: Shelf) -> None:
    with pytest.raises(BadRequest, match="no folder"):
        run(shelf, "stats", "--plot", shelf.docs / "nowhere" / "plot.html")
    log_store_of(shelf.settings).write([], lost={})
    with pytest.raises(BadRequest, match="read or written already"):
        run(shelf, "stats", "--plot", log_file(shelf))


@pytest.mark.parametrize(
    ("since", "asked"),
    [
        ("2024-01-01T12:00", ["lately", "at noon"]),
        ("2024-01-01T13:00+01:00", ["lately", "at noon"]),
        ("2024-01-01", ["lately", "at noon"]),
        ("2024-01-01T12:01", ["lately"]),
        ("2024-01-02", ["lately"]),
        (" 90m ", ["lately"]),
        ("2h", ["lately"]),
        ("30m", []),
    ],
)
def test_since_is_a_while_ago_or_a_date(
    shelf: Shelf, capsys: pytest.CaptureFixture[str], since: str, asked: list[str]
) -> None:
    with logging_search(shelf) as ask:
        ask("at noon")
        ask("lately", at=time.time() - 3600)
    assert [row["query"] for row in log_of(shelf, capsys, since=since)] == asked


@pytest.mark.parametrize("text", ["", "yesterday", "-3d", "7 days", "999999w", "2027-13-01"])
def test_another_since_is_refused_with_examples(shelf: Shelf, text: str) -> None:
    with pytest.raises(click.UsageError, match="24h"):
        run(shelf, "log", since=text)
