"""The whole search over a small library: real catalog and index, a deterministic embedder."""

import hashlib
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from citewise.cli.results import search_json
from citewise.errors import Unavailable
from citewise.ingest.targets import IngestOptions
from citewise.model.access import Principal, Scope
from citewise.model.filters import AnyOf
from tests.pipelines.harness import Shelf, a_question, documents
from tests.stores import seal_again
from tests.unit.test_service_cache import CountingEmbedder

PAGES = {
    "tides.md": "# Tides\n\n## Reading the gauge\n\nThe tide gauge is read at noon and at midnight.\n\n"
    "## Springs\n\nSpring tides come twice a month.\n",
    "ferries.md": "---\ntags: [boats]\n---\n# Ferries\n\nThe ferry to the island leaves at noon.\n",
    "code/radio.md": "# Radio\n\n```python\ndef openChannel(frequency_mhz):\n    tune(frequency_mhz)\n```\n",
    "nets.md": "# Nets\n\nNets are mended in winter by the quay.\n",
}

LIDAR = "module-1/chapter-02-sensing/lidar.md"
SENSORS = "# Sensors\n\n## Lidar\n\nA lidar measures distance by light.\n\n```python\nscan()\n```\n"
REFINEMENTS = ("features", "late", "rerank", "demote", "freshness", "boost", "dedup", "cut")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES)


def test_the_passage_that_says_it_comes_first_with_its_place(shelf: Shelf) -> None:
    found = shelf.search("When is the tide gauge read?")
    first = found.findings[0]
    assert first.passage.section == "Reading the gauge"
    assert first.passage.breadcrumb == ("Tides", "Reading the gauge")
    assert first.url is None  # no site is known
    assert (first.passage.location.first, first.passage.location.last) == (1, 5)


def test_every_hit_shows_what_each_ranking_and_stage_gave_it(shelf: Shelf) -> None:
    first = shelf.search("tide gauge read at noon").findings[0].candidate
    stages = {"dense", "words", "code", "fused", "title", "proximity", "features"}
    assert set(first.scores) == stages
    assert set(first.ranks) == {"dense", "words", "code"}
    assert all(0.0 <= one.score <= 1.0 for one in shelf.search("tide gauge").findings)


def test_code_is_found_by_the_parts_of_its_names(shelf: Shelf) -> None:
    found = shelf.search("open channel frequency")
    assert documents(found)[0] == "code/radio.md"
    assert found.findings[0].candidate.ranks["code"] == 1


def test_stages_are_timed_and_the_total_is_their_frame(shelf: Shelf) -> None:
    timings = shelf.search("ferry").timings_ms
    stages = ("embed", "dense", "words", "code", "rankings", "fuse", "hydrate", *REFINEMENTS)
    assert tuple(timings) == (*stages, "total")
    assert timings["total"] >= timings["rankings"] + timings["fuse"] + timings["hydrate"]


def test_the_total_is_no_more_than_what_passed_on_the_clock(shelf: Shelf) -> None:
    with shelf.searching() as search:
        started = time.perf_counter()
        timings = search(a_question("ferry")).timings_ms
        passed = 1000 * (time.perf_counter() - started)
    sequential = ("rankings", "fuse", "hydrate", *REFINEMENTS)
    assert sum(timings[stage] for stage in sequential) <= timings["total"] <= passed


def test_the_total_of_an_answer_is_no_more_than_what_passed_on_the_clock(shelf: Shelf) -> None:
    with shelf.library() as library:
        library.as_owner().ask("When is the tide gauge read?")
        started = time.perf_counter()
        timings = library.as_owner().ask("Who reads the tide gauge, and when?").result.timings_ms
        passed = 1000 * (time.perf_counter() - started)
    assert timings["rankings"] + timings["ground"] + timings["generate"] <= timings["total"] <= passed


def test_every_step_says_how_many_it_left(shelf: Shelf) -> None:
    counts = shelf.search("noon", top_k=2).counts
    assert tuple(counts) == ("candidates", "hydrated", *REFINEMENTS)
    assert counts["candidates"] >= counts["hydrated"] >= counts["dedup"] >= counts["cut"] == 2


def test_fewer_asked_for_are_the_head_of_more(shelf: Shelf) -> None:
    many = shelf.search("noon", top_k=20).findings
    few = shelf.search("noon", top_k=2)
    assert few.findings == many[:2]
    assert few.total_candidates == len(many)
    assert {one.stage for one in few.dropped} == {"cut"}


def test_the_same_question_gives_the_same_order(shelf: Shelf) -> None:
    assert shelf.search("noon tide ferry").findings == shelf.search("noon tide ferry").findings


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (AnyOf("tags", frozenset({"boats"})), {"ferries.md"}),
        (AnyOf("document", frozenset({"nets.md", "tides.md"})), {"nets.md", "tides.md"}),
        (AnyOf("has_code", frozenset({"true"})), {"code/radio.md"}),
        (AnyOf("has_code", frozenset({"false"})), {"tides.md", "ferries.md", "nets.md"}),
        (AnyOf("language", frozenset({"python"})), {"code/radio.md"}),
        (AnyOf("service", frozenset({"auth"})), set()),
    ],
)
def test_filters_hold_in_every_ranking(shelf: Shelf, condition: AnyOf, expected: set[str]) -> None:
    assert set(documents(shelf.search("noon winter radio tide", conditions=(condition,)))) == expected


