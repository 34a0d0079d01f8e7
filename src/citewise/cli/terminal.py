"""Answers on a terminal: Markdown is shown block by block while it arrives, wrapped, with headings and code in color.

The text was made safe to print before it gets here: every escape sequence in the output is ours.
"""

import re
import sys
from typing import ClassVar

from markdown_it import MarkdownIt
from rich import markdown as rich
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.syntax import ANSI_DARK, ANSISyntaxTheme, Syntax
from rich.theme import Theme

from citewise.text.markdown import Markdown

_THEME = Theme(
    {
        **{f"markdown.h{level}": "bold cyan" for level in range(1, 7)},
        **{"markdown.code": "cyan", "markdown.code_block": "none", "markdown.block_quote": "italic"},
        **{"markdown.item.bullet": "none", "markdown.item.number": "none"},
    }
)
# `\u2026` in code is no error.
_COLORS = ANSISyntaxTheme({token: style for token, style in ANSI_DARK.items() if not str(token).endswith(".Error")})
_COLOR = re.compile(r"\x1b\[[\d;]*m")
_FILLED_UP = re.compile(rf"[ ](?:[ ]|{_COLOR.pattern})*$")
_ADMONITION = re.compile(r"[ ]{0,3}+:{3,}+[ ]*+(?P<kind>\w*+)[ ]*+\[?+(?P<title>[^\]]*+)\]?+[ ]*+")


class MarkdownStream:
    """Shows each block as soon as the next one has begun."""

    def __init__(self, console: Console, *, max_width: int) -> None:
        self._console = console
        self._console.push_theme(_THEME)
        self._width = min(console.width, max_width)
        self._pending = ""
        self._is_first = True

    def write(self, text: str) -> None:
        may_begin = "\n" in f"{self._pending[-1:]}{text}"
        self._pending += text
        if may_begin:
            end = _complete_end(self._pending)
            self._show(self._pending[:end])
            self._pending = self._pending[end:]

    def close(self) -> None:
        self._show(self._pending)
        self._pending = ""

    def _show(self, text: str) -> None:
        if not text.strip():
            return
        with self._console.capture() as captured:
            self._console.print(_Shown(text), width=self._width)
        sys.stdout.write("" if self._is_first else "\n")
        sys.stdout.write(_without_margins(captured.get()))
        sys.stdout.flush()
        self._is_first = False


def _without_margins(shown: str) -> str:
    """Without the blanks that fill lines up, and without blank lines at either end."""
    lines = [_FILLED_UP.sub(lambda end: end.group().replace(" ", ""), line) for line in shown.split("\n")]
    said = [at for at, line in enumerate(lines) if _COLOR.sub("", line).strip()]
    return "\n".join(lines[said[0] : said[-1] + 1]) + "\n" if said else ""


def _complete_end(text: str) -> int:
    """Where the last block begins that may go on: behind a blank line, not indented, outside of code."""
    end, start, is_after_blank = 0, 0, False
    for line, in_code in zip(text.split("\n"), Markdown(text).fenced_lines(), strict=True):
        if is_after_blank and line and not line[0].isspace():
            end = start
        is_after_blank = not in_code and not line.strip()
        start += len(line) + 1
    return end


class _PlainHeading(rich.Heading):
    """On the left, and without a frame."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Code(rich.CodeBlock):
    """Set in, in the terminal's own colors and on its own background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        syntax = Syntax(code, self.lexer_name, theme=_COLORS, word_wrap=True, background_color="default")
        yield Padding(syntax, (0, 0, 0, 2))


class _Shown(rich.Markdown):
    """Markdown in which tags are text, and no document defines what our `[1]` links to."""

    elements: ClassVar[dict[str, type[rich.MarkdownElement]]] = {
        **rich.Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)  # an address is shown, since its words may be those of another
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        self.parsed = parser.disable(["reference", "autolink", "html_block", "html_inline"]).parse(
            _with_admonitions(text)
        )


def _with_admonitions(text: str) -> str:
    """`:::tip[Title]` as a line in bold, its end as a blank line."""
    flags = Markdown(text).fenced_lines()
    lines = []
    for line, in_code in zip(text.split("\n"), flags, strict=True):
        match = None if in_code else _ADMONITION.fullmatch(line)
        title = match and ": ".join(filter(None, (match["kind"].capitalize(), match["title"].strip())))
        lines.append(line if match is None else f"\n**{title}**\n" if title else "")
    return "\n".join(lines)
