"""Through the cache: what is given again, what never is, and that it cannot fail a query."""

from collections.abc import Sequence
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from citewise.adapters.memory.cache import MemoryCache, RememberingEmbedder
from citewise.errors import Unavailable
from citewise.model.access import Principal, Scope
from citewise.model.answer import Answer, AnswerEvent, AnswerEvents, Cited, Done, Message, Role, Sources, Token
from citewise.model.chunk import Vector
from citewise.model.filters import AnyOf, Between
from citewise.model.ids import digest
from citewise.model.query import PageRequest, Query
from citewise.model.ranking import Candidate, Dropped, SearchResult
from citewise.ports.stores import CachedResult
from citewise.search.adjust import Freshness
from citewise.search.cache import OWN_FIELDS, ResultCache, key_parts
from citewise.service import Service
from tests.builders import a_named_finding, a_query
from tests.contexts import a_source
from tests.fakes.counters import HashEmbedder
from tests.fakes.searchable import FakeLibrary, FakePipeline, ListLog
from tests.unit.answers import an_answer

ANN = Principal("ann", frozenset({"ops", "crew"}))


class Desk:
    """A service with a cache over a library that counts its searches."""

    def __init__(self, **changes: Any) -> None:
        found = SearchResult(a_query(), (a_named_finding("one"),), 7, {"rankings": 5.0}, {"cut": 1}, notes=("so",))
        self.library = FakeLibrary(found)
        self.asked: list[Query] = []
        self.closed = 0
        self.embedder = CountingEmbedder()
        self.memory = MemoryCache(max_bytes=1_000_000, ttl_seconds=600)
        parts = {
            "store": self.memory,
            "library": self.library,
            "settings": digest("settings"),
            "ttl_seconds": 600.0,
            "embedder": self.embedder,
            "min_cosine": 0.5,
        }
        self.cache = ResultCache(**{**parts, **changes})

    @property
    def found(self) -> SearchResult:
        assert isinstance(self.library.found, SearchResult)
        return self.library.found

    def search(self, query: Query | None = None, page: PageRequest | None = None) -> SearchResult:
        return self.service().search(query or a_query(), page)

    def ask(self, query: Query | None = None, *, generator: str = "g", history: Sequence[Message] = ()) -> AnswerEvents:
        return self.service(generator).ask(query or a_query(), history)

    def service(self, generator: str = "g") -> Service:
        pipeline = FakePipeline(self._answer, generator)
        return Service(self.library, lambda: pipeline, log=ListLog(), cache=self.cache)

    def _answer(self, query: Query) -> AnswerEvents:
        self.asked.append(query)
        try:
            yield Token("At nine ")
            yield Cited(a_source(1).citation)
            yield Token("[1].")
            yield Done(an_answer(self.library.search(query), "At nine [1].", a_source(1).citation))
        finally:
            self.closed += 1


@pytest.fixture
def desk() -> Desk:
    return Desk()


class CountingEmbedder(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.queries: list[str] = []

    def query(self, text: str) -> Vector:
        self.queries.append(text)
        return super().query(text)


def answer_of(events: Sequence[AnswerEvent]) -> Answer:
    (done,) = [event for event in events if isinstance(event, Done)]
    return done.answer


def test_the_second_search_is_a_hit_with_its_own_query_and_time_and_nothing_else_changed(desk: Desk) -> None:
    first = desk.search()
    again = a_query(request_id="r-2", asked_at=1_700_000_060.0)
    second = desk.search(again)
    assert len(desk.library.searched) == 1
    assert not first.cache_hit
    assert second == replace(first, query=again, cache_hit=True, timings_ms=second.timings_ms)
    assert second.timings_ms.keys() == {"cache", "total"}
    assert 0 < second.timings_ms["total"] < 1000


def test_a_change_of_the_library_is_seen_at_the_next_search(desk: Desk) -> None:
    desk.search()
    desk.library.state = "v2"
    assert not desk.search().cache_hit
    assert desk.search().cache_hit


def test_what_was_found_or_answered_while_the_library_changed_is_not_kept(desk: Desk) -> None:
    desk.library.meanwhile = lambda: setattr(desk.library, "state", "v2")
    desk.search()
    desk.library.state = "v1"
    list(desk.ask())
    assert desk.memory.size == 0
    desk.library.meanwhile = lambda: None
    assert not desk.search().cache_hit
    assert desk.search().cache_hit


def test_a_degraded_result_is_never_kept(desk: Desk) -> None:
    desk.library.found = replace(desk.found, degraded=("dense: the model is away",))
    desk.search()
    list(desk.ask())
    assert not desk.search().cache_hit
    assert not answer_of(list(desk.ask())).result.cache_hit
    assert desk.memory.size == 0


def test_an_empty_result_is_kept_too(desk: Desk) -> None:
    desk.library.found = replace(desk.found, findings=())
    desk.search()
    assert desk.search().cache_hit


OTHERS: dict[str, Any] = {
    "scope": Scope("acme", "other"),
    "conditions": (AnyOf("module", frozenset({"a"})),),
    "top_k": 5,
    "rerank": False,
    "expand_graph": True,
    "half_life_days": 7.0,
    "freshness_weight": 0.0,
    "budget_tokens": 500,
    "compress": True,
}


def test_every_field_of_a_query_is_its_own_or_has_another_value_here() -> None:
    assert {one.name for one in fields(Query)} == OTHERS.keys() | OWN_FIELDS


@pytest.mark.parametrize("changed", OTHERS)
def test_whatever_changes_the_result_is_another_bucket(desk: Desk, changed: str) -> None:
    desk.search()
    list(desk.ask())
    assert not desk.search(a_query(**{changed: OTHERS[changed]})).cache_hit
    assert not answer_of(list(desk.ask(a_query(**{changed: OTHERS[changed]})))).result.cache_hit
    assert desk.search().cache_hit


@pytest.mark.parametrize(
    "principal",
    [
        Principal(),
        Principal("ann"),
        Principal("bob", frozenset({"ops", "crew"})),
        Principal("ann", frozenset({"ops"})),
        Principal("ann", frozenset({"ops", "crew", "x"})),
        Principal(owns_library=True),
    ],
)
def test_another_reader_never_gets_what_was_found_for_this_one(desk: Desk, principal: Principal) -> None:
    desk.search(a_query(principal=ANN))
    assert not desk.search(a_query(principal=principal)).cache_hit


def test_the_same_reader_gets_it_in_whatever_order_groups_and_values_come(desk: Desk) -> None:
    values = [frozenset(order) for order in (["a", "b", "c", "i"], ["i", "c", "b", "a"])]
    groups = [frozenset(order) for order in (["ops", "crew", "x1", "x9"], ["x9", "x1", "crew", "ops"])]
    hits = [
        desk.search(a_query(principal=Principal("ann", some), conditions=(AnyOf("module", those),))).cache_hit
        for some, those in zip(groups, values, strict=True)
    ]
    assert hits == [False, True]


def test_conditions_are_told_apart_however_they_are_spelled() -> None:
    one = (AnyOf("a", frozenset({"b','c"})), AnyOf("x", frozenset()))
    other = (AnyOf("a", frozenset({"b", "c"})), Between("x"))
    assert key_parts(a_query(conditions=one)) != key_parts(a_query(conditions=other))


@pytest.mark.parametrize(
    "changes", [{"settings": digest("other settings")}, {"library": SimpleNamespace(version=lambda scope: "v9")}]
)
def test_other_settings_and_another_library_are_another_bucket(desk: Desk, changes: dict[str, Any]) -> None:
    desk.search()
    desk.cache = replace(desk.cache, **changes)
    assert not desk.search().cache_hit


def test_pages_of_another_length_are_another_bucket(desk: Desk) -> None:
    desk.search(page=PageRequest(10))
    assert not desk.search(page=PageRequest(20)).cache_hit
    assert not desk.search(page=PageRequest(10, is_open=False)).cache_hit
    assert not desk.search().cache_hit
    assert desk.search(page=PageRequest(10)).cache_hit


def test_what_stands_behind_a_cursor_is_always_read_anew(desk: Desk) -> None:
    for _ in range(2):
        assert not desk.search(page=PageRequest(10, "abc")).cache_hit
    assert desk.memory.size == 0


def test_a_search_and_an_answer_are_kept_apart(desk: Desk) -> None:
    desk.search()
    assert not answer_of(list(desk.ask(generator="None"))).result.cache_hit  # as no page is spelled
    assert desk.search().cache_hit


def test_near_words_are_a_hit_where_the_settings_allow_it(desk: Desk) -> None:
    first = desk.search(a_query("How do I moor the boat?"))
    asked = a_query("How do I moor the boat today?", request_id="r-2")
    second = desk.search(asked)
    assert second == replace(first, query=asked, cache_hit=True, timings_ms=second.timings_ms)


@pytest.mark.parametrize(
    ("min_cosine", "question"),
    [(0.5, "When is the tide high?"), (0.9999, "How do I moor the boat today?"), (1.0, "how do I moor the boat?")],
    ids=["other words", "words that are too far away", "only the same words count"],
)
def test_other_words_are_a_miss(min_cosine: float, question: str) -> None:
    desk = Desk(min_cosine=min_cosine)
    desk.search(a_query("How do I moor the boat?"))
    assert not desk.search(a_query(question)).cache_hit


def test_near_words_of_another_reader_or_version_are_a_miss(desk: Desk) -> None:
    desk.search(a_query("How do I moor the boat?", principal=ANN))
    assert not desk.search(a_query("How do I moor the boat today?")).cache_hit
    desk.library.state = "v2"
    assert not desk.search(a_query("How do I moor the boat now?", principal=ANN)).cache_hit


def test_where_only_the_same_words_count_no_question_is_embedded() -> None:
    desk = Desk(min_cosine=1.0)
    for _ in range(2):
        desk.search(a_query("How do I moor the boat?"))
    assert desk.embedder.queries == []


def test_an_embedder_that_remembers_makes_a_vector_once() -> None:
    counting = CountingEmbedder()
    remembering = RememberingEmbedder(counting)
    assert remembering.query("tide") == remembering.query("tide") == counting.query("tide")
    assert counting.queries == ["tide", "tide"]  # the second of them is this test's own
    assert remembering.model == counting.model
    assert remembering.documents(["tide"]) == counting.documents(["tide"])


def paged(**changes: Any) -> Desk:
    desk = Desk(**changes)
    desk.library.found = replace(desk.found, next_cursor="abc")
    desk.search(a_query("How do I moor the boat?"), page=PageRequest(10))
    return desk


@pytest.mark.parametrize(
    ("question", "given"),
    [("How do I moor the boat?", (True, "ABC")), ("How do I moor the boat today?", (False, "abc"))],
    ids=["the very same words", "near words"],
)
def test_a_page_is_given_again_with_a_cursor_of_its_own_for_the_same_words(
    question: str, given: tuple[bool, str]
) -> None:
    again = paged().search(a_query(question), page=PageRequest(10))
    assert (again.cache_hit, again.next_cursor) == given


def test_a_page_whose_followers_are_gone_is_made_anew() -> None:
    desk = paged()
    desk.library.renew = lambda cursor: None
    assert not desk.search(a_query("How do I moor the boat?"), page=PageRequest(10)).cache_hit


def test_what_is_kept_does_not_say_who_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[CachedResult] = []
    monkeypatch.setattr(desk.memory, "put", lambda key, value, vector: kept.append(value))
    asked = a_query(
        principal=Principal("leonora", frozenset({"pilots"})), conditions=(AnyOf("module", frozenset("q")),)
    )
    desk.search(asked)
    list(desk.ask(asked))
    assert len(kept) == 2
    assert not any(word in repr(kept) for word in ("leonora", "pilots", "module'"))


def test_an_answer_is_replayed_as_the_events_it_came_in(desk: Desk) -> None:
    first = list(desk.ask())
    again = a_query(request_id="r-2")
    sources, token, cited, done = desk.ask(again)
    assert len(desk.asked) == 1
    assert sources == Sources((replace(a_source(1).citation, n=None),))
    assert token == Token("At nine [1].")
    assert cited == Cited(a_source(1).citation)
    answer = answer_of([done])
    assert answer.result.cache_hit
    assert answer.result.query == again
    assert answer.result.timings_ms.keys() == {"cache", "total"}
    assert replace(answer, result=answer_of(first).result) == answer_of(first)


@pytest.mark.parametrize("after", range(1, 4))
def test_an_answer_that_is_broken_off_is_not_kept_and_what_it_comes_from_is_closed(desk: Desk, after: int) -> None:
    events = desk.ask()
    for _ in range(after):
        next(events)
    events.close()
    assert (desk.memory.size, desk.closed) == (0, 1)
    assert not answer_of(list(desk.ask())).result.cache_hit


def test_an_answer_to_another_conversation_or_by_another_generator_is_a_miss(desk: Desk) -> None:
    before = [Message(Role.USER, "Where is the quay?"), Message(Role.ASSISTANT, "In the north.")]
    list(desk.ask(history=before))
    for others in (desk.ask(), desk.ask(history=before[:1]), desk.ask(history=before, generator="other")):
        assert not answer_of(list(others)).result.cache_hit
    assert answer_of(list(desk.ask(history=before))).result.cache_hit


def aged(result: SearchResult) -> SearchResult:
    candidate = Candidate(result.findings[0].candidate.id, 0.4, {"freshness": 0.4}, {})
    return replace(result, dropped=(Dropped(candidate, "cut", "beyond the first 20"),))


@pytest.mark.parametrize(
    ("half_life_days", "weight", "is_kept"),
    [(90.0, 0.1, True), (0.01, 0.1, False), (0.01, 0.0, True), (90.0, 1.0, True), (1.0, 1.0, False)],
)
def test_what_would_score_otherwise_by_the_time_it_is_given_again_is_not_kept(
    half_life_days: float, weight: float, *, is_kept: bool
) -> None:
    wired = Desk(freshness=Freshness(half_life_days, weight))
    wired.library.found = aged(wired.found)
    wired.search()
    assert wired.search().cache_hit is is_kept
    asked = Desk()
    asked.library.found = aged(asked.found)
    query = a_query(half_life_days=half_life_days, freshness_weight=weight)
    asked.search(query)
    assert asked.search(query).cache_hit is is_kept


def test_what_freshness_did_not_move_is_kept_whatever_the_half_life() -> None:
    desk = Desk(freshness=Freshness(0.01, 1.0))
    desk.search()
    assert desk.search().cache_hit


ERRORS = {"away": Unavailable("away"), "it failed (RuntimeError)": RuntimeError("key=hunter2")}


def failing(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("said", ERRORS)
@pytest.mark.parametrize("method", ["get", "nearest", "put"])
def test_a_cache_that_cannot_be_used_fails_nothing_and_is_named(
    desk: Desk, method: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    methods = {name: lambda *_, **__: None for name in ("get", "nearest", "put")}
    desk.cache = replace(desk.cache, store=cast("Any", SimpleNamespace(**{**methods, method: failing(ERRORS[said])})))
    degraded = () if method == "put" else ("cache: not available",)  # what is found is complete, kept or not
    assert desk.search() == replace(desk.found, query=a_query(), degraded=degraded)
    pipeline = FakePipeline(desk._answer)
    list(Service(desk.library, lambda: pipeline, log=ListLog(), cache=desk.cache).ask(a_query()))
    assert [found.degraded for found in pipeline.found] == [degraded]
    assert f"cache: {said}" in caplog.text or method == "put"


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize(("part", "method"), [("library", "version"), ("embedder", "query")])
def test_parts_that_cannot_be_reached_fail_nothing(desk: Desk, part: str, method: str, error: Exception) -> None:
    desk.search(a_query("How do I moor the boat?"))
    changes: dict[str, Any] = {part: SimpleNamespace(**{method: failing(error)})}
    desk.cache = replace(desk.cache, **changes)
    found = desk.search(a_query("How do I moor the boat today?"))
    assert (bool(found.findings), found.cache_hit, found.degraded) == (True, False, ())
    assert answer_of(list(desk.ask())).text


def test_what_the_search_itself_says_is_not_swallowed(desk: Desk) -> None:
    desk.library.meanwhile = failing(Unavailable("away"))
    with pytest.raises(Unavailable, match="away"):
        desk.search()
    with pytest.raises(Unavailable, match="away"):
        list(desk.ask())
