"""`citewise search` and `citewise ask` as real processes: shapes, exit codes, bad input."""

import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, answering_at, citewise, error_of, json_of, written
from tests.fakes.tiny_models import write_tiny_cross_encoder

HANDBOOK = Path(str(files("citewise") / "data" / "handbook"))
HEADER = {
    *("request_id", "query", "mode", "total_candidates", "next_cursor", "has_more", "cache_hit", "degraded"),
    *("timings_ms", "services"),
}
HIT = {
    *("chunk_id", "document_id", "document", "title", "section", "breadcrumb", "url", "lines", "page", "corpus_type"),
    *("content_type", "module", "chapter", "tags", "language", "symbol", "signature", "service", "repo", "author"),
    *("channel", "timestamp", "text", "score", "scores", "ranks"),
}
SCORES = {
    *("dense", "words", "code", "fused", "title", "proximity", "features", "by_word", "late"),
    *("rerank", "demote", "freshness", "boost"),
}
ANSWER = {
    *("answer", "generator", "sufficient_context", "citations", "removed_markers", "unsupported_sentences"),
    *("quality", "usage", "suggestions"),
}
CITATION = {"n", "chunk_id", "document", "title", "section", "url", "lines", "page", "excerpt"}
QUALITY = {"overall", "retrieval_confidence", "sufficiency", "diversity", "faithfulness", "warning"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the handbook's library in `.citewise`."""
    folder = tmp_path_factory.mktemp("search")
    assert citewise("demo", "--library", ".citewise", cwd=folder).returncode == 0
    return folder


def test_search_has_the_shape_that_programs_rely_on(home: Path) -> None:
    found = json_of("search", "How is the tide staff read?", "--top-k", "3", cwd=home)
    assert found.keys() >= {*HEADER, "hits"}
    assert len(found["hits"]) == 3
    for hit in found["hits"]:
        assert hit.keys() >= HIT
        assert hit["scores"].keys() == SCORES
        assert hit["ranks"].keys() == {"dense", "words", "code"}
        assert 0.0 <= hit["score"] <= 1.0
    assert found["mode"] == "normal"
    assert found["timings_ms"].keys() >= {"embed", "dense", "words", "code", "fuse", "hydrate", "total"}


def test_limit_is_a_page_and_its_cursor_leads_to_the_next(home: Path) -> None:
    whole = json_of("search", "tide", "--top-k", "6", cwd=home)
    assert (whole["has_more"], whole["next_cursor"]) == (False, None)
    first = json_of("search", "tide", "--top-k", "6", "--limit", "4", cwd=home)
    assert first["has_more"]
    cursor = ("--cursor", first["next_cursor"])
    second = json_of("search", "tide", "--top-k", "6", "--limit", "4", *cursor, cwd=home)
    assert not second["has_more"]
    paged = [hit["chunk_id"] for page in (first, second) for hit in page["hits"]]
    assert paged == [hit["chunk_id"] for hit in whole["hits"]]
    assert error_of("search", "tide", "--limit", "0", cwd=home, code=2).startswith("citewise: limit is 0")
    assert "another search" in error_of("search", "wind", "--top-k", "6", "--limit", "4", *cursor, cwd=home, code=2)


def test_a_cited_answer_has_the_shape_that_programs_rely_on(home: Path) -> None:
    answer = json_of("ask", "What happens below power.low_volts?", cwd=home)
    assert answer.keys() >= {*HEADER, *ANSWER}
    assert answer["sufficient_context"] is True
    assert answer["generator"] == "extractive"
    assert answer["quality"].keys() == QUALITY
    assert answer["usage"].keys() == {"context_tokens_before", "context_tokens_after", "total_tokens"}
    assert answer["citations"]
    for citation in answer["citations"]:
        assert citation.keys() >= CITATION
        assert f"[{citation['n']}]" in answer["answer"]


def test_a_question_that_the_library_does_not_answer_is_refused_with_what_it_knows(home: Path) -> None:
    answer = json_of("ask", "Who won the 2018 football World Cup final?", cwd=home)
    assert answer["sufficient_context"] is False
    assert answer["citations"] == []
    assert 1 <= len(answer["suggestions"]) <= 5
    for place in answer["suggestions"]:
        assert list(place) == ["title", "document", "lines", "url"]
        assert (HANDBOOK / place["document"]).is_file()


def test_a_selection_is_answered_from_itself(home: Path, tmp_path: Path) -> None:
    (tmp_path / "selection.md").write_text("## Rules\n\nThe gauge is read at noon.\n\n## Signing\n\nTwo people sign.\n")
    answer = json_of(
        *("ask", "When is the gauge read?", "--selection-file", tmp_path / "selection.md"),
        *("--source-document", "module-1/rules.md", "--source-section", "Rules"),
        cwd=home,
    )
    assert answer["mode"] == "selected_text_only"
    assert "noon" in answer["answer"]
    (citation,) = answer["citations"]
    assert (citation["chunk_id"], citation["score"]) == ("selection", 1.0)
    assert citation["document"] == "module-1/rules.md"
    assert citation["url"] is None  # no site is set


def test_ask_says_what_compression_saved(home: Path) -> None:
    question = "How do I flash the firmware?"
    usage = json_of("ask", question, "--compress", cwd=home)["usage"]
    assert usage["context_tokens_after"] < usage["context_tokens_before"]
    said = f"{usage['context_tokens_after']:,} of the {usage['context_tokens_before']:,} tokens that were found"
    assert said in citewise("ask", question, "--compress", cwd=home).stdout
    assert "tokens that were found" not in citewise("ask", question, cwd=home).stdout
    short = "What happens below power.low_volts?"  # of which nothing is left out
    assert "tokens that were found" not in citewise("ask", short, "--compress", cwd=home).stdout


def test_people_see_places_scores_and_sources(home: Path) -> None:
    shown = citewise("search", "How is the tide staff read?", "--top-k", "2", cwd=home).stdout
    assert " 1. " in shown
    assert "lab-2-tide-staff.md:" in shown
    answered = citewise("ask", "What happens below power.low_volts?", cwd=home).stdout
    assert "Sources\n  [" in answered
    assert re.search(r"^\(\d+ ms\)$", answered, re.MULTILINE)
    assert "quality" not in answered  # a number that says nothing to a reader


def test_explain_shows_every_ranking_and_why_candidates_went(home: Path) -> None:
    shown = citewise("search", "tide staff", "--top-k", "2", "--explain", cwd=home).stdout
    assert all(name in shown for name in ("dense", "words", "code", "fused", "rerank", "final"))
    assert "cut: beyond the first 2" in shown
    assert "no model is configured" in shown
    found = json_of("search", "tide staff", "--top-k", "2", "--explain", cwd=home)
    assert {one["stage"] for one in found["dropped"]} == {"cut"}


def test_a_question_in_other_words_is_compared_word_by_word(home: Path) -> None:
    paraphrased = ("search", "Why did we give up on instruments that breathe through a hose to the surface?")
    found = json_of(*paraphrased, cwd=home)
    for hit in found["hits"]:
        assert hit["scores"]["dense"] is None or hit["scores"]["dense"] < 0.45
        assert -1.0 <= hit["scores"]["by_word"] <= 1.0
        assert 0.0 <= hit["scores"]["late"] <= 1.0
    assert len({hit["scores"]["by_word"] for hit in found["hits"]}) > 1
    assert found["degraded"] == []
    shown = citewise(*paraphrased, "--explain", cwd=home).stdout
    assert " word " in shown.splitlines()[0]
    assert " late " in shown.splitlines()[0]
    assert "vectors of their words" not in shown
    off = json_of(*paraphrased, cwd=home, env={"CITEWISE_SEARCH__LATE": "0"})
    assert all(hit["scores"]["by_word"] is hit["scores"]["late"] is None for hit in off["hits"])


def test_a_question_in_the_texts_own_words_is_compared_word_by_word_too(home: Path) -> None:
    found = json_of("search", "How is the tide staff read?", cwd=home)
    assert max(hit["scores"]["dense"] or 0.0 for hit in found["hits"]) > 0.6
    assert all(0.0 <= hit["scores"]["late"] <= 1.0 for hit in found["hits"])
    assert found["degraded"] == []


def test_a_library_that_was_made_without_words_says_so_and_reindex_makes_them(tmp_path: Path) -> None:
    tide, bread = "# Tide\n\nThe gauge is read at noon.\n", "# Bread\n\nBread is baked with salt.\n"
    written(tmp_path, {"docs/tide.md": tide, "docs/bread.md": bread})
    json_of("ingest", "docs", cwd=tmp_path, env={"CITEWISE_EMBEDDING__WORD_VECTORS": "false"})
    far = ("search", "Who won the 2018 football World Cup final?", "--explain")
    said = "late: 2 of 2 passages have no vectors of their words; `citewise reindex` makes them"
    assert said in citewise(*far, cwd=tmp_path).stdout
    assert said not in citewise(*far, cwd=tmp_path, env={"CITEWISE_EMBEDDING__WORD_VECTORS": "false"}).stdout
    assert citewise("reindex", cwd=tmp_path).returncode == 0
    found = json_of(*far, cwd=tmp_path)
    assert all(hit["scores"]["by_word"] is not None for hit in found["hits"])
    assert said not in citewise(*far, cwd=tmp_path).stdout


def test_filters_narrow_and_whose_question_it_is_counts(home: Path, tmp_path: Path) -> None:
    found = json_of("search", "tide", "--filter", "module=module-1", cwd=home)
    assert {hit["module"] for hit in found["hits"]} == {"module-1"}
    page = tmp_path / "secret.md"
    page.write_text("# Secret\n\nThe vault code is kept by the harbor master.\n")
    json_of("ingest", page, "--library", "rules", "--access", "owner:ann", cwd=tmp_path)
    asked = ("search", "vault code", "--library", "rules")
    assert json_of(*asked, "--user", "bob", cwd=tmp_path)["hits"] == []
    assert len(json_of(*asked, "--user", "ann", cwd=tmp_path)["hits"]) == 1
    assert len(json_of(*asked, cwd=tmp_path)["hits"]) == 1
    assert json_of(*asked, "--tenant", "rival", cwd=tmp_path)["hits"] == []
    refused = json_of("ask", "Who keeps the vault code?", "--library", "rules", "--user", "bob", cwd=tmp_path)
    assert (refused["citations"], refused["suggestions"]) == ([], [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search", ""), "the question is empty"),
        (("search", "  \t "), "the question is empty"),
        (("ask", ""), "the question is empty"),
        (("search", "x" * 2001), "2,001 characters"),
        (("ask", "x" * 2001), "2,001 characters"),
        (("search", "a\x1b[31mb"), "control character U+001B"),
        (("search", "x", "--filter", "colour=red"), "no field 'colour'"),
        (("ask", "x", "--filter", "module"), "is not FIELD=VALUE"),
        (("search", "x", "--filter", "tags=falcon\udcff"), "a filter is not valid UTF-8"),
        (("ask", "x", "--filter", "tags=falcon\x1b[31m"), "a filter holds the control character U+001B"),
        (("search", "x", "--filter", f"tags={'x' * 100_000}"), "a filter has 100,005 characters; 1,200 are allowed"),
        (("search", "x", "--cursor", "c\udcff"), "cursor is not one of this library"),
        (("search", "x", "--top-k", "0"), "top_k is 0"),
        (("search", "x", "--top-k", "-1"), "top_k is -1"),
        (("search", "x", "--top-k", "1000000000"), "top_k is 1000000000"),
        (("ask", "x", "--top-k", "0"), "top_k is 0"),
        (("search", "x", "--cursor", "bm9uc2Vuc2U"), "cursor is not one of this library"),
        (("search", "x", "--user", "../x"), "is not a usable name"),
        (("search", "x", "--tenant", "a/b"), "is not a usable name"),
        (("search", "x", "--library", "nowhere"), "there is no library at nowhere"),
        (("ask", "x", "--library", "nowhere"), "there is no library at nowhere"),
        (("ask", "x", "--selection-file", "nowhere.txt"), "'nowhere.txt': No such file"),
    ],
)
def test_bad_input_is_one_clear_line(home: Path, words: tuple[str, ...], said: str) -> None:
    assert said in error_of(*words, cwd=home, code=2)


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "selection is empty"), (b" \n ", "selection is empty"), (b"a\xff", "not UTF-8")]
)
def test_a_selection_that_is_none_is_refused(home: Path, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "selection.txt").write_bytes(content)
    assert said in error_of("ask", "x", "--selection-file", tmp_path / "selection.txt", cwd=home, code=2)


