"""Guards have the shapes of the ports they stand before, and change nothing while all is well."""

from collections.abc import Collection, Sequence

import pytest

from citewise.adapters.guard import Breaker, Guard, GuardedEmbedder, GuardedPassages, GuardedReranker
from citewise.errors import Unavailable
from citewise.model.chunk import EmbeddingFailure, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import Hydrated, PassageReader
from citewise.ports.models import Embedder, Reranker
from tests.builders import SCOPE, an_id
from tests.fakes.clock import Clock
from tests.fakes.counters import HashEmbedder
from tests.passages import a_passage

EVERYTHING = Where(SCOPE, None)


def a_guard(part: str = "part") -> Guard:
    clock = Clock()
    breaker = Breaker(part, remedy="-", failures=1, pause_seconds=30.0, clock=clock)
    return Guard(breaker, sleep=clock.sleep)


# The catalog, the embedder, the reranker


class OnePassage:
    """A catalog that reads until it is told to fail, and can never be written to."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Hydrated:
        if self.error:
            raise self.error
        return Hydrated((a_passage(),), tuple(ids))

    def make_anew(self, ids: Collection[ChunkId]) -> None:
        raise Unavailable("attempt to write a readonly database")


def test_a_guarded_catalog_reads_like_any_other_and_rests_when_it_fails() -> None:
    inner = OnePassage()
    store: PassageReader = GuardedPassages(inner, a_guard("the catalog"))
    assert store.passages([an_id("a")], where=EVERYTHING) == inner.passages([an_id("a")], where=EVERYTHING)
    inner.error = Unavailable("gone")
    with pytest.raises(Unavailable, match="gone"):
        store.passages([], where=EVERYTHING)
    inner.error = None
    with pytest.raises(Unavailable, match="the catalog failed once and is left alone"):
        store.passages([], where=EVERYTHING)


class Moody(HashEmbedder):
    """Embeds questions until it is told not to."""

    is_gone = False

    def query(self, text: str) -> Vector:
        if self.is_gone:
            raise Unavailable("the server is gone")
        return super().query(text)


def test_a_guarded_embedder_embeds_like_any_other() -> None:
    inner = Moody(poison="bad")
    embedder: Embedder = GuardedEmbedder(inner, a_guard())
    assert embedder.model == inner.model
    assert embedder.query("tide") == inner.query("tide")
    assert embedder.documents(["tide", "bad"]) == inner.documents(["tide", "bad"])


def test_an_embedder_that_rests_is_not_asked_for_other_texts_either() -> None:
    inner = Moody()
    inner.is_gone = True
    embedder = GuardedEmbedder(inner, a_guard("the embedding model"))
    with pytest.raises(Unavailable, match="the server is gone"):
        embedder.query("tide")
    outcomes = embedder.documents(["tide", "ferry"])
    assert inner.embedded == []
    assert [type(one) for one in outcomes] == [EmbeddingFailure] * 2
    assert "the embedding model failed once and is left alone" in str(outcomes[0])


class LengthReranker:
    name = "length"

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return tuple(1 / (1 + len(text)) for text in texts)


def test_a_guarded_reranker_scores_like_any_other() -> None:
    reranker: Reranker = GuardedReranker(LengthReranker(), a_guard())
    assert reranker.name == "length"
    assert reranker.scores("tide", ["", "abc"]) == (1.0, 0.25)
    assert reranker.scores("tide", []) == ()
