"""Where units stand in their text, however they are wrapped."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.text.units import units_of
from tests.props.test_units import pages

HANDBOOK = Path(__file__).parents[3] / "src" / "citewise" / "data" / "handbook"


def spans_of(text: str) -> list[tuple[int, int]]:
    return [unit.span for unit in units_of(1, text)]


def stands(text: str) -> list[str]:
    return [text[slice(*span)] for span in spans_of(text)]


def visible(text: str) -> str:
    return re.sub(r"[\s>\\]+", "", text)


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
    assert spans_of(text) == [(10, 15), (34, 41)]


def test_words_that_come_twice_are_two_places() -> None:
    text = "Yes. No. Yes."
    assert spans_of(text) == [(0, 4), (5, 8), (9, 13)]


@given(pages | st.text())
def test_every_unit_stands_where_its_span_says_in_order(page: str) -> None:
    units = units_of(1, page)
    for unit in units:
        assert visible(page[slice(*unit.span)]) == visible(unit.text)
    assert all(before.span[1] <= after.span[0] for before, after in pairwise(units))


def test_every_unit_of_the_handbook_stands_where_its_span_says() -> None:
    for file in sorted(HANDBOOK.rglob("*.md*")):
        text = file.read_text("utf-8")
        for unit in units_of(1, text):
            assert visible(text[slice(*unit.span)]) == visible(unit.text), file.name