def test_an_empty_library_finds_nothing_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    json_of("ingest", "docs", cwd=tmp_path)
    assert json_of("search", "tide", cwd=tmp_path)["hits"] == []
    assert "No results" in citewise("search", "tide", cwd=tmp_path).stdout
    answer = json_of("ask", "When is the tide gauge read?", cwd=tmp_path)
    assert answer["sufficient_context"] is False


def test_a_library_answers_while_another_process_ingests(tmp_path: Path) -> None:
    written(tmp_path, {"docs/first.md": "# First\n\nThe lighthouse was built in 1871.\n"})
    json_of("ingest", "docs", cwd=tmp_path)
    more = {f"docs/page-{at:03}.md": f"# Page {at}\n\nWords of page {at}, and more of them.\n" for at in range(150)}
    written(tmp_path, more)
    with subprocess.Popen([COMMAND, "ingest", "docs"], cwd=tmp_path, stdout=subprocess.DEVNULL) as writer:
        asked = 0
        while writer.poll() is None and asked < 20:
            hits = json_of("search", "When was the lighthouse built?", cwd=tmp_path)["hits"]
            assert hits[0]["document"] == "first.md"
            asked += 1
        assert writer.wait(60) == 0
    assert asked


def test_a_tiny_cross_encoder_reranks_and_shows_its_scores(home: Path, tmp_path: Path) -> None:
    write_tiny_cross_encoder(tmp_path / "model")
    env = {"CITEWISE_RERANK__PROVIDER": "onnx", "CITEWISE_RERANK__PATH": str(tmp_path / "model")}
    found = json_of("search", "How is the tide staff read?", cwd=home, env=env)
    assert found["degraded"] == []
    assert all(0.0 <= hit["scores"]["rerank"] <= 1.0 for hit in found["hits"])
    off = json_of("search", "How is the tide staff read?", "--no-rerank", cwd=home, env=env)
    assert all(hit["scores"]["rerank"] is None for hit in off["hits"])


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (
            {"CITEWISE_RERANK__MODEL": "cross-encoder/ms-marco-MiniLM-L-6-v2", "HF_ENDPOINT": "http://127.0.0.1:9"},
            "rerank.path",
        ),
        ({"CITEWISE_RERANK__PATH": "nowhere"}, "nowhere"),
    ],
    ids=["hub name without network", "missing folder"],
)
def test_a_reranker_that_cannot_be_had_degrades_and_says_what_to_do(
    home: Path, tmp_path: Path, env: dict[str, str], said: str
) -> None:
    given = {**env, "CITEWISE_RERANK__PROVIDER": "onnx", "XDG_CACHE_HOME": str(tmp_path)}
    found = json_of("search", "tide staff", cwd=home, env=given)
    assert found["hits"]
    assert found["degraded"] in (
        ["rerank: not set up; the order before it stands"],
        ["rerank: not available; the order before it stands"],
    )
    done = citewise("search", "tide staff", cwd=home, env=given)
    (reason,) = (line for line in done.stderr.splitlines() if line.startswith("citewise: rerank: "))
    assert said in reason
    assert f"citewise: degraded: {found['degraded'][0]}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_generator_that_refuses_is_unavailable(home: Path) -> None:
    env = answering_at("http://127.0.0.1:9/v1")
    said = error_of("ask", "What happens below power.low_volts?", cwd=home, env=env, code=4)
    assert "127.0.0.1" in said


def test_a_generator_without_a_model_is_misconfigured(home: Path) -> None:
    said = error_of("ask", "tide?", cwd=home, env={"CITEWISE_ANSWER__GENERATOR": "openai"}, code=3)
    assert "answer.model" in said
