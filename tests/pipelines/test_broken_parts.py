"""No optional part can fail a query, and no answer rests on what is merely popular."""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from citewise import Library
from citewise.answer.pipeline import NOT_SEARCHED
from citewise.errors import Misconfigured, Unavailable
from citewise.ingest.targets import IngestOptions
from citewise.model.access import Principal, Scope
from citewise.model.answer import Answer, Failed
from citewise.model.chunk import Vector, WordVectors
from citewise.model.ids import Digest
from citewise.model.query import BoostRule
from citewise.model.ranking import SearchResult, Shortlist
from citewise.search.adjust import Boost, Deduplicate, Freshness
from citewise.search.pipeline import Stage
from citewise.search.rescore import Features, Late, Rerank
from citewise.wiring import log_store_of
from tests.builders import a_row
from tests.fakes.counters import HashEmbedder, HashWords
from tests.fakes.scripted_generator import ScriptedGenerator
from tests.pipelines.harness import Shelf, documents
from tests.pipelines.test_degrading import PAGES, QUESTION, desk_of, lose_index, rebuild

NONSENSE = cast("Any", "nonsense")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf.holding(tmp_path, PAGES)


class BrokenReranker:
    name = "broken"

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        raise RuntimeError("key=hunter2")


class BrokenWords(HashWords):
    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]:
        raise RuntimeError("key=hunter2")


class BrokenStage:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, found: Shortlist) -> Shortlist:
        raise RuntimeError("key=hunter2")


class Damaged:
    """A cache that gives nonsense for every text."""

    def vectors(self, digests: Collection[Digest]) -> dict[Digest, Vector]:
        return {}

    def word_vectors(self, digests: Collection[Digest]) -> dict[Digest, WordVectors]:
        return {key: WordVectors(b"nonsense") for key in digests}

    def keep(self, vectors: object, words: object = None) -> None:
        raise AssertionError("a search keeps nothing")


