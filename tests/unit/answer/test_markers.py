"""Markers in an answer: made one shape, and removed where there is no source."""

import re

import pytest

from citewise.answer.markers import MarkerFilter
from tests.growth import assert_linear

NUMBER = re.compile(r"\[(\d)\]")


def filtered(text: str, sources: tuple[int, ...] = (1, 2, 3)) -> tuple[str, tuple[int, ...], int]:
    markers = MarkerFilter(sources)
    clean, rest = markers.filtered([text])
    return clean[0] + rest[0], clean[1] + rest[1], markers.removed


def numbered(text: str) -> str:
    """The text with its sources numbered in the order of first use."""
    numbers = {number: at for at, number in enumerate(dict.fromkeys(NUMBER.findall(text)), start=1)}
    return NUMBER.sub(lambda match: f"[{numbers[match[1]]}]", text)


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
        ("a [1,\u202f2]", "a [1][2]"),
        ("a [\u20092]", "a [2]"),
        ("a [\u00ad2]", "a [2]"),
        ("a [1,\n2] b", "a [1][2] b"),
        ("a [Source: 2]", "a [2]"),
        ("a [Sources: 1, 3]", "a [1][3]"),
        ("a [**2**]", "a [2]"),
        ("a [**1**, _2_]", "a [1][2]"),
        ("a [**Source 2**]", "a [2]"),
        ("a [^2]", "a [2]"),
        ("a [1 to 3]", "a [1][2][3]"),
        ("a [1 through 2]", "a [1][2]"),
        ("a [Source 1 to Source 3]", "a [1][2][3]"),
        ("a note[^1]\n\n[^1]: It is.", "a note[1]\n\n[1]: It is."),
        ("at noon[1].", "at noon[1]."),
    ],
)
def test_every_shape_of_a_marker_becomes_one(written: str, shown: str) -> None:
    text, used, removed = filtered(written)
    assert (text, removed) == (numbered(shown), 0)
    assert used == tuple(dict.fromkeys(map(int, NUMBER.findall(shown))))


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
        ("a [1,\u202f9]", "a [1]", 1),
        ("a [\u20099]", "a", 1),
        ("a [\u00ad9]", "a", 1),
        ("a [1,\n9]", "a [1]", 1),
        ("a [Source: 9]", "a", 1),
        ("a [Sources: 1, 9]", "a [1]", 1),
        ("a [**9**]", "a", 1),
        ("a [^9]", "a", 1),
        ("a [1 to 9]", "a [1][2][3]", 1),
        ("[^9]: so it is", "so it is", 1),
        ("- [9]: so it is", "- so it is", 1),
        ("a [999999999999999999999] b", "a b", 1),
        (f"a [{'9' * 190}].", "a.", 1),
        (f"a [1, {'9' * 100}, 2] b", "a [1][2] b", 1),
        ("a [-1].", "a.", 1),
        ("a [\u22121] b", "a b", 1),
        ("a [ -1 ] b", "a b", 1),
        ("a [-1, 2] b", "a [2] b", 1),
        ("a [-3--1] b", "a b", 1),
        ("a [1-99999999999] b", "a [1][2][3] b", 1),
        ("a [2\u201399999999999999999999] b", "a [2][3] b", 1),
        ("a [99999999999-999999999999] b", "a b", 1),
        ("a [ 9 ] b", "a b", 1),
        ("a [1, 99] b", "a [1] b", 1),
        ("a [\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19] b", "a b", 1),
        ("a [\u0669\u0669] [\u096f] b", "a b", 2),
        ("a [#-1] [^99999999999] [Source 99999999999] [Source -1] b", "a b", 4),
        ("a \u301099999999999\u2020source\u3011 b", "a b", 1),
        ("a [[99999999999]] b", "a b", 1),
    ],
)
def test_a_marker_without_a_source_goes_with_the_blank_before_it(written: str, shown: str, count: int) -> None:
    text, _, removed = filtered(written)
    assert (text, removed) == (numbered(shown), count)


