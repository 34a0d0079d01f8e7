"""Markers in an answer: made one shape, and removed where there is no source."""

import pytest

from citewise.answer.markers import MarkerFilter


def filtered(text: str, sources: tuple[int, ...] = (1, 2, 3)) -> tuple[str, tuple[int, ...], int]:
    markers = MarkerFilter(sources)
    clean, rest = markers.feed(text), markers.finish()
    return clean[0] + rest[0], clean[1] + rest[1], markers.removed


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("So it is [1].", "So it is [1]."),
        ("So it is[1].", "So it is[1]."),
        ("a [1][2]", "a [1][2]"),
        ("a [1] [2]", "a [1] [2]"),
        ("a [1, 2]", "a [1][2]"),
        ("a [ 1,2 ]", "a [1][2]"),
        ("a [3; 1]", "a [3][1]"),
        ("a [1 and 2] b", "a [1][2] b"),
        ("a [1 & 3]", "a [1][3]"),
        ("a [1-3]", "a [1][2][3]"),
        ("a [1\u20133]", "a [1][2][3]"),
        ("a [3 - 1]", "a [1][2][3]"),
        ("a [1, 1]", "a [1]"),
        ("a [Source 2] b", "a [2] b"),
        ("a [source2]", "a [2]"),
        ("a [Sources 1, 3]", "a [1][3]"),
        ("a [Source 1, Source 2]", "a [1][2]"),
        ("a [Source #2]", "a [2]"),
        ("a [Source 2: Tides - Reading (p. 7)].", "a [2]."),
        ("a [Source 2 - Tides].", "a [2]."),
        ("a [Source 2, p. 7].", "a [2]."),
        ("a [Source 1: Tides; Source 2: Staffs].", "a [1][2]."),
        ("a [Source 2: a title that goes on, and goes on, and is longer than any marker] b", "a [2] b"),
        ("a\u30101\u3011", "a[1]"),
        ("a \u30101\u2020source\u3011", "a [1]"),
        ("a \uff3b\uff12\uff3d", "a [2]"),
        ("a [\uff11]", "a [1]"),
        ("a [[1]] b", "a [1] b"),
        (r"a \[1\] b", "a [1] b"),
        ("a [1\u200b]", "a [1]"),
    ],
)
def test_every_shape_of_a_marker_becomes_one(written: str, shown: str) -> None:
    text, used, removed = filtered(written)
    assert (text, removed) == (shown, 0)
    assert {f"[{number}]" for number in used} == {f"[{number}]" for number in (1, 2, 3) if f"[{number}]" in shown}


@pytest.mark.parametrize(
    ("written", "shown", "count"),
    [
        ("So it is [99].", "So it is.", 1),
        ("So it is [0] and was.", "So it is and was.", 1),
        ("a [9]", "a", 1),
        ("a [9] b", "a b", 1),
        ("a [9]b", "a b", 1),
        ("a[9] b", "a b", 1),
        ("a[9]b", "ab", 1),
        ("a [9]  b", "a b", 1),
        ("a [9], b", "a, b", 1),
        ("a [8][9]. b", "a. b", 2),
        ("a [8] [9]. b", "a. b", 2),
        ("a [1], [9].", "a [1].", 1),
        ("a [1],[9] and b", "a [1], and b", 1),
        ("(a [9])", "(a)", 1),
        ("a [9]\nb", "a\nb", 1),
        ("[9] a", "a", 1),
        ("b\n[9] a", "b\na", 1),
        ("- [9] a", "- a", 1),
        ("- b\n  [9] a", "- b\n  a", 1),
        ("a [1, 9]", "a [1]", 1),
        ("a [1, 8, 9]", "a [1]", 2),
        ("a [2-7] b", "a [2][3] b", 1),
        ("in [2020-2024] it", "in it", 1),
        ("a [Source 9] b", "a b", 1),
        ("a [Source 9: Fake - Title] b", "a b", 1),
        ("a [[9]] b", "a b", 1),
        (r"a \[9\] b", "a b", 1),
        ("a \u30109\u3011\u3002", "a\u3002", 1),
    ],
)
def test_a_marker_without_a_source_goes_with_the_blank_before_it(written: str, shown: str, count: int) -> None:
    text, _, removed = filtered(written)
    assert (text, removed) == (shown, count)


