"""Cursors: what they are bound to, and that nobody but the library can make or read one."""

import re
from dataclasses import replace
from typing import Any

import pytest

from citewise.errors import BadRequest
from citewise.model.access import Principal, Scope
from citewise.model.filters import AnyOf, Between
from citewise.model.paging import Cursor, HeldId, PageRequest, Seal, checked_cursor, purpose_of
from tests.shortlists import a_query

KEY = bytes(range(32))
ANN = Principal("ann", frozenset({"ops", "crew"}))
TIDES = AnyOf("tags", frozenset({"tide", "gauge"}))
RECENT = Between("year", low=2020)


def a_cursor(**changes: Any) -> Cursor:
    made = Cursor(HeldId(bytes(16)), place=5, position=70, expires_at=1e9, purpose=bytes(16))
    return replace(made, **changes)


def purpose(request: PageRequest | None = None, **changes: Any) -> bytes:
    return purpose_of(a_query(**{"principal": ANN, "conditions": (TIDES,), **changes}), request or PageRequest())


def test_a_cursor_is_read_back_as_it_was_written() -> None:
    cursor = a_cursor(held=HeldId(b"0123456789abcdef"), place=9_999, position=2**40, purpose=b"p" * 16)
    assert Seal(KEY).read(Seal(KEY).written(cursor)) == cursor


def test_a_cursor_is_short_and_fit_for_a_url() -> None:
    assert re.fullmatch(r"c[A-Za-z0-9_-]{112}", Seal(KEY).written(a_cursor()))


def test_a_cursor_shows_nothing_of_what_it_holds() -> None:
    one, other = Seal(KEY).written(a_cursor(place=5)), Seal(KEY).written(a_cursor(place=6))
    alike = sum(left == right for left, right in zip(one, other, strict=True))
    assert alike < len(one) / 4  # two of 64 letters are equal by chance once in 64


@pytest.mark.parametrize(
    "text", ["", "c", "c" * 112, "c" * 114, "A" * 113, "c" * 112 + "=", "c" + "ä" * 112, "c" * 112 + "\n"]
)
def test_what_has_not_the_shape_of_a_cursor_is_called_incomplete(text: str) -> None:
    with pytest.raises(BadRequest, match=r"not whole.*search again"):
        Seal(KEY).read(text)


def test_a_truncated_cursor_is_called_incomplete() -> None:
    with pytest.raises(BadRequest, match="not whole"):
        Seal(KEY).read(Seal(KEY).written(a_cursor())[:-1])


def test_a_cursor_of_another_library_is_refused() -> None:
    with pytest.raises(BadRequest, match="not one of this library's"):
        Seal(bytes(32)).read(Seal(KEY).written(a_cursor()))


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "When does the ferry arrive?"},
        {"scope": Scope("acme", "other")},
        {"scope": Scope("other", "handbook")},
        {"principal": Principal("bob", frozenset({"ops", "crew"}))},
        {"principal": Principal("ann", frozenset({"ops"}))},
        {"principal": Principal(owns_library=True)},
        {"conditions": ()},
        {"conditions": (replace(TIDES, values=frozenset({"tide"})),)},
        {"conditions": (TIDES, RECENT)},
        {"rerank": False},
        {"expand_graph": True},
        {"half_life_days": 10.0},
        {"freshness_weight": 0.5},
        {"request": PageRequest(is_open=False)},
    ],
)
def test_another_search_has_another_purpose(changes: dict[str, Any]) -> None:
    assert purpose(**changes) != purpose()


def test_of_two_bounded_searches_top_k_counts() -> None:
    bounded = PageRequest(is_open=False)
    assert purpose(bounded, top_k=20) != purpose(bounded, top_k=30)


@pytest.mark.parametrize(
    "changes",
    [
        {"request_id": "r-2"},
        {"asked_at": 5.0},
        {"request": PageRequest(limit=20, cursor="any")},
        {"principal": Principal("ann", frozenset({"crew", "ops"}))},
        {"text": " When does the ferry leave?\n"},
    ],
)
def test_the_same_search_asked_again_has_the_same_purpose(changes: dict[str, Any]) -> None:
    assert purpose(**changes) == purpose()


def test_the_order_of_filters_means_nothing() -> None:
    assert purpose(conditions=(TIDES, RECENT)) == purpose(conditions=(RECENT, TIDES))


def test_values_do_not_run_into_each_other() -> None:
    one = AnyOf("tags", frozenset({"a", "b"})), AnyOf("authors", frozenset({"c"}))
    other = AnyOf("tags", frozenset({"a"})), AnyOf("authors", frozenset({"b", "c"}))
    assert purpose(conditions=one) != purpose(conditions=other)


def test_a_cursor_may_be_used_until_it_expires_where_it_was_made() -> None:
    cursor = a_cursor()
    assert checked_cursor(cursor, purpose=bytes(16), position=70, now=1e9 - 1) is cursor
    assert checked_cursor(cursor, purpose=bytes(16), position=71, now=1e9 - 1) is cursor


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"purpose": b"q" * 16}, "another search"),
        ({"now": 1e9}, "has expired"),
        ({"position": 69}, "before the library was replaced"),
        ({"purpose": b"q" * 16, "now": 2e9}, "another search"),  # of another's cursor one hears nothing more
    ],
)
def test_a_cursor_that_does_not_fit_is_refused_with_the_reason(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=f"{said}.*search again without a cursor"):
        checked_cursor(a_cursor(), **{"purpose": bytes(16), "position": 70, "now": 0.0, **changes})


@pytest.mark.parametrize("limit", [0, -1, 21, True, 2.0, "5"])
def test_a_page_has_one_to_twenty_hits(limit: Any) -> None:
    with pytest.raises(BadRequest, match="a page has 1 to 20 hits"):
        PageRequest(limit)


def test_a_page_has_five_hits_unless_more_are_asked_for() -> None:
    assert PageRequest().limit == 5
