"""Text that is safe to print: no escape sequence, whole or cut, and none of its body."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.cli.output import printable, printable_start
from citewise.text.sanitizing import begun_escape, sanitized, without_escapes
from tests.growth import assert_linear

ESC = "\x1b"


@pytest.mark.parametrize(
    "escape",
    [
        *("\x1b[31m", "\x1b[2J", "\x1b[1;1H", "\x1b[38;5;196m", "\x1b[?25l", "\x1b[0 q", "\x9b31m", "\x9b2J"),
        *(
            "\x1b]0;owned\x07",
            "\x1b]0;owned\x1b\\",
            "\x1b]8;;https://evil.example\x07",
            "\x9d0;owned\x9c",
            "\x9d0;owned\x07",
        ),
        *("\x1bPq#0;2\x1b\\", "\x90q\x9c", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\"),
        *("\x1bM", "\x1bc", "\x1b7", "\x1b=", "\x1b(B", "\x1b#8", "\x1b", "\x1b\x1b[31m", "\x1b[31m\x1b[0m"),
    ],
)
def test_an_escape_goes_with_its_body(escape: str) -> None:
    assert printable(f"a {escape}é b") == "a é b"
    assert sanitized(f"a {escape}é b") == "a é b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("array[31m and ]0;title and [2J", "array[31m and ]0;title and [2J"),
        ("a\x1b]0;a title without an end\nb", "aa title without an end\nb"),
        ("a\x1b[31", "a"),
        ("a\x1b[\nb", "a\nb"),
        ("a\x1b\x1b[31m[32m", "a[32m"),  # what closes up is text, since the escape before it is gone
        (f"a\x1b]{'b' * 1001}\x07c", f"a{'b' * 1001}c"),
        (f"a\x1b[{'1' * 65}m", "a1m"),
    ],
)
def test_what_does_not_belong_to_an_escape_stays(text: str, shown: str) -> None:
    assert printable(text) == shown


PARTS = st.sampled_from(
    [*"\x1b[]0;1m \nJ\\PX^_\x07\x90\x98\x9b\x9c\x9d\x9ea", "\x1b[", "\x1b]0;t", "\x1b[31m", "é", "\u200d"]
)
TEXTS = st.lists(PARTS, max_size=30).map("".join)


@given(TEXTS)
def test_twice_is_once_and_nothing_is_left_to_obey(text: str) -> None:
    once = without_escapes(text)
    assert without_escapes(once) == once
    assert not {ESC, "\x90", "\x98", "\x9b", "\x9d", "\x9e", "\x9f"} & set(once)
    assert once.count("\n") == text.count("\n")
    assert sanitized(sanitized(text)) == sanitized(text)


def streamed(pieces: Iterable[str]) -> str:
    shown, held = "", ""
    for piece in pieces:
        text, held = printable_start(held + piece)
        shown += text
    return shown + printable(held)


@given(TEXTS, st.lists(st.integers(0, 60)))
def test_how_a_stream_is_cut_does_not_matter(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert streamed(pieces) == streamed(text) == printable(text)


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_a_text_without_control_characters_stays(text: str) -> None:
    assert without_escapes(text) == text


def test_little_is_held_back() -> None:
    assert len(begun_escape(f"{ESC}]{'a' * 900}")) == 902
    assert begun_escape(f"{ESC}]{'a' * 5000}") == ""
    assert begun_escape(f"{ESC}[31m done") == ""


@pytest.mark.parametrize(
    "piece", [ESC, "\x1b[", "\x1b]", "\x1b]0;a", "\x9d", "\x9b1", "\x1b[1;", "\x1b ", "a\x1bP", "\x1b]a\x1b"]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    assert_linear(without_escapes, piece, characters=1_000_000)
