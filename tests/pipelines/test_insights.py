"""What rows of the query log tell together."""

from citewise.insights import (
    MAX_DAYS,
    MAX_QUESTIONS,
    Overview,
    _most_shown,
    _shown_chunks,
    _times_shown,
)
from citewise.model.logged import Logged
from tests.builders import DAY, NOON, a_row


def overview(*rows: Logged) -> Overview:
    return Overview.of(rows, since=NOON - 9 * DAY, until=NOON)


def test_volume_is_counted_by_kind_day_and_hour() -> None:
    found = overview(a_row(), a_row(kind="ask", at=NOON + 3600), a_row(at=NOON - 3 * DAY))
    assert found.queries == 3
    assert found.kinds == {"search": 2, "ask": 1}
    assert found.per_day == {"2025-12-29": 1, "2025-12-30": 0, "2025-12-31": 0, "2026-01-01": 2}
    assert (sum(found.per_hour), found.per_hour[12], found.per_hour[13], len(found.per_hour)) == (3, 2, 1, 24)


def test_of_many_years_only_the_last_days_are_listed() -> None:
    found = overview(a_row(at=0.0), a_row(at=NOON))
    assert len(found.per_day) == MAX_DAYS
    assert list(found.per_day)[-1] == "2026-01-01"


def test_nothing_asked_has_no_shares_and_no_percentiles() -> None:
    found = overview()
    assert (found.queries, found.per_day, found.latency_ms) == (0, {}, {})
    assert (found.cache_hit_rate, found.degraded_share, found.unanswered.share, found.poor.share) == (None,) * 4


def test_latency_is_of_questions_that_got_a_result() -> None:
    rows = [a_row(latency_ms=float(ms)) for ms in range(1, 102)]
    found = overview(*rows, a_row(latency_ms=9e9, error="Unavailable"))
    assert found.latency_ms == {"p50": 51.0, "p95": 96.0, "p99": 100.0}
    assert found.errors == {"Unavailable": 1}


def test_cache_hits_and_degraded_parts_are_shares_of_the_results() -> None:
    rows = [
        a_row(is_cache_hit=True),
        a_row(degraded=("dense", "rerank")),
        a_row(degraded=("rerank",)),
        a_row(),
        a_row(error="Unavailable"),
    ]
    found = overview(*rows)
    assert (found.cache_hit_rate, found.degraded_share) == (0.25, 0.5)
    assert list(found.degraded.items()) == [("rerank", 2), ("dense", 1)]


def test_unanswered_is_what_found_nothing_or_not_enough() -> None:
    rows = [
        a_row("fine"),
        a_row("nothing", hits=0),
        a_row("Too little?", kind="ask", sufficient_context=False, at=NOON - 5, quality=0.3, has_warning=True),
        a_row("too  little?", kind="ask", sufficient_context=False, quality=0.2),
        a_row("answered", kind="ask", sufficient_context=True),
        a_row("broken", hits=0, error="Unavailable"),
    ]
    found = overview(*rows).unanswered
    assert (found.count, found.share) == (3, 3 / 5)
    assert [(one.text, one.times, one.quality) for one in found.questions] == [
        ("too  little?", 2, 0.2),
        ("nothing", 1, None),
    ]


def test_poor_is_what_was_answered_with_a_warning() -> None:
    rows = [
        a_row("good", kind="ask", sufficient_context=True, quality=0.9),
        a_row("poor", kind="ask", sufficient_context=True, quality=0.2, has_warning=True),
        a_row("refused", kind="ask", sufficient_context=False, quality=0.1, has_warning=True),
    ]
    found = overview(*rows).poor
    assert (found.count, found.share) == (1, 0.5)
    assert [one.text for one in found.questions] == ["poor"]


def test_questions_without_words_are_counted_and_not_listed() -> None:
    found = overview(a_row(None, hits=0), a_row(None, hits=0)).unanswered
    assert (found.count, found.questions) == (2, ())


def test_only_the_most_frequent_questions_are_listed() -> None:
    rows = [a_row(f"q{at}", hits=0) for at in range(30)] + [a_row("q29", hits=0)]
    found = overview(*rows).unanswered
    assert len(found.questions) == MAX_QUESTIONS
    assert found.questions[0].text == "q29"


def test_a_document_counts_once_a_question() -> None:
    rows = [a_row(shown=[("c1", "d1"), ("c2", "d1"), ("c3", "d2")]), a_row(shown=[("c4", "d2")])]
    assert list(_times_shown(rows).items()) == [("d2", 2), ("d1", 1)]
    assert _shown_chunks(rows) == {"d1": ("c1", "c2"), "d2": ("c3", "c4")}


def test_popular_is_what_stood_near_the_top_most_often() -> None:
    far = [(f"c{at}", "d1") for at in range(9)]
    rows = [a_row(shown=far), a_row(shown=[("c4", "d1")]), a_row(shown=[("c8", "d1")] * 5, degraded=("dense",))]
    assert _most_shown(rows) == ("c4", "c0", "c1", "c2", "c3")