BROKEN: dict[str, Stage] = {
    "features": Features({"title": NONSENSE}),
    "late": Late(BrokenWords(HashEmbedder()), Damaged()),
    "rerank": Rerank(BrokenReranker()),
    "demote": BrokenStage("demote"),
    "freshness": Freshness(weight=NONSENSE),
    "boost": Boost((BoostRule((NONSENSE, cast("Any", 3)), ("DOC_PAGE",), 2.0),)),
    "dedup": Deduplicate(NONSENSE),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_stage_that_breaks_is_named_and_the_query_is_answered_without_it(shelf: Shelf, name: str) -> None:
    with desk_of(shelf) as desk:
        refine = tuple(cast("Any", BROKEN[name]) if stage.name == name else stage for stage in desk.flow.refine)
        desk.flow = replace(desk.flow, refine=refine)
        found = desk.search(top_k=2)
    assert len(found.findings) == 2
    assert found.degraded == (f"{name}: not available; the order before it stands",)


def test_every_stage_but_the_cut_is_broken_above(shelf: Shelf) -> None:
    with desk_of(shelf) as desk:
        assert {stage.name for stage in desk.flow.refine} - {"cut"} == BROKEN.keys()


class Keyless(HashEmbedder):
    """Embeds documents, and has lost its key by the time of a question."""

    def query(self, text: str) -> Vector:
        raise Misconfigured("the embedding server refuses the key")


def test_an_answer_needs_no_embedder(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["It is read at noon [1]."])
    with shelf.library(embedder=Keyless(), generator=generator) as library:
        answer = library.as_owner().ask(QUESTION)
    assert answer.result.degraded == ("dense: not set up",)
    assert answer.citations[0].document == "tides.md"


# A whole library


def test_an_answer_that_breaks_off_with_anybody_s_error_is_logged(shelf: Shelf) -> None:
    generator = ScriptedGenerator(["Half [1] ", ValueError("key=hunter2")])
    with shelf.library(generator=generator) as library:
        *_, last = library.as_owner().stream(QUESTION)
        (row,) = library.as_owner().log()
    assert isinstance(last, Failed)
    assert str(last.error) == "the generator scripted failed (ValueError)"
    assert row.row.error == "Unavailable"


class Tired(HashEmbedder):
    """Embeds questions; documents only while it is awake."""

    is_awake = True

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        return super().documents(texts) if self.is_awake else tuple(Unavailable("429") for _ in texts)


BY_WORDS = "ground: not available; what was not embedded was compared by words"


def test_an_answer_weighed_by_words_alone_says_so_and_is_not_cached(shelf: Shelf) -> None:
    embedder = Tired()
    with shelf.library(embedder=embedder, generator=ScriptedGenerator(["At noon [1]."])) as library:
        embedder.is_awake = False
        assert library.as_owner().ask(QUESTION, compress=True).result.degraded == (BY_WORDS,)
        embedder.is_awake = True
        again = library.as_owner().ask(QUESTION, compress=True).result
    assert (again.degraded, again.cache_hit) == ((), False)


@pytest.fixture
def library(shelf: Shelf) -> Iterator[Library]:
    with shelf.library() as made:
        yield made


def make_popular(shelf: Shelf, *paths: str) -> None:
    """As if others had been shown these, each more often than the next."""
    shown = [(str(chunk.id), str(chunk.document_id)) for path in paths for chunk in shelf.chunks_of(path)]
    rows = [a_row(str(at), at=time.time(), scope=Scope(), shown=shown[: at + 1]) for at in range(len(shown))]
    log_store_of(shelf.settings).write(rows, lost={})


def topics(answer: Answer) -> list[str]:
    return [place.title for place in answer.suggestions]


def is_found(result: SearchResult) -> bool:
    return bool(result.findings) and all(one.candidate.ranks for one in result.findings)


def test_what_is_popular_is_shown_while_the_index_is_lost(shelf: Shelf, library: Library) -> None:
    make_popular(shelf, "nets.md", "ferries.md")
    assert is_found(library.as_owner().search(QUESTION))
    lose_index(shelf)
    shown = library.as_owner().search(QUESTION, top_k=2)
    assert shown.is_popular
    assert documents(shown) == ["nets.md", "ferries.md"]
    assert documents(library.as_owner().search(QUESTION, top_k=1)) == ["nets.md"]
    assert shown.degraded == ("search: not available; popular passages are shown instead",)
    rebuild(shelf)
    assert is_found(library.as_owner().search(QUESTION))


def test_no_answer_is_made_of_what_is_popular_however_well_it_would_fit(shelf: Shelf) -> None:
    make_popular(shelf, "tides.md", "nets.md")
    generator = ScriptedGenerator(["It is read at noon [1]."])
    with shelf.library(generator=generator) as library:
        assert library.as_owner().ask("Is the tide gauge read at noon?").sufficient_context
        lose_index(shelf)
        answer = library.as_owner().ask(QUESTION)  # which no cache has an answer to
    assert len(generator.prompts) == 1  # it was not asked again
    assert (answer.sufficient_context, answer.text, answer.citations) == (False, NOT_SEARCHED, ())
    assert topics(answer) == ["Tides", "Nets"]
    assert answer.usage.context_tokens_after == 0
    assert answer.result.degraded == ("search: not available; popular passages are shown instead",)


def test_what_is_popular_or_suggested_is_only_what_the_reader_may_see(shelf: Shelf) -> None:
    shelf.write("secret.md", "# Secret\n\nThe secret ferry leaves at midnight.\n")
    shelf.ingest(shelf.docs / "secret.md", IngestOptions(access=("owner:bob",)))
    make_popular(shelf, "secret.md", "nets.md")
    with shelf.library() as library:
        library.as_owner().search(QUESTION)
        lose_index(shelf)
        ann, bob, stranger = (library.as_principal(Principal(user)) for user in ("ann", "bob", None))
        assert topics(ann.ask(QUESTION)) == ["Nets"]
        assert topics(bob.ask(QUESTION)) == ["Secret", "Nets"]
        assert documents(ann.search(QUESTION, top_k=1)) == ["nets.md"]
        assert documents(bob.search(QUESTION, top_k=2)) == ["secret.md", "nets.md"]
        with pytest.raises(Unavailable, match="there are no popular passages to show instead"):
            stranger.search(QUESTION)


def test_without_popular_passages_a_lost_index_is_a_clear_message_and_its_return_is_noticed(
    shelf: Shelf, library: Library
) -> None:
    assert is_found(library.as_owner().search(QUESTION))
    lose_index(shelf)
    for ask in (library.as_owner().search, library.as_owner().ask):
        with pytest.raises(Unavailable, match=r"no ranking could answer: .* there are no popular passages"):
            ask("Where is the ferry?")
    rebuild(shelf)
    assert is_found(library.as_owner().search(QUESTION))
