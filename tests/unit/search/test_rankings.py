"""How deep the rankings go: as the query's top_k needs it, or as far as a caller wants to read."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from citewise.errors import Misconfigured, Unavailable
from citewise.model.chunk import Hit, TermField
from citewise.model.filters import Where
from citewise.search import rankings
from citewise.search.rankings import Retrieve, retried
from tests.builders import SCOPE, a_point, a_query
from tests.fakes.counters import HashEmbedder
from tests.fakes.plain_index import PlainTextIndex
from tests.stores import Indexes


@contextmanager
def retrieving_over(chunks: int) -> Iterator[Retrieve]:
    index = Indexes.plain()
    index.write(SCOPE, puts=[a_point(n, words="ferri leav") for n in range(chunks)])
    with ThreadPoolExecutor(1) as threads:
        yield Retrieve(HashEmbedder(), index.vectors, index.texts, threads)


@pytest.mark.parametrize(
    ("top_k", "depth", "found"), [(5, 0, 60), (30, 0, 90), (5, 75, 75), (30, 75, 90), (5, 500, 100)]
)
def test_a_ranking_goes_as_deep_as_the_deeper_of_both_wishes(top_k: int, depth: int, found: int) -> None:
    with retrieving_over(100) as retrieve:
        rankings = retrieve(a_query(top_k=top_k), depth=depth)
    assert {ranking: len(hits) for ranking, hits in rankings.hits.items()} == {
        "dense": found,
        "words": found,
        "code": 0,
    }


def test_a_deeper_ranking_begins_as_the_usual_one() -> None:
    with retrieving_over(100) as retrieve:
        usual, deep = retrieve(a_query()).hits, retrieve(a_query(), depth=100).hits
    assert {ranking: hits[: Retrieve.head_limit(a_query())] for ranking, hits in deep.items()} == dict(usual)


@pytest.mark.parametrize(("chunks", "more"), [(0, False), (59, False), (60, True), (61, True)])
def test_more_is_to_be_expected_where_a_ranking_gave_all_it_was_asked_for(chunks: int, more: bool) -> None:
    with retrieving_over(chunks) as retrieve:
        assert retrieve.may_have_more(retrieve(a_query())) == more


class NotedTexts(PlainTextIndex):
    """Notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[TermField, Sequence[str]] = {}

    def search(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        self.asked[field] = terms
        return super().search(terms, field=field, where=where, limit=limit)


def test_a_repeated_word_counts_as_often_as_the_question_has_it_but_a_repeated_token_once() -> None:
    texts = NotedTexts()
    Retrieve(HashEmbedder(), Indexes.plain().vectors, texts)(a_query("the ferry and the other ferry"))
    assert list(texts.asked["words"]).count("ferri") == 2
    assert list(texts.asked["code"]) == ["the", "ferry", "and", "other"]


@pytest.mark.parametrize(
    ("question", "reads_cjk", "without", "ranks"),
    [
        ("水位計はどこですか", False, (), False),
        ("水位計はどこですか", True, (), True),
        ("Where is the gauge?", False, (), True),
        ("水位計はどこですか", False, ("words", "code"), True),  # rather than nothing at all
    ],
)
def test_meaning_does_not_rank_what_its_model_cannot_read(
    question: str, reads_cjk: bool, without: tuple[str, ...], ranks: bool
) -> None:
    index, embedder = Indexes.plain(), HashEmbedder(reads_cjk=reads_cjk)
    found = Retrieve(embedder, index.vectors, index.texts, without=frozenset(without))(a_query(question))
    assert ("dense" in found.hits, "embed" in found.timings_ms) == (ranks, ranks)
    assert found.degraded == ()


# A store that is unavailable once is asked again


class Store:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "found"


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "BACKOFF_SECONDS", 0.0)


def test_a_store_that_fails_once_is_asked_again() -> None:
    store = Store(Unavailable("busy"))
    assert (retried(store), store.asked) == ("found", 2)


@pytest.mark.parametrize(
    ("errors", "raised", "asked"),
    [
        ([Unavailable("busy"), Unavailable("still busy")], Unavailable, 2),
        ([Misconfigured("damaged")], Misconfigured, 1),
        ([RuntimeError("a bug")], RuntimeError, 1),
    ],
)
def test_what_another_try_does_not_help_is_raised(errors: list[Exception], raised: type[Exception], asked: int) -> None:
    store: Callable[[], str] = Store(*errors)
    with pytest.raises(raised):
        retried(store)
    assert isinstance(store, Store)
    assert store.asked == asked
