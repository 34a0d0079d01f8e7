"""Every question leaves one row, however it ends, and none of them waits or fails for it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from citewise.errors import BadRequest, Unavailable
from citewise.model.access import Principal, Scope
from citewise.model.answer import Answer, AnswerEvents, Citation, Done, Failed, Message, Quality, Role, Token, Usage
from citewise.model.logged import MAX_SHOWN, Asker, Logged, ShownChunk, Way
from citewise.model.query import Query
from citewise.model.ranking import POPULAR, SearchResult
from citewise.request_log import LoggedAsk, LoggedSearch
from tests.passages import a_finding, a_passage

ANN = Principal("ann", frozenset({"ops"}))
QUERY = Query("When is the gauge read?", "r-7", 1.7e9, scope=Scope("acme", "book"), principal=ANN)
FINDINGS = tuple(a_finding(a_passage(position=at)) for at in range(3))
RESULT = SearchResult(QUERY, FINDINGS, total_candidates=40, timings_ms={"total": 5.0})


class Kept:
    """The port QueryLog as a list."""

    def __init__(self) -> None:
        self.rows: list[Logged] = []

    def add(self, row: Logged) -> None:
        self.rows.append(row)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class Ticking:
    """A clock that a look moves on by a hundredth of a second, and a test by more."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


def a_citation(at: int) -> Citation:
    one = FINDINGS[at].passage
    return Citation(
        n=1,
        chunk_id=one.chunk_id,
        document_id=one.document_id,
        document=one.document,
        title=one.title,
        section=one.section,
        breadcrumb=one.breadcrumb,
        url=None,
        module=None,
        chapter=None,
        lines=None,
        page=None,
        excerpt=one.text,
        score=1.0,
    )


def an_answer(result: SearchResult = RESULT) -> Answer:
    quality = Quality(overall=0.3, retrieval_confidence=0.6, sufficiency=0.5, diversity=1.0, faithfulness=0.5)
    return Answer(
        result,
        "At noon [1].",
        "extractive",
        sufficient_context=True,
        citations=(a_citation(1),),
        removed_markers=0,
        unsupported_sentences=(),
        quality=replace(quality, warning="low"),
        usage=Usage(300, 200, 220, 30),
    )


def test_a_search_leaves_one_row_with_ids_and_numbers() -> None:
    log = Kept()
    search = LoggedSearch(lambda query: RESULT, log, Ticking())
    assert search(QUERY) is RESULT
    shown = tuple(ShownChunk(one.passage.chunk_id, one.passage.document_id) for one in FINDINGS)
    assert log.rows == [
        Logged(
            at=1.7e9,
            request_id="r-7",
            scope=Scope("acme", "book"),
            way=Way.SEARCH,
            asker=Asker.of(ANN),
            text="When is the gauge read?",
            latency_ms=log.rows[0].latency_ms,
            candidates=40,
            hits=3,
            shown=shown,
        )
    ]
    assert log.rows[0].latency_ms == pytest.approx(10.0)


def test_a_row_counts_the_tokens_that_were_spent_and_none_for_the_cache() -> None:
    log, again = Kept(), replace(RESULT, cache_hit=True)
    for result in (RESULT, again):
        LoggedSearch(lambda query, result=result: result, log, count=len)(QUERY)
        list(LoggedAsk(lambda query, result=result: answering(an_answer(result)), log, count=len)(QUERY))
    spent = [(row.tokens_in, row.tokens_out, row.embedding_tokens) for row in log.rows]
    asked = len(QUERY.text)
    assert spent == [(None, None, asked), (220, 30, asked), (None, None, 0), (0, 0, 0)]


def test_a_row_holds_no_text_of_any_passage() -> None:
    log = Kept()
    LoggedSearch(lambda query: RESULT, log)(QUERY)
    list(LoggedAsk(lambda query: answering(an_answer()), log)(QUERY))
    assert len(log.rows) == 2
    assert not any(finding.passage.text in repr(row) for row in log.rows for finding in FINDINGS)


def test_cache_hits_and_degraded_parts_are_kept_without_their_messages() -> None:
    log = Kept()
    degraded = ("dense: timed out at /secret/path", "dense: again", "rerank: gone", "x" * 100)
    LoggedSearch(lambda query: replace(RESULT, cache_hit=True, degraded=degraded), log)(QUERY)
    assert log.rows[0].is_cache_hit
    assert log.rows[0].degraded == ("dense", "rerank", "x" * 40)


def test_of_a_long_list_only_the_first_are_kept() -> None:
    log = Kept()
    many = tuple(a_finding(a_passage(position=at)) for at in range(50))
    LoggedSearch(lambda query: replace(RESULT, findings=many), log)(QUERY)
    assert log.rows[0].hits == 50
    assert [one.chunk for one in log.rows[0].shown] == [one.passage.chunk_id for one in many[:MAX_SHOWN]]


def test_what_is_popular_does_not_make_itself_more_so() -> None:
    log = Kept()
    LoggedSearch(lambda query: replace(RESULT, findings=FINDINGS, counts={POPULAR: len(FINDINGS)}), log)(QUERY)
    assert (log.rows[0].hits, log.rows[0].shown) == (len(FINDINGS), ())


def test_whatever_else_the_search_takes_is_handed_on() -> None:
    def paged(query: Query, *, limit: int, cursor: str | None = None) -> SearchResult:
        return replace(RESULT, findings=FINDINGS[:limit], next_cursor=cursor)

    log = Kept()
    found = LoggedSearch(paged, log)(QUERY, limit=2, cursor="c-1")
    assert (len(found.findings), found.next_cursor) == (2, "c-1")
    assert log.rows[0].hits == 2


def test_a_search_that_fails_is_a_row_too_and_fails_all_the_same() -> None:
    def broken(query: Query) -> SearchResult:
        raise Unavailable("the disk has gone")

    log = Kept()
    with pytest.raises(Unavailable, match="the disk has gone"):
        LoggedSearch(broken, log, Ticking())(QUERY)
    (row,) = log.rows
    assert (row.error, row.hits) == ("Unavailable", 0)
    assert row.latency_ms == pytest.approx(10.0)


def test_what_cannot_be_asked_at_all_is_no_question() -> None:
    def refusing(query: Query) -> SearchResult:
        raise BadRequest("this cursor has expired")

    log = Kept()
    with pytest.raises(BadRequest):
        LoggedSearch(refusing, log)(QUERY)
    assert log.rows == []


def answering(answer: Answer) -> AnswerEvents:
    yield Token("At noon ")
    yield Token("[1].")
    yield Done(answer)


def test_an_answer_leaves_one_row_with_what_it_cites() -> None:
    log = Kept()
    events = list(LoggedAsk(lambda query: answering(an_answer()), log)(QUERY))
    assert [type(event) for event in events] == [Token, Token, Done]
    (row,) = log.rows
    assert (row.way, row.quality, row.confidence, row.has_warning) == (Way.ASK, 0.3, 0.6, True)
    assert (row.sufficient_context, row.tokens_in, row.tokens_out, row.hits) == (True, 220, 30, 3)
    assert row.shown == (ShownChunk(FINDINGS[1].passage.chunk_id, FINDINGS[1].passage.document_id),)


def test_the_row_is_there_when_the_answer_is_even_if_nobody_reads_on() -> None:
    log = Kept()
    events = LoggedAsk(lambda query: answering(an_answer()), log)(QUERY)
    assert any(isinstance(event, Done) for event in events)
    events.close()
    assert [row.error for row in log.rows] == [None]


def test_the_time_that_a_reader_takes_is_not_counted() -> None:
    log, clock = Kept(), Ticking()
    for _ in LoggedAsk(lambda query: answering(an_answer()), log, clock)(QUERY):
        clock.now += 100.0
    assert log.rows[0].latency_ms == pytest.approx(30.0)


def test_an_answer_that_nobody_waits_for_is_closed_and_logged_as_abandoned() -> None:
    closed = []

    def watched(query: Query) -> AnswerEvents:
        try:
            yield from answering(an_answer())
        finally:
            closed.append(True)

    log = Kept()
    events = LoggedAsk(watched, log)(QUERY)
    next(events)
    events.close()
    assert closed == [True]
    assert [row.error for row in log.rows] == ["abandoned"]


def test_an_answer_that_fails_on_the_way_is_a_row_too() -> None:
    def failing(query: Query) -> AnswerEvents:
        yield Token("At ")
        raise Unavailable("the model has gone")

    log = Kept()
    with pytest.raises(Unavailable):
        list(LoggedAsk(failing, log)(QUERY))
    assert [row.error for row in log.rows] == ["Unavailable"]


def test_an_answer_that_breaks_off_is_logged_as_failed_once() -> None:
    def failing(query: Query) -> AnswerEvents:
        yield Token("At ")
        yield Failed(Unavailable("the model has gone"))

    log = Kept()
    events = LoggedAsk(failing, log)(QUERY)
    assert [type(next(events)), type(next(events))] == [Token, Failed]
    events.close()
    assert [row.error for row in log.rows] == ["Unavailable"]


def test_the_history_is_handed_on() -> None:
    told: list[Sequence[Message]] = []

    def asking(query: Query, *, history: Sequence[Message] = ()) -> AnswerEvents:
        told.append(history)
        return answering(an_answer())

    said = (Message(Role.USER, "Hello"),)
    list(LoggedAsk(asking, Kept())(QUERY, history=said))
    assert told == [said]
