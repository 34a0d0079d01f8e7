"""Whatever a text holds, its words are in units, once and in order, unless their line is none."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.text.units import units_of
from tests.growth import assert_linear

LETTERS = re.compile(r"[a-z]+\d+")

words = st.integers(0, 9999).map(lambda number: f"w{number}")
glue = st.sampled_from([" ", ". ", "? ", ", ", ": ", "; ", " `", "` ", " **", "... ", ".", "/", "  "])
lines = st.lists(st.tuples(words, glue), min_size=1, max_size=12).map(lambda pairs: "".join(a + b for a, b in pairs))
starts = st.sampled_from(["", "", "", "- ", "* ", "  - ", "> ", "> - ", "    ", "\t", "| ", "> > "])
quotable = st.builds(lambda start, line: start + line, starts, lines)
marks = st.sampled_from(["", "", "```", "~~~", "```py", "> ```", "---", "===", "$$", "|---|---|", "***", ":::", "</a>"])
pages = st.lists(quotable | marks, max_size=30).map("\n".join)


@given(pages)
@settings(max_examples=300)
def test_every_word_stands_in_one_unit_or_in_a_heading(page: str) -> None:
    given_words = LETTERS.findall(page)
    found = [word for unit in units_of(1, page) for word in LETTERS.findall(unit.text)]
    rest = iter(given_words)
    assert all(any(word == other for other in rest) for word in found)  # in order, none twice
    headings = [
        line for line, below in zip(page.split("\n"), [*page.split("\n")[1:], ""], strict=True) if _rules(below)
    ]
    missing = len(given_words) - len(found)
    assert missing <= len(LETTERS.findall("\n".join(headings)))


def _rules(line: str) -> bool:
    return re.fullmatch(r"[ >]*(?:=+|-+)\s*", line) is not None


@given(pages)
def test_a_unit_is_found_in_its_text_apart_from_blanks_and_marks(page: str) -> None:
    plain = _squeezed(page)
    for unit in units_of(1, page):
        assert _squeezed(unit.text) in plain


def _squeezed(text: str) -> str:
    return re.sub(r"[\s>\\]+", "", text)


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    units = units_of(3, text)
    assert [unit.position for unit in units] == list(range(len(units)))
    assert all(unit.text.strip() and unit.source == 3 for unit in units)


def test_the_work_grows_with_the_text_and_no_faster() -> None:
    for piece in ("`", "a. ", "> ", "- ", "|-", "$$\n", "``` \n", "a\n---\n", "[", "*" * 5, "\t", "a, ", " ", "<a "):
        assert_linear(lambda text: units_of(1, text), piece, characters=200_000)


def test_a_run_of_one_character_is_read_once() -> None:
    runs = '.!?\u2026\u3002*_`[])"<#|->:~$\n\t\u00a0'
    mixed = ("?!", ".)", ".*", "1.", "1.2.", "<a>", "a. ", "A. b. ", "a! ", "- - ", "\u3002\u3000")
    for piece in (*runs, *mixed):
        assert_linear(lambda text: units_of(1, f"a {text}"), piece, characters=50_000)
        assert_linear(lambda text: units_of(1, f"{text} b"), piece, characters=50_000)