def test_an_unknown_scope_and_an_empty_library_find_nothing(shelf: Shelf, tmp_path: Path) -> None:
    assert shelf.search("noon", scope=Scope("other", "project")).findings == ()
    assert Shelf.holding(tmp_path / "empty", {}).search("noon").findings == ()


def test_a_stale_index_shows_nothing_that_the_catalog_forbids(shelf: Shelf) -> None:
    shelf.write("secret.md", "# Secret\n\nThe secret ferry leaves at midnight.\n")
    shelf.ingest(shelf.docs / "secret.md", IngestOptions(access=("public",)))
    edit(shelf, "UPDATE documents SET access = ',owner:ann,' WHERE path = ?")
    seal_again(shelf.generation / "catalog.db")
    found = shelf.search("secret ferry midnight", principal=Principal("bob"))
    assert "secret.md" not in documents(found)
    assert "hydrate" not in {one.stage for one in found.dropped}  # not even that there is something


def test_a_record_that_cannot_be_read_is_left_out_and_made_anew_by_the_next_ingestion(shelf: Shelf) -> None:
    edit(
        shelf,
        "UPDATE chunks SET breadcrumb = '{' WHERE document_id IN (SELECT id FROM documents WHERE path = ?)",
        "nets.md",
    )
    found = shelf.search("nets mended in winter")
    assert "nets.md" not in documents(found)
    assert found.findings
    assert shelf.ingest().ingested == 1
    assert documents(shelf.search("nets mended in winter"))[0] == "nets.md"


def test_without_its_embedder_a_search_goes_on_with_words_and_says_so(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.embedder.query = raises(Unavailable("the embedding server is gone"))  # type: ignore[method-assign]
    found = shelf.search("tide gauge")
    assert documents(found)[0] == "tides.md"
    assert found.degraded == ("dense: not available",)
    assert "dense: the embedding server is gone" in caplog.text
    assert "dense" not in found.findings[0].candidate.scores


def test_without_any_ranking_it_is_unavailable(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.embedder.query = raises(Unavailable("gone"))  # type: ignore[method-assign]
    monkeypatch.setattr("citewise.adapters.local_index.texts.LocalTextIndex.search", raises(Unavailable("gone too")))
    with pytest.raises(Unavailable, match="no ranking could answer"):
        shelf.search("tide gauge")


def test_a_graph_that_is_not_there_is_named(shelf: Shelf) -> None:
    assert shelf.search("tide", expand_graph=True).degraded == ("graph: this library has no service graph",)


def test_a_hit_shows_what_is_stored_about_its_chunk(tmp_path: Path) -> None:
    hits = search_json(Shelf.holding(tmp_path, {LIDAR: SENSORS}).search("What does a lidar measure?"))["hits"]
    assert isinstance(hits, list)
    hit = hits[0]
    text = str(hit["text"])
    assert hit["content_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert hit["word_count"] == len(text.split())
    assert isinstance(hit["token_count"], int)
    assert hit["token_count"] > 0
    assert hit["chunk_index"] == 0
    assert (hit["chapter_number"], hit["chapter_title"]) == (2, "Sensing")
    assert hit["context_prefix"] == "Sensors > Lidar"
    assert hit["has_code"] is True
    assert hit["has_equations"] is False
    assert datetime.fromisoformat(str(hit["created_at"])) <= datetime.now(UTC)


def test_a_document_that_changes_keeps_the_time_of_its_first_ingestion(tmp_path: Path) -> None:
    shelf = Shelf.holding(tmp_path, {LIDAR: SENSORS})
    first = shelf.search("lidar").findings[0].passage.created_at
    shelf.write(LIDAR, SENSORS.replace("light", "laser light"))
    shelf.ingest()
    again = shelf.search("lidar").findings[0].passage
    assert "laser light" in again.text
    assert again.created_at == first


def test_an_answer_embeds_its_question_once_for_search_sources_and_cache(shelf: Shelf) -> None:
    embedder = CountingEmbedder()
    with shelf.library(embedder=embedder) as library:
        answer = library.as_owner().ask("When is the tide gauge read?")
    assert answer.citations
    assert embedder.embedded == []  # the vectors of words that were stored tell how near blocks are
    assert embedder.queries == ["When is the tide gauge read?"]


def edit(shelf: Shelf, statement: str, path: str = "secret.md") -> None:
    """Change the catalog behind the index's back."""
    with closing(sqlite3.connect(shelf.generation / "catalog.db")) as connection, connection:
        connection.execute(statement, (path,))


def raises(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail
