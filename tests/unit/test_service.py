"""The life of a request: one row in the log however it ends, and popular passages where a search fails."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from citewise.errors import BadRequest, Cancelled, CitewiseError, Locked, Misconfigured, Unavailable
from citewise.model.access import Principal, Scope
from citewise.model.answer import Answer, AnswerEvents, Done, Failed, Message, Quality, Role, Token, Usage
from citewise.model.cancellation import Cancellation
from citewise.model.filters import AnyOf
from citewise.model.logged import Logged
from citewise.model.query import PageRequest, Query
from citewise.model.ranking import POPULAR, Passage, SearchResult
from citewise.service import MAX_SHOWN, Service
from citewise.text.urls import Addresses
from tests.builders import a_finding, a_passage, a_query
from tests.contexts import a_source
from tests.fakes.searchable import FakeLibrary, FakePipeline, ListLog
from tests.unit.answers import an_answer

ANN = Principal("ann", frozenset({"ops"}))
QUERY = Query("When is the gauge read?", "r-7", 1.7e9, scope=Scope("acme", "book"), principal=ANN)
FINDINGS = tuple(a_finding(a_passage(position=at)) for at in range(3))
PASSAGES = (a_passage(),)
RESULT = SearchResult(QUERY, FINDINGS, total_candidates=40, timings_ms={"total": 5.0})


class Ticking:
    """A clock that a look moves on by a hundredth of a second, and a test by more."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


def answered(result: SearchResult = RESULT) -> Answer:
    cited = FINDINGS[1].passage
    return an_answer(
        result,
        "At noon [1].",
        replace(a_source(1).citation, chunk_id=cited.chunk_id, document_id=cited.document_id),
        quality=Quality(0.3, retrieval_confidence=0.6, sufficiency=0.5, diversity=1.0, faithfulness=0.5, warning="low"),
        usage=Usage(300, 200, 220, 30),
    )


def answering(query: Query, result: SearchResult = RESULT) -> AnswerEvents:
    yield Token("At noon ")
    yield Token("[1].")
    yield Done(answered(result))


def a_service(
    log: ListLog, library: FakeLibrary | None = None, events: Callable[[Query], AnswerEvents] = answering, **parts: Any
) -> Service:
    return Service(library or FakeLibrary(RESULT), lambda: FakePipeline(events), log=log, **parts)


def searching(found: SearchResult | Exception, log: ListLog, **parts: Any) -> Service:
    return a_service(log, FakeLibrary(found), **parts)


@pytest.fixture
def log() -> ListLog:
    return ListLog()


def test_a_search_leaves_one_row_with_ids_and_numbers(log: ListLog) -> None:
    assert searching(RESULT, log, clock=Ticking()).search(QUERY) == RESULT
    shown = tuple((one.passage.chunk_id, one.passage.document_id) for one in FINDINGS)
    assert log.rows == [
        Logged(
            at=1.7e9,
            request_id="r-7",
            scope=Scope("acme", "book"),
            kind="search",
            user="ann",
            text="When is the gauge read?",
            latency_ms=log.rows[0].latency_ms,
            candidates=40,
            hits=3,
            shown=shown,
        )
    ]
    assert log.rows[0].latency_ms == pytest.approx(10.0)


def test_a_row_counts_the_tokens_that_were_spent_and_none_for_the_cache() -> None:
    log, again = ListLog(), replace(RESULT, cache_hit=True)
    for result in (RESULT, again):
        searching(result, log, count_tokens=len).search(QUERY)
        list(a_service(log, events=partial(answering, result=result), count_tokens=len).ask(QUERY))
    spent = [(row.tokens_in, row.tokens_out, row.embedding_tokens) for row in log.rows]
    asked = len(QUERY.text)
    assert spent == [(None, None, asked), (220, 30, asked), (None, None, 0), (0, 0, 0)]


def test_a_row_holds_no_text_of_any_passage(log: ListLog) -> None:
    searching(RESULT, log).search(QUERY)
    list(searching(RESULT, log).ask(QUERY))
    assert len(log.rows) == 2
    assert not any(finding.passage.text in repr(row) for row in log.rows for finding in FINDINGS)


def test_cache_hits_and_degraded_parts_are_kept_without_their_messages(log: ListLog) -> None:
    degraded = ("dense: timed out at /secret/path", "dense: again", "rerank: gone", "x" * 100)
    searching(replace(RESULT, cache_hit=True, degraded=degraded), log).search(QUERY)
    assert log.rows[0].is_cache_hit
    assert log.rows[0].degraded == ("dense", "rerank", "x" * 40)


def test_of_a_long_list_only_the_first_are_kept(log: ListLog) -> None:
    many = tuple(a_finding(a_passage(position=at)) for at in range(50))
    searching(replace(RESULT, findings=many), log).search(QUERY)
    assert log.rows[0].hits == 50
    assert [chunk for chunk, _ in log.rows[0].shown] == [one.passage.chunk_id for one in many[:MAX_SHOWN]]


def test_what_is_popular_does_not_make_itself_more_so(log: ListLog) -> None:
    searching(replace(RESULT, findings=FINDINGS, counts={POPULAR: len(FINDINGS)}), log).search(QUERY)
    assert (log.rows[0].hits, log.rows[0].shown) == (len(FINDINGS), ())


def test_a_later_page_is_not_logged_again() -> None:
    log, page = ListLog(), PageRequest(2, "c-1")
    service = searching(RESULT, log)
    service.search(QUERY, replace(page, cursor=None))
    service.search(QUERY, page)
    assert len(log.rows) == 1


def test_a_search_that_fails_is_a_row_too_and_fails_all_the_same(log: ListLog) -> None:
    with pytest.raises(Unavailable, match="the disk has gone"):
        searching(Unavailable("the disk has gone"), log, clock=Ticking()).search(QUERY)
    (row,) = log.rows
    assert (row.error, row.hits) == ("Unavailable", 0)
    assert row.latency_ms == pytest.approx(10.0)


def test_what_cannot_be_asked_at_all_is_no_question(log: ListLog) -> None:
    service = searching(BadRequest("this filter means nothing"), log)
    with pytest.raises(BadRequest):
        service.search(QUERY)
    with pytest.raises(BadRequest):
        list(service.ask(QUERY))
    assert log.rows == []


def test_an_answer_leaves_one_row_with_what_it_cites(log: ListLog) -> None:
    events = list(searching(RESULT, log).ask(QUERY))
    assert [type(event) for event in events] == [Token, Token, Done]
    (row,) = log.rows
    assert (row.kind, row.quality, row.confidence, row.has_warning) == ("ask", 0.3, 0.6, True)
    assert (row.sufficient_context, row.tokens_in, row.tokens_out, row.hits) == (True, 220, 30, 3)
    assert row.shown == ((FINDINGS[1].passage.chunk_id, FINDINGS[1].passage.document_id),)


def test_the_row_is_there_when_the_answer_is_even_if_nobody_reads_on(log: ListLog) -> None:
    events = searching(RESULT, log).ask(QUERY)
    assert any(isinstance(event, Done) for event in events)
    events.close()
    assert [row.error for row in log.rows] == [None]


def test_the_time_that_a_reader_takes_is_not_counted() -> None:
    log, clock = ListLog(), Ticking()
    for _ in searching(RESULT, log, clock=clock).ask(QUERY):
        clock.now += 100.0
    assert log.rows[0].latency_ms == pytest.approx(30.0)


def test_an_answer_that_nobody_waits_for_is_closed_and_logged_as_abandoned(log: ListLog) -> None:
    closed = []

    def watched(query: Query) -> AnswerEvents:
        try:
            yield from answering(query)
        finally:
            closed.append(True)

    events = a_service(log, events=watched).ask(QUERY)
    next(events)
    events.close()
    assert closed == [True]
    assert [row.error for row in log.rows] == ["abandoned"]


@pytest.mark.parametrize("error", [Unavailable("gone"), RuntimeError("gone")])
def test_whatever_fails_on_the_way_is_a_row_too(log: ListLog, error: Exception) -> None:
    def failing(query: Query) -> AnswerEvents:
        yield Token("At ")
        raise error

    with pytest.raises(type(error)):
        list(a_service(log, events=failing).ask(QUERY))
    with pytest.raises(type(error)):
        searching(error, log).search(QUERY)
    assert [row.error for row in log.rows] == 2 * [type(error).__name__]


