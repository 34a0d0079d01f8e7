"""What block rules read and write: markdown-it's view of the lines, and our notes beside it."""

from dataclasses import dataclass, field
from itertools import accumulate
from operator import add
from typing import Literal, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

MAX_LEVEL = 40  # levels of nesting (a list takes two); what lies deeper is read as plain paragraphs


@dataclass(slots=True)
class Notes:
    """What the rules learn while they read one document."""

    warnings: dict[int, str] = field(default_factory=dict)  # by line, counted from 0
    hopeless: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)
    found: dict[str, tuple[int, int]] = field(default_factory=dict)

    def is_hopeless(self, key: tuple[str, int, int], line: int) -> bool:
        """Whether a search from `line` is part of one that failed; else repeats would cost squared time."""
        first, last = self.hopeless.get(key, (1, 0))
        return first <= line <= last

    def find(self, source: str, closer: str, *, start: int) -> int:
        """Like source.find, but a gap already searched is not searched again."""
        searched_from, hit = self.found.get(closer, (1, 0))
        if not (searched_from <= start and (start <= hit or hit < 0)):
            hit = source.find(closer, start)
            self.found[closer] = (start, hit)
        return hit


class Mark:
    """Stands in for markdown-it's Token, whose dozen fields cost a tenth of the time that parsing takes."""

    map: list[int] | None = None
    content = markup = info = ""

    def __init__(self, kind: str, tag: str, nesting: int, level: int) -> None:
        self.type = kind
        self.tag = tag
        self.nesting = nesting
        self.level = level


class State(StateBlock):
    """markdown-it's state, set up line by line instead of by character, and without the content of blocks."""

    def __init__(self, source: str, parser: MarkdownIt, *, notes: Notes) -> None:
        super().__init__("", parser, {"notes": notes}, [])
        lines = source.split("\n")
        if not lines[-1].strip(" \t"):
            lines.pop()
        self.src = source
        self.lineMax = len(lines)
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        self.bMarks = [*starts[:-1], len(source)]
        self.eMarks = [*map(add, self.bMarks, map(len, lines)), len(source)]
        self.tShift = [*(len(line) - len(line.lstrip(" \t")) for line in lines), 0]
        self.sCount = self.tShift.copy()
        self.bsCount = [0] * len(self.bMarks)
        if "\t" in source:
            for number, line in enumerate(lines):
                self.sCount[number] = len(line[: self.tShift[number]].expandtabs(4))

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if nesting < 0:
            self.level -= 1
        mark = cast(Token, Mark(ttype, tag, nesting, self.level))
        if nesting > 0:
            self.level += 1
        self.tokens.append(mark)
        return mark

    def getLines(self, begin: int, end: int, indent: int, keepLastLF: bool) -> str:
        return ""  # content would be copied line by line, for nobody


def line_text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def push_block(state: StateBlock, kind: str, *, start: int, end: int) -> None:
    state.push(kind, "", 0).map = [start, end]
    state.line = end