@pytest.mark.parametrize(
    "text",
    [
        "`a[0]` and `[99]`",
        "`a[-1]` and `[99999999999]`",
        "```python\na[-1], a[10, 20], a[99999999999]\n```\n",
        "[TODO] and [-] and [a-1](x.md)",
        "``a ` [99]`` b",
        "```python\nx = a[0]\ny = [99]\n```\n",
        "~~~\n[99]\n```\n[98]\n~~~\n",
        "> ```\n> [99]\n> ```\n",
        "1. ```sh\n   echo [99]\n   ```\n",
        "````\n```\n[99]\n```\n````\n",
        "```\n[99]\n```not the end\n[98]",
        "```\r\n[99]\r\n```\r\n",
        "```\n[[1]]\n```\n",
        "```[Source\n9]\n```",
        "see [the docs](https://docs.example/a) and [docs]",
        "![a picture](x.png)",
        "- [x] done\n- [ ] open",
        "    x = arr[9]\n    y = [8]\n\n    [7]\n",
        "Text:\n\n\tx = arr[9]\n",
        "- a\n\nText:\n\n    arr[9]",
        "a ` b",
        "a ``` b ` c",
        "[Source: Tides] [**a**] [2**3] [^a] [to 3]",
        "[12:30] [1.5] [-1.5] [--flag] [-x] [1e9] [a] [] [1a] [v2] [source] [source code](x) [2nd] [Source 2nd]",
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


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("stray ` tick [9] rest [1]", "stray ` tick rest [1]"),
        ("a ` b [9]\nc ` d [9].", "a ` b\nc ` d."),
        ("a `` b [9] ` c", "a `` b ` c"),
        (r"a \`[9]\` b", r"a \` \` b"),
        ("a ` b [9] " + "c" * 1000 + " ` d", "a ` b " + "c" * 1000 + " ` d"),
        ("``` a `` [9]", "``` a ``"),
        ("```a``[9]` b", "```a`` ` b"),
        ("a ` b [8,\n9] c ` d", "a ` b \nc ` d"),
    ],
)
def test_a_backtick_that_is_not_closed_in_its_line_hides_no_marker(written: str, shown: str) -> None:
    text, _, removed = filtered(written)
    assert (text, removed) == (shown, written.count("9") + written.count("8"))


def test_an_indented_line_is_code_only_behind_an_empty_line_and_in_no_list() -> None:
    assert filtered("a\n    b [9]")[0] == "a\n    b"
    assert filtered("- a\n\n    b [9]")[0] == "- a\n\n    b"
    assert filtered("a\n\n    - b [9]")[0] == "a\n\n    - b"
    assert filtered("    a[9]\nb [9]")[0] == "    a[9]\nb"


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/x",
        "javascript:alert(1)",
        "evil.com/x",
        "ftp://evil.example",
        "mailto:a@evil.example",
        "  http://evil",
        "\nhttp://evil",
        'https://evil.example "a title"',
        "<http://evil>",
        "x",
        "",
        "or so",
    ],
)
def test_whatever_a_model_puts_behind_a_marker_as_its_address_goes(target: str) -> None:
    assert filtered(f"a [1]({target}) b") == ("a [1] b", (1,), 0)
    assert filtered(f"a [1]({target})({target}) b") == ("a [1] b", (1,), 0)
    assert filtered(f"a [9]({target}), b") == ("a, b", (), 1)
    assert filtered(f"a [see [1]]({target}) b") == ("a [see [1]] b", (1,), 0)


def test_an_address_that_never_ends_loses_its_parenthesis() -> None:
    assert filtered("a [1](https://evil.example/x is here") == ("a [1] is here", (1,), 0)
    assert filtered("a [1](https://evil.example\n\nb)") == ("a [1]\n\nb)", (1,), 0)
    assert filtered("a [1](or so [2]") == ("a [1]or so [2]", (1, 2), 0)
    assert filtered("a [1]((" + "b" * 300 + ")) [9]") == ("a [1]" + "b" * 300 + "))", (1,), 1)
    assert filtered("a [1](https://" + "b" * 300 + ") c") == ("a [1] c", (1,), 0)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a [1]\n\n[1]: https://evil.example", "a [1]\n\n[1]"),
        ('[1]: https://evil.example "A title"\nb', '[1] "A title"\nb'),
        ("[1]: <https://evil.example>\nb", "[1]\nb"),
        ("[1]:\n  javascript:alert(1)\nb", "[1]\nb"),
        ("- [1]: www.evil.example", "- [1]"),
        ("> [^1]: //evil.example", "> [1]"),
        ("[1][9]: https://evil.example", "[1]"),
        ("[1]: [9] https://evil.example", "[1]"),
        ("[Source 1: https://evil.example\nb", "[1]\nb"),
        ("[1]: evil.com/x\nb", "[1] evil.com/x\nb"),
        ("[1]:evil\nb", "[1] evil\nb"),
        ("[1]:(evil)", "[1] (evil)"),
        ("[1]: evil 'title'", "[1] evil 'title'"),
        ("[1]:\n[1]: https://evil.example", "[1]\n[1]"),
        ("[1]: https://evil.example/`[9]`", "[1] https://evil.example/`[9]`"),
        ("[1]: " + "b" * 300 + "\nc", "[1] " + "b" * 300 + "\nc"),
        ("[9]: https://evil.example", "https://evil.example"),
    ],
)
def test_a_line_that_would_make_a_link_of_every_marker_does_not(written: str, shown: str) -> None:
    text, _, _ = filtered(written)
    assert text == shown


