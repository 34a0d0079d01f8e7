"""What is shown, and what is said, where a search cannot be made (Q16). With a real store: flows/test_degrading."""

from dataclasses import replace

import pytest

from citewise.errors import BadRequest, CitewiseError, Locked, Misconfigured, Unavailable
from citewise.model.access import Principal
from citewise.model.filters import AnyOf, Where
from citewise.model.query import Query
from citewise.model.ranking import Passage, SearchResult
from citewise.search.fallback import Fallback
from citewise.text.urls import Addresses
from tests.passages import a_finding, a_passage
from tests.shortlists import a_query


class Shelf:
    """Always shows the same, and remembers for whom."""

    def __init__(self, *passages: Passage, error: CitewiseError | None = None) -> None:
        self._passages = passages
        self._error = error
        self.asked: list[tuple[Where, int]] = []

    def passages(self, where: Where, limit: int) -> tuple[Passage, ...]:
        self.asked.append((where, limit))
        if self._error:
            raise self._error
        return self._passages[:limit]


def failing(error: Exception) -> Fallback:
    return fallback_of(error, Shelf(a_passage()))


def fallback_of(error: Exception, shelf: Shelf) -> Fallback:
    def search(query: Query) -> SearchResult:
        raise error

    return Fallback(search, shelf, Addresses({"": "https://harbor.example/"}))


def test_a_search_that_works_is_only_itself() -> None:
    found = SearchResult(a_query(), (a_finding(),), total_candidates=1, timings_ms={"total": 1.0})
    shelf = Shelf(a_passage())
    assert Fallback(lambda query: found, shelf)(a_query()) is found
    assert shelf.asked == []
    assert not found.is_popular


@pytest.mark.parametrize("error", [Unavailable("gone"), Locked("gone")])
def test_what_is_popular_is_shown_without_rank_or_worth_and_said_to_be_so(error: Exception) -> None:
    shown = failing(error)(a_query())
    (finding,) = shown.findings
    assert finding.passage == a_passage()
    assert (finding.score, finding.candidate.scores, finding.candidate.ranks) == (0.0, {}, {})
    assert finding.url == "https://harbor.example/tides#reading"
    assert shown.degraded == ("search: gone; popular passages are shown instead",)
    assert "did not come from the question" in shown.notes[0]
    assert (shown.total_candidates, dict(shown.counts)) == (0, {"popular": 1})
    assert shown.timings_ms["total"] > 0
    assert shown.is_popular


def test_it_is_asked_for_what_this_reader_may_see_under_these_filters() -> None:
    shelf = Shelf(a_passage())
    query = a_query(principal=Principal("ann"), conditions=(AnyOf("tags", frozenset({"sea"})),), top_k=3)
    fallback = fallback_of(Unavailable("gone"), shelf)
    for limit in (None, 2, 5):
        replace(fallback, limit=limit)(query)
    assert shelf.asked == [(query.where, 3), (query.where, 2), (query.where, 3)]


@pytest.mark.parametrize("error", [BadRequest("?"), Misconfigured("?"), ValueError("?")])
def test_what_somebody_has_to_put_right_is_not_covered_up(error: Exception) -> None:
    with pytest.raises(type(error)):
        failing(error)(a_query())


def test_with_nothing_to_show_the_failure_is_said_with_what_to_do() -> None:
    with pytest.raises(Unavailable) as failed:
        fallback_of(Unavailable("gone"), Shelf())(a_query())
    assert str(failed.value) == (
        "gone; no popular passage is known that could be shown instead: "
        "try again in a moment, and if this goes on, `citewise doctor` says what to repair"
    )


@pytest.mark.parametrize(("also", "said"), [("log gone", " (log gone)"), ("gone", "")], ids=["another", "the same"])
def test_where_what_is_popular_cannot_be_read_either_both_are_said_once(also: str, said: str) -> None:
    with pytest.raises(Unavailable) as failed:
        fallback_of(Unavailable("gone"), Shelf(error=Unavailable(also)))(a_query())
    assert str(failed.value).startswith(f"gone; nor can popular passages be shown{said}: try again")
