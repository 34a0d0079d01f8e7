"""Markers in any text, cut in any way: the same answer, and never a marker without a source."""

import re
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from citewise.answer.markers import MAX_BUFFERED, MAX_CODE, MAX_LABEL, MarkerFilter

SOURCES = (1, 2, 3, 12)
BITS = st.sampled_from(
    [
        *"[]()\\`~ \n,;-#.:9'\"\u2020\u200b\u202f",
        *("[1]", "[99]", "[1, 2]", "[12", "[Source 2", "[source 7: a title", "[Source: ", "[[1]]", "[[8]]"),
        *("\u30102\u3011", "\uff3b\uff11\uff3d", "[1\u20133]", "[x]", "[^1]", "[**", "**]", "[1](", "(https://"),
        *("[1]: ", "\n[1]:", "\n[9]:", "https://x", "javascript:a(1)", "```", "\n```\n", "``", "`a[0]`"),
        *("[-1]", "[-", "[\u22129]", "[999999999999999999999]", "[1-99999999999]", "9" * 30, "[ 9 ]", "[\u0669]"),
        *("word", " and ", " to ", "\r\n", "\n\n    ", "\n- "),
    ]
)
TEXTS = st.lists(BITS | st.text(max_size=3), max_size=30).map("".join)


def filtered(pieces: list[str], sources: Sequence[int] = SOURCES) -> tuple[str, tuple[int, ...], int]:
    markers = MarkerFilter(sources)
    steps = list(markers.filtered(pieces))
    used = tuple(number for _, new in steps for number in new)
    assert used == markers.used
    return "".join(text for text, _ in steps), used, markers.removed


@given(TEXTS, st.lists(st.integers(0, 200)))
def test_how_a_text_is_cut_does_not_matter(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert filtered(pieces) == filtered([text]) == filtered(list(text))


@given(TEXTS)
def test_what_has_passed_once_passes_again_as_it_is(text: str) -> None:
    clean, used, _ = filtered([text])
    shown = tuple(range(1, len(used) + 1))
    assert filtered([clean], shown) == (clean, shown, 0)


@given(TEXTS)
def test_no_marker_that_has_passed_is_a_link(text: str) -> None:
    clean = filtered([text])[0]
    outside = re.sub(r"(?ms)^[ \t>*+\d.)-]*(```|~~~).*|^(?: {4}|\t).*?$|(`+)[^`\n].*?\2", "", clean)
    assert not re.search(r"\[\d+\]\(", outside)
    assert not re.search(r"(?m)^\[\d+\]:\s*(?:https|javascript):", outside)


@given(
    st.integers(max_value=0) | st.integers(min_value=4), st.sampled_from(["{}", " {} ", "#{}", "Source {}", "9, {}"])
)
def test_a_number_of_no_source_is_never_shown(number: int, form: str) -> None:
    assert filtered([f"a [{form.format(number)}] b"], (1, 2, 3))[0] == "a b"


@given(TEXTS)
def test_little_is_held_back(text: str) -> None:
    _, (rest, _) = MarkerFilter(SOURCES).filtered([text])
    assert len(rest) <= MAX_CODE + MAX_LABEL + MAX_BUFFERED


@given(st.text())
def test_a_text_without_brackets_passes_as_it_is(text: str) -> None:
    plain = text.translate(str.maketrans("[\uff3b\u3010", "(((", ""))
    assert filtered([plain]) == (plain, (), 0)