@pytest.mark.parametrize(
    "text",
    [
        "[1]: the gauge is read at noon",
        "[1]: config.yaml holds it: https://docs.example",
        "[1]:\n\nhttps://docs.example",
        "It is so [1]: https://docs.example",
        "```\n[1]: https://docs.example\n```",
        "    [1]: https://docs.example",
        "[1]:",
    ],
)
def test_a_colon_behind_a_marker_stays_where_it_makes_no_link(text: str) -> None:
    assert filtered(text)[0] == text


def test_a_source_is_told_with_the_text_that_holds_its_marker() -> None:
    markers = MarkerFilter((1, 2))
    steps = list(markers.filtered(["[1]:\n", "[2] b"]))
    assert steps == [("[1]", (1,)), ("\n[2] b", (2,)), ("", ())]


@pytest.mark.parametrize(
    "text",
    [
        "[[9]1]",
        "[1[9]]",
        "[1, [9], 2]",
        "[ [9] 1]",
        "[9[9]9]",
        "[Source [9] 1]",
        "[9\n[9]9]",
        "[-[9]1]",
        "[999999999999[9]9]",
    ],
)
def test_no_marker_closes_up_around_one_that_was_removed(text: str) -> None:
    clean, used, removed = filtered(text)
    assert (used, removed) == ((), 1)
    assert filtered(clean) == (clean, (), 0)


@pytest.mark.parametrize("text", ["[[[1]]]", "[[1][9]]", "[[1] [9]]", "[\u30101\u3011]", "[[1](x)]"])
def test_brackets_around_a_marker_stay_apart_from_it(text: str) -> None:
    assert filtered(text)[:2] == ("[[1] ]", (1,))


def test_a_label_that_never_ends_is_text() -> None:
    assert filtered("a [Source 2: b\nc [9]") == ("a [1]: b\nc", (2,), 1)
    assert filtered("a [Source 2: see [1] there") == ("a [1]: see [2] there", (2, 1), 0)
    assert filtered("a [Source 2: " + "b" * 300)[0] == "a [1]: " + "b" * 300


def test_sources_are_told_once_in_the_order_they_are_used() -> None:
    markers = MarkerFilter((1, 2, 3))
    steps = list(markers.filtered(["a [2] b [1, 2", "] c [2][3]"]))
    assert steps == [("a [1] b", (2,)), (" [2][1] c [1][3]", (1, 3)), ("", ())]
    assert markers.used == (2, 1, 3)


def test_nothing_is_held_longer_than_it_must_be() -> None:
    numbers = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"
    first, second, third, blanks, _ = (
        text for text, _ in MarkerFilter((1,)).filtered(["a [", "b", numbers, " " * 100])
    )
    assert (first, second, third, len(blanks)) == ("a", " [b", numbers, 60)


def test_a_number_that_is_longer_than_any_label_is_text() -> None:
    number = "9" * 300
    first, rest = (text for text, _ in MarkerFilter((1,)).filtered([f"a [{number}] b [1]"]))
    assert first + rest == f"a [{number}] b [1]"


@pytest.mark.parametrize("text", ["a [999999999999999999999] b", "a [-1] b", "a [1-99999999999] b", f"[{'9' * 150}]"])
def test_a_false_marker_may_come_in_any_pieces(text: str) -> None:
    for size in (1, 2, 3, 7):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert "".join(piece for piece, _ in MarkerFilter((1,)).filtered(pieces)) == filtered(text, (1,))[0]


def test_without_sources_no_marker_is_left() -> None:
    assert filtered("a [1] b [Source 1: x].", sources=()) == ("a b.", (), 2)


def test_no_list_of_numbers_is_slow_to_read() -> None:
    for piece in (
        "9",
        "-",
        "[-",
        "[9999999999",
        "1 ",
        "1, ",
        "1 to ",
        "*",
        "Source ",
        "[",
        "`",
        "(",
        "[1](",
        "\n[1]:",
        " ",
        "\\",
    ):
        assert_linear(lambda text: filtered(f"[{text}"), piece, characters=4_000)