def test_an_answer_that_breaks_off_is_logged_as_failed_once(log: ListLog) -> None:
    def failing(query: Query) -> AnswerEvents:
        yield Token("At ")
        yield Failed(Unavailable("the model has gone"))

    events = a_service(log, events=failing).ask(QUERY)
    assert [type(next(events)), type(next(events))] == [Token, Failed]
    events.close()
    assert [row.error for row in log.rows] == ["Unavailable"]


def test_the_history_is_handed_on() -> None:
    pipeline, messages = FakePipeline(answering), (Message(Role.USER, "Hello"),)
    list(Service(FakeLibrary(RESULT), lambda: pipeline, log=ListLog()).ask(QUERY, messages))
    assert pipeline.histories == [messages]


# Where a search cannot be made


def falling_back(
    error: Exception, popular: Sequence[Passage] | CitewiseError = PASSAGES
) -> tuple[Service, FakeLibrary]:
    library = FakeLibrary(error)
    library.passages = popular
    return a_service(ListLog(), library, addresses=Addresses({"": "https://harbor.example/"})), library


def test_a_search_that_works_asks_for_nothing_popular() -> None:
    library = FakeLibrary(RESULT)
    assert not a_service(ListLog(), library).search(QUERY).is_popular
    assert library.asked_popular == []


@pytest.mark.parametrize("error", [Unavailable("gone"), Locked("gone")])
def test_popular_passages_have_no_rank_and_no_score_and_are_named(error: Exception) -> None:
    shown = falling_back(error)[0].search(a_query())
    (finding,) = shown.findings
    assert finding.passage == a_passage()
    assert (finding.score, finding.candidate.scores, finding.candidate.ranks) == (0.0, {}, {})
    assert finding.url == "https://harbor.example/tides#reading"
    assert shown.degraded == ("search: not available; popular passages are shown instead",)
    assert "not results for this question" in shown.notes[0]
    assert (shown.total_candidates, dict(shown.counts)) == (0, {"popular": 1})
    assert shown.timings_ms["total"] > 0
    assert shown.is_popular


def test_popular_passages_are_those_that_the_reader_may_see_under_the_filters() -> None:
    query = a_query(principal=Principal("ann"), conditions=(AnyOf("tags", frozenset({"sea"})),), top_k=3)
    service, library = falling_back(Unavailable("gone"))
    for page in (None, PageRequest(2), PageRequest(5)):
        service.search(query, page)
    assert library.asked_popular == [(query.where, 3), (query.where, 2), (query.where, 3)]


@pytest.mark.parametrize("error", [BadRequest("?"), Misconfigured("?"), ValueError("?")])
def test_an_error_that_somebody_has_to_correct_is_not_covered_up(error: Exception) -> None:
    with pytest.raises(type(error)):
        falling_back(error)[0].search(a_query())


def test_a_later_page_fails_rather_than_show_something_else() -> None:
    service, library = falling_back(Unavailable("gone"))
    with pytest.raises(Unavailable, match=r"^gone$"):
        service.search(a_query(), PageRequest(2, "c-1"))
    assert library.asked_popular == []


def test_with_nothing_to_show_the_error_has_a_remedy() -> None:
    with pytest.raises(Unavailable) as failed:
        falling_back(Unavailable("gone"), ())[0].search(a_query())
    assert str(failed.value) == (
        "gone; there are no popular passages to show instead: "
        "try again in a moment; if it keeps failing, `citewise doctor` says what to repair"
    )


@pytest.mark.parametrize(("also", "said"), [("log gone", " (log gone)"), ("gone", "")], ids=["another", "the same"])
def test_where_popular_passages_cannot_be_read_either_each_reason_is_given_once(also: str, said: str) -> None:
    with pytest.raises(Unavailable) as failed:
        falling_back(Unavailable("gone"), Unavailable(also))[0].search(a_query())
    assert str(failed.value).startswith(f"gone; popular passages cannot be shown either{said}: try again")


def test_a_question_that_is_cancelled_already_is_not_searched() -> None:
    log, library, cancellation = ListLog(), FakeLibrary(RESULT), Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        list(a_service(log, library).ask(a_query(), cancellation=cancellation))
    assert library.searched == []
    assert [row.error for row in log.rows] == ["Cancelled"]
