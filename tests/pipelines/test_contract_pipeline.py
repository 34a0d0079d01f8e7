"""The integration tests of the original contracts that no other test has, over a small library of mixed corpora.

Code, manifests and conversations are written as Markdown here and get their corpus type from their path: their own
parsers come with another issue.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from citewise import Scope
from citewise.errors import BadRequest, Unavailable
from citewise.ingest.targets import IngestOptions
from citewise.model.chunk import Vector
from citewise.model.document import PathRule
from citewise.model.filters import AnyOf, conditions_of
from tests.fakes.counters import HashEmbedder
from tests.fakes.scripted_generator import ScriptedGenerator
from tests.pipelines.harness import Shelf, documents

RULES = (
    PathRule("^code/", {"corpus_type": "CODE_LOGIC"}),
    PathRule("^deploy/", {"corpus_type": "CODE_DEPLOY"}),
    PathRule("^slack/", {"corpus_type": "CONVO_SLACK"}),
    PathRule("^runbooks/", {"corpus_type": "DOC_RUNBOOK"}),
)
PAGES = {
    "code/users.md": "# users.go\n\n```go\nfunc GetUser(id string) User { return db.Find(id) }\n```\n",
    "code/orders.md": '# orders.go\n\n```go\nfunc CreateOrder(item string) Order { http.Post("payment") }\n```\n',
    "deploy/auth.md": "# auth\n\n```yaml\nkind: Service\nname: auth-service\nport: 8080\n```\n",
    "deploy/orders.md": "# orders\n\n```yaml\nkind: Service\nname: order-service\nport: 9090\n```\n",
    "slack/incident.md": "# incident\n\nauth-service is throwing 503s, checking user-service\n",
    "slack/general.md": "# general\n\nLunch is in the garden today.\n",
    "runbooks/rollback.md": "# Deploy\n\n## Rollback\n\nRun kubectl rollback and watch the pods.\n",
    **{f"pages/page-{at}.md": f"# Page {at}\n\nNotes number {at} about the harbor.\n" for at in range(15)},
}


class SharedWords:
    """Scores by the share of the question's words that a text holds."""

    name = "shared-words"

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        asked = set(question.lower().split())
        return tuple(len(asked & set(text.lower().split())) / len(asked) for text in texts)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.holding(tmp_path_factory.mktemp("mixed"), PAGES, ingest={"path_rules": RULES})


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("GetUser function", "code/users.md"),
        ("auth-service 503", "slack/incident.md"),
        ("auth-service port", "deploy/auth.md"),
        ("kubectl rollback", "runbooks/rollback.md"),
    ],
)
def test_each_corpus_answers_for_its_own_questions(shelf: Shelf, question: str, document: str) -> None:
    found = shelf.search(question, top_k=2)
    assert len(found.findings) == 2
    assert document in documents(found)
    assert all(one.score > 0.5 for one in found.findings if one.passage.document == document)


def test_a_symbol_s_own_definition_comes_first(shelf: Shelf) -> None:
    assert documents(shelf.search("GetUser function"))[0] == "code/users.md"


def test_any_question_finds_something(shelf: Shelf) -> None:
    assert shelf.search("zebra xylophone").findings


@pytest.mark.parametrize("corpus_type", ["CODE_LOGIC", "CODE_DEPLOY", "CONVO_SLACK", "DOC_RUNBOOK"])
def test_a_corpus_filter_leaves_only_that_corpus(shelf: Shelf, corpus_type: str) -> None:
    found = shelf.search("auth-service port", conditions=(AnyOf("corpus_type", frozenset({corpus_type})),))
    assert {finding.passage.corpus_type for finding in found.findings} == {corpus_type}


def test_every_score_of_the_way_is_there_and_none_of_a_reranker_that_was_off(shelf: Shelf) -> None:
    question = "how to deploy auth-service on port 8080"
    found = shelf.search(question, reranker=SharedWords())
    assert all({"fused", "rerank"} <= set(one.candidate.scores) for one in found.findings)
    assert all(0.0 <= one.score <= 1.0 for one in found.findings)
    boosted = next(one for one in found.findings if one.passage.document == "deploy/auth.md")
    assert boosted.score == boosted.candidate.scores["boost"] > boosted.candidate.scores["rerank"]
    off = shelf.search(question, reranker=SharedWords(), rerank=False)
    assert not any("rerank" in one.candidate.scores for one in off.findings)
    assert "rerank: switched off; the fused order stands" in off.notes


