"""Where units stand in their text, however they are wrapped."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.text.layout import _spans_of as spans_of
from citewise.text.units import units_of
from tests.props.test_units import pages

HANDBOOK = Path(__file__).parents[3] / "src" / "citewise" / "data" / "handbook"


def stands(text: str) -> list[str | None]:
    return [text[slice(*span)] if span else None for span in spans_of(text, units_of(1, text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One two. Three.", ["One two.", "Three."]),
        ("One\ntwo. Three.", ["One\ntwo.", "Three."]),
        ("> One\n> two.\n\nThree.", ["One\n> two.", "Three."]),
        ("- one\n- two", ["- one", "- two"]),
        ("Read.\n\n```py\n# One.\nread()\n```", ["Read.", "```py\n# One.\nread()\n```"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|\n| 1 | 2 |"]),
        ("One.\\\nTwo.", ["One.", "Two."]),
    ],
)
def test_a_unit_stands_where_its_words_do(text: str, found: list[str]) -> None:
    assert stands(text) == found


def test_a_sentence_is_not_taken_for_the_heading_above_it() -> None:
    text = "## Gauge\n\nGauge\n\n:::note Reading\n\nReading\n\n:::"
    assert [span for span in spans_of(text, units_of(1, text)) if span] == [(10, 15), (34, 41)]


def test_words_that_come_twice_are_two_places() -> None:
    text = "Yes. No. Yes."
    assert list(spans_of(text, units_of(1, text))) == [(0, 4), (5, 8), (9, 13)]


def test_a_unit_of_another_text_is_nowhere() -> None:
    assert list(spans_of("One.", units_of(1, "Two."))) == [None]


@given(pages)
def test_every_unit_of_a_page_is_found_in_order(page: str) -> None:
    places = [span for span in spans_of(page, units_of(1, page)) if span]
    assert len(places) == len(units_of(1, page))
    assert all(start < end for start, end in places)
    assert all(before[1] <= after[0] for before, after in pairwise(places))


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    assert len(list(spans_of(text, units_of(1, text)))) == len(units_of(1, text))


def test_every_unit_of_the_handbook_is_found() -> None:
    for file in sorted(HANDBOOK.rglob("*.md*")):
        assert None not in stands(file.read_text("utf-8")), file.name
