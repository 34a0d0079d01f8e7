"""Every setting of search and answers reaches the part that it is for."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewise import Library, Misconfigured, Selection
from citewise.ingest.targets import IngestOptions
from citewise.model.query import BoostRule
from citewise.model.ranking import Candidate
from citewise.ports.models import Reranker
from citewise.search.adjust import Freshness
from citewise.search.fuse import MinMax, Nearness, ReciprocalRanks
from citewise.search.pipeline import Search, Turns
from citewise.settings import Settings
from citewise.wiring import search_of
from citewise.wiring_models import reranker_of
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fakes.scripted_generator import ScriptedGenerator
from tests.pipelines.harness import Shelf

PAGES = {
    **{f"page-{at:02}.md": f"# Page {at}\n\nBoat number{at} sails at {at} o'clock.\n" for at in range(40)},
    # By words the first is best; by the meaning of the hash embedder the second, which has the little words as well.
    "words.md": "# Tide\n\nTide read, quay, quay tide.\n",
    "meaning.md": "# When\n\nWhen is it that the one is at the other, and is it at the tide?\n",
    "gauge.md": "# Gauge\n\nThe tide gauge is read at noon by the harbor master.\n",
}
QUESTION = "When is it that the tide is read at the quay?"
BAD_ADDRESSES = ("http://[::1", "http://host:abc/")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.holding(tmp_path_factory.mktemp("wired"), PAGES)


def searching(shelf: Shelf, **changes: Any) -> Settings:
    return shelf.settings.changed(search=changes)


def wired(shelf: Shelf, settings: Settings) -> Search:
    with shelf.opened() as library, ThreadPoolExecutor(1) as threads:
        return search_of(
            replace(library, stored=replace(library.stored, settings=settings)), reranker=None, threads=threads
        )


def candidates(shelf: Shelf, settings: Settings) -> list[Candidate]:
    with shelf.library(settings) as library:
        return [one.candidate for one in library.as_owner().search(QUESTION).findings]


class CountingReranker:
    """Finds everything equally good, and remembers how much it was given."""

    name = "counting"

    def __init__(self) -> None:
        self.read = 0

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        self.read = len(texts)
        return (0.5,) * len(texts)


class Both(HashEmbedder, WordCounter):
    """An embedder that counts its own tokens, as a model in a folder does."""


# Search


@pytest.mark.parametrize("ranking", ["dense", "words"])
def test_the_ranking_that_has_all_the_weight_decides(shelf: Shelf, ranking: str) -> None:
    found = candidates(shelf, searching(shelf, weights={ranking: 1.0}, features={}))
    places = [one.ranks[ranking] for one in found if ranking in one.ranks]
    assert places[0] == 1
    assert places == sorted(places)


def test_the_rankings_really_differ_on_this_corpus(shelf: Shelf) -> None:
    firsts = {
        ranking: candidates(shelf, searching(shelf, weights={ranking: 1.0}))[0].id for ranking in ("dense", "words")
    }
    assert firsts["dense"] != firsts["words"]


def test_fusion_by_ranks_counts_places_alone(shelf: Shelf) -> None:
    for one in candidates(shelf, searching(shelf, fusion="rrf")):
        places = sum(1 / (60 + rank) for rank in one.ranks.values())
        assert one.scores["fused"] == pytest.approx(places / (3 / 61))


@pytest.mark.parametrize(
    ("changes", "fusion"),
    [
        ({}, MinMax()),
        ({"fusion": "nearness"}, Nearness()),
        ({"fusion": "rrf"}, ReciprocalRanks()),
        ({"fusion": "minmax", "weights": {"words": 2.0}}, MinMax({"words": 2.0})),
        ({"fusion": "rrf", "weights": {"code": 1.0}}, ReciprocalRanks({"code": 1.0})),
    ],
)
def test_the_fusion_is_the_one_that_is_set_with_its_weights(
    shelf: Shelf, changes: Mapping[str, Any], fusion: object
) -> None:
    assert wired(shelf, searching(shelf, **changes)).fuse == fusion


def test_freshness_has_the_half_life_and_weight_that_are_set(shelf: Shelf) -> None:
    refine = wired(shelf, searching(shelf, half_life_days=7.0, freshness_weight=0.6)).refine
    assert Freshness(half_life_days=7.0, weight=0.6) in refine


def test_features_weigh_what_is_set_and_none_are_looked_at_without_weights(shelf: Shelf) -> None:
    title = candidates(shelf, searching(shelf, features={"title": 1.0}))
    assert all(one.score == pytest.approx((one.scores["fused"] + one.scores["title"]) / 2) for one in title)
    assert len({one.scores["title"] for one in title}) > 1
    assert all("features" not in one.scores for one in candidates(shelf, searching(shelf, features={})))


def test_boosts_are_the_rules_that_are_set(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, search={"boosts": (BoostRule(("gauge",), ("DOC_RUNBOOK",), 1.5),)})
    run = shelf.write("run.md", "# Run\n\nThe tide gauge is restarted with its red switch.\n")
    shelf.ingest(run, IngestOptions(corpus_type="DOC_RUNBOOK"))
    shelf.ingest(shelf.write("page.md", "# Page\n\nThe tide gauge is read at noon.\n"))
    found = {one.passage.document: one.candidate.scores for one in shelf.search("tide gauge").findings}
    assert found["run.md"]["boost"] == pytest.approx(min(1.0, 1.5 * found["run.md"]["features"]))
    assert "boost" not in found["page.md"]


@pytest.mark.parametrize(("depth", "top_k"), [(3, 20), (30, 1)])
def test_a_reranker_reads_as_many_as_are_set_whatever_is_asked_for(shelf: Shelf, depth: int, top_k: int) -> None:
    reranker = CountingReranker()
    settings = shelf.settings.changed(rerank={"depth": depth})
    with shelf.library(settings, reranker=reranker) as library:
        library.as_owner().search("boat", top_k=top_k)
    assert reranker.read == depth


class LocalReranker(CountingReranker):
    is_local = True


ONNX, HTTP = {"provider": "onnx", "path": "m"}, {"provider": "http", "base_url": "http://127.0.0.1:9"}
RERANKERS: dict[str, tuple[Reranker | None, bool]] = {
    "none": (None, True),
    "handed in": (CountingReranker(), False),
    "handed in, local": (LocalReranker(), True),
    "onnx": (reranker_of(Settings().changed(rerank=ONNX)), True),
    "http": (reranker_of(Settings().changed(rerank=HTTP)), False),
}


@pytest.mark.parametrize("rerank", [{}, ONNX, HTTP], ids=["none is set", "onnx is set", "http is set"])
@pytest.mark.parametrize("name", RERANKERS)
def test_searches_take_turns_unless_they_may_wait_for_the_server_of_their_reranker(
    shelf: Shelf, name: str, rerank: dict[str, Any]
) -> None:
    (reranker, takes_turns), turns = RERANKERS[name], Turns()
    with shelf.opened() as library, ThreadPoolExecutor(1) as threads:
        set_up = replace(library, stored=replace(library.stored, settings=shelf.settings.changed(rerank=rerank)))
        search = search_of(set_up, reranker=reranker, threads=threads, turns=turns)
    assert (search.retrieve.turns is turns) is takes_turns


def test_a_small_top_k_looks_at_as_many_candidates_as_a_larger_one(shelf: Shelf) -> None:
    with shelf.library() as library:
        few, many = (library.as_owner().search("boat", top_k=top_k) for top_k in (1, 20))
    assert few.total_candidates == many.total_candidates >= 40
    assert few.findings == many.findings[:1]


# Answers


@pytest.mark.parametrize("selection", [None, "\n\n".join(PAGES.values())], ids=["library", "selection"])
def test_sources_stay_within_the_budget_that_is_set(shelf: Shelf, selection: str | None) -> None:
    spent = {}
    for budget in (60, 300):
        generator = ScriptedGenerator(["It is read at noon [1]."])
        settings = shelf.settings.changed(answer={"budget_tokens": budget})
        with shelf.library(settings, generator=generator) as library:
            library.as_owner().ask("When does boat number3 sail at 3 o'clock?", selection=selection, top_k=20)
        spent[budget] = generator.prompts[0].context.tokens
    assert 0 < spent[60] <= 60 < spent[300] <= 300


def test_citations_point_at_the_site_that_is_set(shelf: Shelf) -> None:
    settings = shelf.settings.changed(citations={"sites": {"": "https://harbor.example/book/"}})
    url = "https://harbor.example/book/gauge"
    asked = "When is the tide gauge read by the harbor master?"
    with shelf.library(settings) as library:
        (found,) = [one for one in library.as_owner().search(asked).findings if one.passage.document == "gauge.md"]
        (cited,) = [one for one in library.as_owner().ask(asked).citations if one.document == "gauge.md"]
        selected = library.as_owner().ask(asked, selection=Selection(PAGES["gauge.md"], "gauge.md")).citations[0]
    assert [one.url.split("#")[0] for one in (found, cited, selected) if one.url] == [url] * 3


def test_a_decision_to_answer_looks_at_more_than_the_answer_may_quote(shelf: Shelf) -> None:
    with shelf.library() as library:
        answer = library.as_owner().ask("Quixotic zeppelin xylophone mortgage?", top_k=1)
    assert not answer.sufficient_context
    assert len(answer.result.findings) == answer.result.counts["cut"] == 1
    assert len(answer.suggestions) == 5


# Addresses that are none


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_a_search_degrades_if_the_reranker_s_address_is_none(
    shelf: Shelf, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = shelf.settings.changed(rerank={"provider": "http", "base_url": address})
    with shelf.library(settings) as library:
        found = library.as_owner().search("boat")
    assert found.degraded == ("rerank: not set up; the order before it stands",)
    assert "rerank: setting rerank.base_url is not a valid URL" in caplog.text
    assert found.findings


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_an_answer_is_misconfigured_if_the_generator_s_address_is_none(shelf: Shelf, address: str) -> None:
    settings = shelf.settings.changed(answer={"generator": "openai", "model": "m", "base_url": address})
    with (
        shelf.library(settings) as library,
        pytest.raises(Misconfigured, match=r"answer\.base_url is not a valid URL"),
    ):
        library.as_owner().ask(QUESTION)


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_embedding_is_misconfigured_if_its_address_is_none(tmp_path: Path, address: str) -> None:
    (tmp_path / "page.md").write_text(PAGES["gauge.md"])
    embedding = {"provider": "openai", "model": "m", "dimensions": 8, "base_url": address}
    library = Library(settings=Settings(library=tmp_path / "library").changed(embedding=embedding))
    with pytest.raises(Misconfigured, match=r"embedding\.base_url is not a valid URL"):
        library.ingest(tmp_path / "page.md")


def test_a_ranking_or_stage_that_does_not_exist_cannot_be_left_out(shelf: Shelf) -> None:
    library = shelf.library(searching(shelf, without=("dense", "magic")))
    with pytest.raises(Misconfigured, match="names no ranking and no stage: magic"):
        library.as_owner().search("tides")


# A model in a folder


def test_a_model_in_a_folder_is_not_loaded_to_list_documents_and_questions(shelf: Shelf, tmp_path: Path) -> None:
    settings = shelf.settings.changed(embedding={"provider": "onnx", "path": str(tmp_path / "nowhere")})
    view = Library(settings=settings).as_owner()
    assert len(view.documents()) == len(PAGES)
    assert view.document("gauge.md")
    assert view.chunks("gauge.md")
    assert view.stats().queries >= len(view.log())
    with pytest.raises(Misconfigured, match=r"nowhere has no model\.onnx"):
        view.search("boat")


def test_a_model_in_a_folder_is_loaded_once_for_ingesting_and_searching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gauge.md").write_text(PAGES["gauge.md"])
    loaded: list[object] = []

    def from_folder(*given: object, **options: object) -> object:
        loaded.append(options)
        return Both()

    monkeypatch.setattr("citewise.adapters.onnx.embedder.OnnxEmbedder.from_folder", from_folder)
    settings = Settings(library=tmp_path / "library").changed(embedding={"provider": "onnx", "path": "m"})
    with Library(settings=settings) as library:
        library.ingest(tmp_path / "gauge.md")
        assert library.as_owner().search("tide gauge").findings
        assert library.status().embedding_model == HashEmbedder().model.name
    assert loaded == [{"window_tokens": 512, "query_prefix": "", "document_prefix": ""}]


WRONG = {
    "onnx folder": ({"provider": "onnx", "path": "nowhere"}, "nowhere has no model.onnx"),
    "onnx": ({"provider": "onnx"}, "set embedding.path"),
    "openai": ({"provider": "openai"}, "set embedding.model and embedding.dimensions"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_model_that_is_set_wrongly_fails_one_check_and_the_others_go_on(shelf: Shelf, name: str) -> None:
    embedding, said = WRONG[name]
    library = Library(settings=shelf.settings.changed(embedding=embedding))
    checks = library.doctor()
    failed = [check for check in checks if not check.is_ok]
    assert [check.name for check in failed] == ["embedding model"]
    assert said in failed[0].detail
    assert {"disk", "catalog", "query log", "pages"} <= {check.name for check in checks}
    with pytest.raises(Misconfigured, match=said):
        library.as_owner().search("boat")


@pytest.mark.parametrize("name", WRONG)
def test_no_library_is_made_with_a_model_that_is_set_wrongly(tmp_path: Path, name: str) -> None:
    (tmp_path / "page.md").write_text(PAGES["gauge.md"])
    settings = Settings(library=tmp_path / "library").changed(embedding=WRONG[name][0])
    with pytest.raises(Misconfigured):
        Library(settings=settings).ingest(tmp_path / "page.md")
    assert not (tmp_path / "library").exists()


# A library of citewise 0.1


def test_a_library_of_citewise_0_1_is_named_and_stays_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "old"
    (root / "gen-1").mkdir(parents=True)
    (root / "CURRENT").write_text("gen-1\n")
    with closing(sqlite3.connect(root / "gen-1" / "catalog.db")) as connection:
        connection.executescript((Path(__file__).parents[1] / "data" / "catalog_0_1.sql").read_text())
    before = sorted(root.rglob("*"))
    with Library(root, embedder=HashEmbedder(), token_counter=WordCounter()) as library:
        for use in (library.as_owner().search, library.as_owner().ask):
            with pytest.raises(Misconfigured, match=re.escape(str(root)) + r".* such as 0\.1"):
                use("boat")
    assert sorted(root.rglob("*")) == before
    (failed,) = (check for check in library.doctor() if not check.is_ok)
    assert (failed.name, failed.remedy) == ("catalog", "follow the message, then try again")