BOOK = {
    "module-1/1.1-basics/tides.md": "---\ntags: [water]\n---\n# Tides\n\nThe level is $h = p / g$ at noon.\n",
    "module-1/1.2-tools/lab-1.md": "# Lab\n\n```python\nread_level()\n```\n\nRead the level at noon.\n",
    "module-2/2.1-boats/quiz.md": "---\ntags: [boats, water]\n---\n# Quiz\n\nWhat is the level at noon?\n",
}
TIDES, LAB, QUIZ = BOOK


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.holding(tmp_path_factory.mktemp("book"), BOOK)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {TIDES, LAB, QUIZ}),
        ({"modules": ["module-1"]}, {TIDES, LAB}),
        ({"chapters": ["1.1-basics", "2.1-boats"]}, {TIDES, QUIZ}),
        ({"content_types": ["lab", "quiz"]}, {LAB, QUIZ}),
        ({"tags": ["water"]}, {TIDES, QUIZ}),
        ({"modules": ["module-1"], "tags": ["water"]}, {TIDES}),
        ({"has_code": True}, {LAB}),
        ({"has_equations": True}, {TIDES}),
        ({"modules": []}, {TIDES, LAB, QUIZ}),
    ],
)
def test_the_fields_of_the_contracts_narrow_a_search(
    book: Shelf, filters: Mapping[str, bool | Sequence[str]], expected: set[str]
) -> None:
    found = book.search("the level at noon", conditions=conditions_of(filters))
    assert set(documents(found)) == expected


def test_two_tenants_with_the_same_words_find_only_their_own(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    tenants = (Scope("acme", "handbook"), Scope("rival", "handbook"), Scope("acme", "other"))
    for scope in tenants:
        page = shelf.write(f"{scope.tenant}-{scope.project}.md", f"# Vault\n\nThe vault of {scope} opens at noon.\n")
        shelf.ingest(page, IngestOptions(scope))
    for scope in tenants:
        found = shelf.search("When does the vault open?", scope=scope)
        assert [one.passage.text for one in found.findings] == [f"# Vault\n\nThe vault of {scope} opens at noon."]


# Answers


class DeafEmbedder(HashEmbedder):
    """Goes off when it is asked."""

    def query(self, text: str) -> Vector:
        raise AssertionError("the embedder was asked")

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        raise AssertionError("the embedder was asked")


def test_nothing_found_is_a_refusal_with_a_warning_and_no_generator_is_asked(tmp_path: Path) -> None:
    generator = ScriptedGenerator(["I know it anyway."])
    with Shelf.holding(tmp_path, {}).library(generator=generator) as library:
        answer = library.as_owner().ask("When does the vault open?")
    assert (answer.sufficient_context, answer.citations, answer.suggestions) == (False, (), ())
    assert (answer.quality.overall, answer.quality.diversity) == (0.0, 0.0)
    assert answer.quality.warning
    assert answer.usage.total_tokens == 0
    assert generator.prompts == []


def test_an_answer_has_a_quality_from_0_to_1_and_cites_what_its_text_uses(tmp_path: Path) -> None:
    names = ("vault", "ferry", "tide")
    pages = {f"{name}.md": f"# The {name}\n\nThe {name} opens at noon on every Sunday.\n" for name in names}
    generator = ScriptedGenerator(["The vault opens at noon ", "[1]. Elephants fly backwards over Rome [1][7]."])
    with Shelf.holding(tmp_path, pages).library(generator=generator) as library:
        answer = library.as_owner().ask("When does the vault open at noon on Sunday?")
    quality = answer.quality
    parts = (quality.overall, quality.retrieval_confidence, quality.sufficiency, quality.diversity)
    assert all(part is not None and 0.0 <= part <= 1.0 for part in parts)
    assert quality.faithfulness == 0.5
    assert quality.warning == "a sentence is not supported by the source it points at"
    assert [(one.n, one.document) for one in answer.citations] == [(1, "vault.md")]
    assert answer.removed_markers == 1
    assert answer.unsupported_sentences == ("Elephants fly backwards over Rome [1].",)


@pytest.mark.parametrize("selection", ["", "  \n\t", "\u200b"])
def test_an_empty_selection_is_refused_before_anything_is_asked(tmp_path: Path, selection: str) -> None:
    generator = ScriptedGenerator(["Anything."])
    with (
        Shelf(tmp_path).library(generator=generator, embedder=DeafEmbedder()) as library,
        pytest.raises(BadRequest, match="the selection is empty"),
    ):
        library.as_owner().ask("When does the vault open?", selection=selection)
    assert generator.prompts == []
    assert not (tmp_path / "library").exists()


def test_a_selection_is_the_only_source_of_its_prompt(tmp_path: Path) -> None:
    generator = ScriptedGenerator(["The ferry leaves at six [1]."])
    shelf = Shelf.holding(tmp_path, {"vault.md": "# Vault\n\nThe vault opens at noon.\n"})
    with shelf.library(generator=generator) as library:
        answer = library.as_owner().ask(
            "When does the ferry leave?", selection="The ferry leaves at six in the morning."
        )
    (prompt,) = generator.prompts
    assert prompt.context.text == "[Source 1: Selected text]\nThe ferry leaves at six in the morning."
    assert "vault" not in "".join(message.content for message in prompt.messages)
    assert [(one.chunk_id, one.score) for one in answer.citations] == [("selection", 1.0)]
