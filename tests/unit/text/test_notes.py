"""Notes and tabs: what the first line of each says, and what belongs to it."""

import pytest

from citewise.text.notes import BEGUN_TAB, TAB_SHORTCODE, dedented, title_of, titled
from tests.growth import assert_linear


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("::: tip Be quick", "Be quick"),
        (":::tip[Be quick]", "Be quick"),
        (":::my-tip[Quick]", "Quick"),
        ("/// tip | Be quick", "Be quick"),
        ('!!! tip inline end "Be quick"', "Be quick"),
        ('???+ tip "Be quick"', "Be quick"),
        ('=== "Linux"', "Linux"),
        ("> [!tip]- Be quick", "Be quick"),
        ("::: tip", ""),
        ("!!! tip", ""),
        ("[!tip]", ""),
        ("/// tip", ""),
        (":::", None),
        ("::: gauges.Reader", None),
        ("/// Reads the gauge.", None),
        ("=== Linux", None),
        ("Be quick", None),
    ],
)
def test_the_first_line_of_a_note_has_its_title(line: str, title: str | None) -> None:
    assert title_of(line) == title
    assert (titled(line) == line) is (title is None and line != ":::")


def test_what_is_indented_below_a_note_comes_to_the_margin() -> None:
    assert dedented("!!! tip\n    One.\n\n      two\nThree.") == "!!! tip\nOne.\n\n  two\nThree."
    assert dedented("Tip:\n\n    code") == "Tip:\n\n    code"


PIECES = (
    *("::: a [", "/// a |", "=== ", '=== "', "!!! a\n    ", '!!! a "', "[!a] ", "[!", "> ", " "),
    *("<Tab ", "<Tab label=", " label=", "{{< tab ", "{{< tab name=", ' name="a"', ' name="'),
)


@pytest.mark.parametrize("opening", ["", "<Tab", "{{< tab"])
@pytest.mark.parametrize("piece", PIECES)
def test_the_work_grows_with_the_text_and_no_faster(piece: str, opening: str) -> None:
    works = (title_of, titled, dedented, TAB_SHORTCODE.search, BEGUN_TAB.search)
    assert_linear(lambda text: [work(opening + text) for work in works], piece, characters=40_000)
