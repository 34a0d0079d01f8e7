"""Answers on a terminal: Markdown that arrives in pieces is shown block by block, and nothing of it is lost."""

import io
import re
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from citewise.cli.output import printable
from citewise.cli.terminal import MarkdownStream

COLOR = re.compile(r"\x1b\[[\d;]*m")
ANSWER = """\
The **gauge** is read at noon. [1]

1. Open the `valve`:

   ```python
   open_valve()

   close_valve()
   ```

2. Close it. [2]

| Day | Ferry |
|---|---|
| Saturday | 08:00 |
"""


def console(width: int = 40) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system="standard")


def written(pieces: list[str], monkeypatch: pytest.MonkeyPatch, *, width: int = 40) -> list[str]:
    """What is on the screen after each piece, and at the end."""
    screen, shots = io.StringIO(), []
    monkeypatch.setattr(sys, "stdout", screen)
    stream = MarkdownStream(console(width), max_width=110)
    for piece in pieces:
        stream.write(piece)
        shots.append(screen.getvalue())
    stream.close()
    return [*shots, screen.getvalue()]


def shown(text: str, *, width: int = 40) -> str:
    with pytest.MonkeyPatch.context() as patch:
        return written([text], patch, width=width)[-1]


def plain(text: str, *, width: int = 40) -> str:
    return COLOR.sub("", shown(text, width=width))


def test_a_block_is_shown_when_the_next_one_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    shots = written(["One **bo", "ld**.\n", "\n", "Two", " and\n\n```\na\n\nb\n", "```\n\nThree"], monkeypatch)
    assert [COLOR.sub("", shot) for shot in shots] == [
        *("", "", "", "One bold.\n", "One bold.\n\nTwo and\n"),
        *("One bold.\n\nTwo and\n\n  a\n\n  b\n", "One bold.\n\nTwo and\n\n  a\n\n  b\n\nThree\n"),
    ]


@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_how_the_text_is_cut_does_not_matter(size: int) -> None:
    pieces = [ANSWER[at : at + size] for at in range(0, len(ANSWER), size)]
    with pytest.MonkeyPatch.context() as patch:
        text = COLOR.sub("", written(pieces, patch)[-1])
    for line in ("The gauge is read at noon. [1]", " 1 Open the valve:", "     open_valve()", " 2 Close it. [2]"):
        assert line in text.splitlines()
    assert "Saturday" in text


def test_headings_code_and_emphasis_have_a_look_of_their_own() -> None:
    assert "\x1b[1;36mTop > Gauge\x1b[0m" in shown("## Top > Gauge\n")
    assert "\x1b[36mvalve\x1b[0m and \x1b[1mnoon\x1b[0m" in shown("`valve` and **noon**")
    assert COLOR.search(shown("```python\nreturn 1\n```"))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("A key such as <secret:jwt> and <Tabs>.", "A key such as <secret:jwt> and <Tabs>."),
        ("<div>kept</div>", "<div>kept</div>"),
        ("Said [1].\n[1]: https://evil.example", "Said [1]. [1]: https://evil.example"),
        ("[safe](https://evil.example/x)", "safe (https://evil.example/x)"),
        ("a_b_c * 3 :smile: [bold]x[/bold]", "a_b_c * 3 :smile: [bold]x[/bold]"),
    ],
)
def test_what_looks_like_markup_of_something_else_is_text(text: str, kept: str) -> None:
    assert plain(text, width=80) == f"{kept}\n"


def test_an_admonition_is_its_title_and_its_text() -> None:
    assert plain(":::tip[Be quick]\nThe tide comes.\n:::\n\nAfter.") == "Tip: Be quick\n\nThe tide comes.\n\nAfter.\n"
    assert plain("```\n:::tip\n```") == "  :::tip\n"


def test_a_mark_with_many_blanks_and_no_end_is_not_slow() -> None:
    started = time.thread_time()
    assert "]x" in plain(f":::{' ' * 2_000}]x")
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(
    "text", ["潮位計は毎日正午に港長によって読まれます。" * 9, "שלום עולם זה טקסט ארוך " * 9, "x" * 300]
)
def test_every_script_is_wrapped_and_none_of_it_is_lost(text: str) -> None:
    lines = plain(text).splitlines()
    assert max(map(cell_len, lines)) <= 40
    assert "".join("".join(lines).split()) == "".join(text.split())


WORDS = st.text(st.sampled_from("ab \n`*_#>-|[]()<>1.:~\\!é潮"), max_size=80)


@given(WORDS, st.integers(8, 60))
@example("> " * 30 + "deep", 20)
@example("- " * 30 + "deep", 20)
@example("| a |\n|---|\n| b |", 8)
def test_no_text_breaks_the_screen(text: str, width: int) -> None:
    screen = shown(printable(text), width=width)
    assert "\x1b" not in COLOR.sub("", screen)


def test_a_line_that_breaks_inside_bold_text_ends_without_a_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = written(["**Configuration keys of the tide gauge \u203a Example of a file** [1]\n"], monkeypatch)[-1]
    lines = COLOR.sub("", shown).splitlines()
    assert len(lines) > 1
    assert not [line for line in lines if line.endswith(" ")]