@pytest.mark.parametrize(
    "text",
    [
        "`a[0]` and `[99]`",
        "``a ` [99]`` b",
        "```python\nx = a[0]\ny = [99]\n```\n",
        "~~~\n[99]\n```\n[98]\n~~~\n",
        "> ```\n> [99]\n> ```\n",
        "1. ```sh\n   echo [99]\n   ```\n",
        "````\n```\n[99]\n```\n````\n",
        "```\n[99]\n```not the end\n[98]",
        "```\r\n[99]\r\n```\r\n",
        "see [the docs](https://docs.example/a) and [docs]",
        "![a picture](x.png)",
        "- [x] done\n- [ ] open",
        "a note[^1]\n\n[^1]: It is.",
        "[12:30] [-1] [1.5] [a] [] [1a] [v2] [source] [source code](x) [2nd] [Source 2nd]",
        "a [",
        "a [1",
        "a [Source 1",
        "two blanks  \nfor a break",
        r"\[ x = 1 \] and \(y\)",
        "(http://example.com) (1)",
    ],
)
def test_what_is_no_marker_stays_as_it_is(text: str) -> None:
    assert filtered(text) == (text, (), 0)


def test_code_ends_where_it_ends() -> None:
    assert filtered("`a[9]` b [9]")[0] == "`a[9]` b"
    assert filtered("```\na[9]\n```\nb [9]")[0] == "```\na[9]\n```\nb"
    assert filtered("```a[9]``` b [9]")[0] == "```a[9]``` b"


def test_a_stray_backtick_hides_markers_to_the_end_of_its_line_at_most() -> None:
    assert filtered("a ` b\nc [9].") == ("a ` b\nc.", (), 1)


def test_an_address_that_a_model_puts_behind_a_marker_goes() -> None:
    assert filtered("a [1](https://evil.example/x) b") == ("a [1] b", (1,), 0)
    assert filtered("a [9](/x), b") == ("a, b", (), 1)
    assert filtered("a [1](https://evil.example/x is here") == ("a [1] is here", (1,), 0)
    assert filtered("a [1](https://evil.example\nb") == ("a [1]\nb", (1,), 0)
    assert filtered("a [1](or so)") == ("a [1](or so)", (1,), 0)


@pytest.mark.parametrize("text", ["[[9]1]", "[1[9]]", "[1, [9], 2]", "[ [9] 1]", "[9[9]9]", "[Source [9] 1]"])
def test_no_marker_closes_up_around_one_that_was_removed(text: str) -> None:
    clean, used, removed = filtered(text)
    assert (used, removed) == ((), 1)
    assert filtered(clean) == (clean, (), 0)


def test_a_label_that_never_ends_is_text() -> None:
    assert filtered("a [Source 2: b\nc [9]") == ("a [2]: b\nc", (2,), 1)
    assert filtered("a [Source 2: see [1] there") == ("a [2]: see [1] there", (2, 1), 0)
    assert filtered("a [Source 2: " + "b" * 300)[0] == "a [2]: " + "b" * 300


def test_sources_are_told_once_in_the_order_they_are_used() -> None:
    markers = MarkerFilter((1, 2, 3))
    assert markers.feed("a [2] b [1, 2") == ("a [2] b", (2,))
    assert markers.feed("] c [2][3]") == (" [1][2] c [2][3]", (1, 3))
    assert markers.finish() == ("", ())
    assert markers.used == (2, 1, 3)


def test_nothing_is_held_longer_than_it_must_be() -> None:
    markers = MarkerFilter((1,))
    assert markers.feed("a [")[0] == "a"
    assert markers.feed("b")[0] == " [b"
    assert markers.feed("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13")[0] == "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"
    assert len(markers.feed(" " * 100)[0]) == 60


def test_without_sources_no_marker_is_left() -> None:
    assert filtered("a [1] b [Source 1: x].", sources=()) == ("a b.", (), 2)
