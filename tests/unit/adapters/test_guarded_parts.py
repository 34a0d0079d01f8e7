"""Guards have the shapes of the ports they stand before, and change nothing while all is well."""

from collections.abc import Callable, Collection, Sequence

import pytest

from citewise.adapters.guard import Breaker, Guard, GuardedEmbedder, GuardedIndex, GuardedPassages, GuardedReranker
from citewise.errors import Unavailable
from citewise.model.access import Scope
from citewise.model.chunk import Change, EmbeddingFailure, Hit, TermField, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import Hydrated, PassageReader
from citewise.ports.indexes import Index
from citewise.ports.models import Embedder, Reranker
from tests.builders import SCOPE, a_point, a_vector, an_id
from tests.fakes.clock import Clock
from tests.fakes.counters import HashEmbedder
from tests.fakes.plain_index import PlainIndex
from tests.passages import a_passage

EVERYTHING = Where(SCOPE, None)

Searching = Callable[[Index], tuple[Hit, ...]]


def a_guard(part: str = "part") -> Guard:
    clock = Clock()
    breaker = Breaker(part, remedy="-", failures=1, pause_seconds=30.0, clock=clock)
    return Guard(breaker, sleep=clock.sleep)


class Log:
    """A change log that ends at a position, and is asked for nothing else."""

    def __init__(self, last: int) -> None:
        self.last = last

    def last_position(self, scope: Scope) -> int:
        return self.last

    def scopes(self) -> tuple[Scope, ...]:
        raise AssertionError

    def floor(self, scope: Scope) -> int:
        raise AssertionError

    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]:
        raise AssertionError

    def trim(self, scope: Scope, *, up_to: int) -> None:
        raise AssertionError

    def version(self, scope: Scope) -> int:
        raise AssertionError


def an_index(*, last: int, inner: Index | None = None) -> GuardedIndex:
    return GuardedIndex(inner or PlainIndex(), Log(last), vectors=a_guard("vectors"), words=a_guard("words"))


def by_words(index: Index) -> tuple[Hit, ...]:
    return index.matching(["tide"], field=TermField.WORDS, where=EVERYTHING, limit=5)


def by_meaning(index: Index) -> tuple[Hit, ...]:
    return index.nearest(a_vector("a"), where=EVERYTHING, limit=5)


# The index


def test_a_guarded_index_is_written_and_searched_like_any_other() -> None:
    plain = PlainIndex()
    index: Index = an_index(last=2, inner=plain)
    index.write(SCOPE, puts=[a_point("a", words="tide"), a_point("b")], drops=(), position=1)
    index.write(SCOPE, puts=(), drops=[an_id("b")], position=2)
    assert [hit.id for hit in by_words(index)] == [hit.id for hit in by_meaning(index)] == [an_id("a")]
    assert by_words(index) == by_words(plain)
    assert (index.position(SCOPE), index.is_large(SCOPE)) == (2, plain.is_large(SCOPE))


def test_a_guarded_index_is_made_anew_like_any_other() -> None:
    index = an_index(last=2)
    index.write(SCOPE, puts=[a_point("a", words="tide")], drops=(), position=1)
    index.begin_anew(SCOPE)
    index.write(SCOPE, puts=[a_point("b", words="tide")], drops=(), position=2)
    assert [hit.id for hit in by_words(index)] == [an_id("a")]
    index.finish_anew(SCOPE)
    assert [hit.id for hit in by_words(index)] == [an_id("b")]


@pytest.mark.parametrize("search", [by_words, by_meaning])
def test_an_index_that_has_nothing_of_a_log_that_has_something_cannot_say_that_nothing_was_found(
    search: Searching,
) -> None:
    index = an_index(last=3)
    for _ in range(3):  # said each time, as it is; there is nothing to rest from
        with pytest.raises(Unavailable, match="the index of acme/handbook is missing, damaged or still being made"):
            search(index)
    index.write(SCOPE, puts=(), drops=(), position=3)
    assert search(index) == ()


@pytest.mark.parametrize("search", [by_words, by_meaning])
def test_an_index_of_an_empty_log_finds_nothing(search: Searching) -> None:
    assert search(an_index(last=0)) == ()


class WordlessIndex(PlainIndex):
    def matching(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        raise Unavailable("the words are gone")


def test_words_that_rest_do_not_keep_vectors_from_answering() -> None:
    index = an_index(last=1, inner=WordlessIndex())
    index.write(SCOPE, puts=[a_point("a")], drops=(), position=1)
    with pytest.raises(Unavailable, match="the words are gone"):
        by_words(index)
    with pytest.raises(Unavailable, match="words failed once and is left alone"):
        by_words(index)
    assert [hit.id for hit in by_meaning(index)] == [an_id("a")]


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
