"""What may be asked."""

from typing import Any

import pytest

from citewise.errors import BadRequest
from citewise.model.access import OWNER
from citewise.model.query import Query, Selection


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b\u200b", "\u2003"])
def test_nothing_asked_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="question is empty"):
        Query.checked_text(text)
    with pytest.raises(BadRequest, match="selection is empty"):
        Selection(text)


def test_two_thousand_characters_are_allowed_and_one_more_is_not() -> None:
    assert len(Query.checked_text(f"  {'x' * 2000} ")) == 2000
    with pytest.raises(BadRequest, match=r"2,001 characters; 2,000 are allowed"):
        Query.checked_text("x" * 2001)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        *((f"a{character}b", rf"U\+{ord(character):04X}") for character in "\x00\x1b\x7f\x85"),
        ("caf\udce9", "not valid UTF-8"),
        *((other, "the question must be text") for other in (None, 3, b"noon", ["noon"])),
    ],
)
def test_what_nobody_types_is_refused_by_name(question: Any, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        Query.checked_text(question)


def test_a_selection_loses_its_form_feeds_and_nothing_else() -> None:
    assert Selection("one\x0ctwo\tthree\n").text == "one two\tthree"


def test_line_breaks_tabs_and_other_scripts_are_fine() -> None:
    assert Query.checked_text(" Wann fährt\n\tdie Fähre? 渡船 👩‍🚀 ") == "Wann fährt\n\tdie Fähre? 渡船 👩‍🚀"


@pytest.mark.parametrize("top_k", [0, -1, 1001, 10**9])
def test_top_k_is_bounded(top_k: int) -> None:
    with pytest.raises(BadRequest, match=f"top_k is {top_k}"):
        Query("When?", request_id="r-1", asked_at=1.7e9, principal=OWNER, top_k=top_k)
