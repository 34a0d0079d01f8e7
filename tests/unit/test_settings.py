"""Settings from files and the environment."""

import math
from pathlib import Path

import pytest

from citewise.errors import Misconfigured
from citewise.model.query import BoostRule
from citewise.settings import Settings


def read(tmp_path: Path, text: str, **environment: str) -> Settings:
    file = tmp_path / "citewise.toml"
    file.write_text(text)
    return Settings.read(file, environment)


def test_defaults_need_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.read(None, {}) == Settings()


def test_a_file_fills_the_tree(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
        library = "here"
        [chunks]
        target_tokens = 300
        [ingest]
        exclude = ["drafts/"]
        max_file_mb = 2
        access_by_path = { "ops/**" = ["group:ops"] }
        [[ingest.path_rules]]
        pattern = "^x"
        sets = { content_type = "lab" }
        """,
    )
    assert settings.library == Path("here")
    assert settings.chunks.target_tokens == 300
    assert settings.ingest.exclude == ("drafts/",)
    assert settings.ingest.max_file_mb == 2.0
    assert settings.ingest.access_by_path == {"ops/**": ("group:ops",)}
    assert settings.ingest.path_rules[0].sets == {"content_type": "lab"}


def test_the_environment_wins(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "library = 'file'\n[chunks]\ntarget_tokens = 400\n",
        CITEWISE_LIBRARY="variable",
        CITEWISE_CHUNKS__TARGET_TOKENS="207",
        CITEWISE_INGEST__EXCLUDE=" a, b,",
        UNRELATED="x",
    )
    assert settings.library == Path("variable")
    assert settings.chunks.target_tokens == 207
    assert settings.ingest.exclude == ("a", "b")


@pytest.mark.parametrize("said", ["true", "false"])
def test_a_switch_is_true_or_false_in_a_file_and_in_the_environment(tmp_path: Path, said: str) -> None:
    in_file = read(tmp_path, f"[embedding]\nword_vectors = {said}\n")
    other = "false" if said == "true" else "true"
    in_environment = read(tmp_path, f"[embedding]\nword_vectors = {other}\n", CITEWISE_EMBEDDING__WORD_VECTORS=said)
    assert in_file.embedding.word_vectors is in_environment.embedding.word_vectors is (said == "true")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("libary = 'x'", "did you mean 'library'"),
        ("zzz = 1", "known are"),
        ("[embedding]\nprovder = 'x'", "embedding.provder"),
        ("[chunks]\ntarget_tokens = 'many'", "chunks.target_tokens must be a whole number"),
        ("[chunks]\ntarget_tokens = true", "chunks.target_tokens"),
        ("chunks = 3", "chunks must be a table"),
        ("[ingest]\nexclude = 3", "ingest.exclude"),
        ("[[ingest.path_rules]]\nsets = {}", "lacks pattern"),
        ("not toml", "not valid TOML"),
        (f"[paging]\ndepth = {'9' * 5_000}", "not valid TOML"),
        ("[embedding]\ndimensions = inf", "embedding.dimensions"),
        ("[embedding]\ndimensions = 1536.5", "embedding.dimensions"),
        ("[embedding]\nbatch_size = 0", "batch_size"),
        ("[ingest]\nmax_file_mb = nan", "ingest.max_file_mb"),
        ("[[ingest.path_rules]]\npattern = '('", "no regular expression"),
        ("[[ingest.path_rules]]\npattern = '(?P<color>x)'", "fills color"),
        ("[chunks]\nfloor_tokens = 600", "floor_tokens <= target_tokens"),
        ("[chunks]\noverlap_tokens = 400", "overlap_tokens"),
        ("[embedding]\nword_vectors = 0", "embedding.word_vectors must be true or false, not 0"),
        ("[embedding]\nword_vectors = 'no'", "embedding.word_vectors must be true or false, not 'no'"),
        ("[search]\nlate = -0.1", r"search.late must be in 0\.\.10, not "),
        ("[search]\nlate = 10.5", r"search.late must be in 0\.\.10, not "),
        ("[search]\nlate = nan", "search.late must be a number"),
        ("[search]\nlate = true", "search.late must be a number"),
        ("[search]\nfusion = 'sum'", "setting search.fusion is 'sum'; it can be minmax, nearness or rrf"),
        ("[rerank]\nprovider = 'x'", "rerank.provider is 'x'; it can be none, onnx or http"),
        ("[rerank]\nstyle = 'x'", "rerank.style is 'x'; it can be cohere, jina or tei"),
        ("[rerank]\nscores = 'x'", "rerank.scores is 'x'; it can be probabilities or logits"),
        ("[answer]\ngenerator = 'x'", "answer.generator is 'x'; it can be extractive or openai"),
        ("[answer]\ncompression = 'x'", "answer.compression is 'x'; it can be none, extractive or llmlingua"),
        ("[query_log]\ntext = 'x'", "query_log.text is 'x'; it can be full, masked or none"),
        ("[query_log]\ntext = 1", "query_log.text must be text, not 1"),
        ("[embedding]\nprovider = 'x'", "embedding.provider is 'x'; it can be minilm, onnx or openai"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Misconfigured, match=said):
        read(tmp_path, text)


def test_the_variable_that_holds_a_key_may_start_as_settings_do(tmp_path: Path) -> None:
    settings = read(tmp_path, "[embedding]\napi_key_variable = 'CITEWISE_KEY'\n", CITEWISE_KEY="sesame")
    assert settings.embedding.api_key_variable == "CITEWISE_KEY"


def test_a_variable_below_a_plain_setting_is_no_setting(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="CITEWISE_LIBRARY__X"):
        read(tmp_path, "library = 'x'", CITEWISE_LIBRARY__X="1")


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"nowhere\.toml"):
        Settings.read(tmp_path / "nowhere.toml", {})


def test_settings_changed_in_code_take_the_values_of_a_file_and_of_python(tmp_path: Path) -> None:
    rule = BoostRule(("gauge",), ("DOC_RUNBOOK",), 1.5)
    first = Settings(library=tmp_path).changed(search={"boosts": (rule,), "late": 0}, rerank={"depth": 7})
    settings = first.changed(library="~/here", search={"fusion": "rrf"})
    assert settings.library == Path.home() / "here"
    assert (settings.search.boosts, settings.search.late, settings.search.fusion) == ((rule,), 0.0, "rrf")
    assert (settings.rerank.depth, settings.chunks) == (7, Settings().chunks)


@pytest.mark.parametrize(
    ("section", "changes", "said"),
    [
        ("embedding", {"provider": "cohere"}, r"embedding\.provider is 'cohere'; it can be minilm, onnx or openai"),
        ("embedding", {"dimensions": -1}, r"embedding\.dimensions must be at least 0, not -1"),
        ("ingest", {"max_file_mb": math.inf}, r"ingest\.max_file_mb must be a number, not inf"),
        ("ingest", {"access": ["everybody"]}, r"ingest\.access"),
        ("search", {"features": {"title": 2}}, r"search\.features\.title must be in 0\.\.1, not 2"),
        ("search", {"features": {"subtitle": 1}}, "title and proximity"),
        ("search", {"weights": {"dense": -1.0}}, r"search\.weights\.dense must be at least 0"),
        ("search", {"weights": {"dense": 0.0}}, "at least one of them above 0"),
        ("search", {"weights": {"sparse": 1.0}}, "dense, words, code"),
        ("search", {"boosts": [{"keywords": ["a"], "corpus_types": ["b"], "factor": 0}]}, "factor"),
        ("search", {"boosts": [{"keywords": [" "], "corpus_types": ["b"], "factor": 1}]}, "keywords"),
        ("answer", {"compression": "llmlingua"}, r"answer\.compression_path"),
        ("answer", {"compressed_tokens": 49}, "at least 50"),
        ("query_cache", {"min_cosine": 0}, r"query_cache\.min_cosine must be above 0 and at most 1, not 0"),
        ("paging", {"depth": 10_001}, r"paging\.depth must be in 1\.\.10000"),
        ("guard", {"pause_seconds": 0}, r"guard\.pause_seconds must be above 0"),
        ("guard", {"tries": 2}, r"no setting guard\.tries"),
    ],
)
def test_mistakes_in_code_are_named_too(section: str, changes: dict[str, object], said: str) -> None:
    with pytest.raises(Misconfigured, match=said):
        Settings().changed(**{section: changes})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "{a = " * 100_000, "nested too deeply"),
        ("# " + "x" * 1_000_000, "is over 1 MB"),
        ("a." * 400_000 + "a = 1", "more than 100 dots"),
        ("chunks.target_tokens = " + "[" * 90 + "]" * 90, "must be a whole number, not \\[\\[\\["),
        ("a" * 900_000 + " = 1", "there is no setting aaaa"),
        ("answer.model = " + str([{"x" * 1000: "y" * 1000}] * 300).replace(": ", " = "), "must be text, not"),
        ("chunks.target_tokens = '" + "9" * 900_000 + "'", "must be a whole number, not '999"),
        ("[ingest.access_by_path]\n" + "a" * 900_000 + " = 5", "setting ingest.access_by_path.aaa"),
        ("rerank.provider = '" + "x" * 900_000 + "'", "it can be none, onnx or http"),
    ],
    ids=lambda value: value[:12],
)
def test_a_hostile_file_is_refused_in_a_short_message(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(Misconfigured, match=problem) as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 600 + len(str(tmp_path))


def test_a_file_that_does_not_end_is_not_read_to_its_end() -> None:
    with pytest.raises(Misconfigured, match="is over 1 MB"):
        Settings.read(Path("/dev/zero"), {})
