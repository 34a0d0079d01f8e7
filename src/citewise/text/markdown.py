"""Lines and texts of Markdown: fences, headings, list items, code spans, links. `units` joins lines to blocks.

Documents are parsed once, when they are ingested, and their blocks are stored. What is parsed here is text that never
was: selections, answers, custom sources.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

BULLET = "[-*+]"
LIST_MARK = rf"(?:{BULLET}|\d{{1,9}}[.)])"  # patterns, for those who look for more than a line
LINK = re.compile(  # or a picture; code may stand in its words, and one pair of parentheses in its address
    r"(?<!\\)(?P<picture>!?)(?<!\\)\[(?P<words>(?:[^\[\]`]|`[^`\n]*`)*)\]"
    r"(?:\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)?)(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)|\[[^\[\]\n]*\])"
)
WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]\n]*\|)?(?P<name>[^\[\]|\n]+)\]\]")
_FENCE = re.compile(rf"[ \t]*+(?:{LIST_MARK}[ \t]++|>[ \t]*+)*+(?P<mark>`{{3,}}+(?=[^`]*$)|~{{3,}}+)")
_QUOTE = re.compile(r" {0,3}(?:>[ \t]?)+")
_LIST_ITEM = re.compile(rf"\s*{LIST_MARK}\s+(?=\S)")
_BEGUN_ITEM = re.compile(rf"[ \t>]*{LIST_MARK}[ \t]")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_LEADING_HEADINGS = re.compile(r"(?: {0,3}#{1,6}(?:[ \t][^\n]*)?\n|[ \t]*\n)+")
_MARKUP = re.compile(
    r"[ \t>]*:{3,}.*"  # an admonition's mark
    r"| {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*"  # a rule
    r"|\s*(?:</?[A-Za-z][^<>]*>\s*|<>\s*|</>\s*)+|\s*<!--[^>]*-->\s*",
    re.DOTALL,
)
_INDENT = re.compile(r" {4}| {0,3}\t")
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


class Line(str):
    """A line of Markdown. More of it may follow, but for `is_markup`."""

    __slots__ = ()

    @property
    def fence(self) -> str:
        """The run of backticks or tildes that opens a block of code here; "" if none does."""
        match = _FENCE.match(self)
        return match["mark"] if match else ""

    def closes(self, fence: str) -> bool:
        stripped = self.strip(" \t\r>")
        return stripped.startswith(fence) and not stripped.strip(fence[0])

    @property
    def is_heading(self) -> bool:
        return _HEADING.match(self) is not None

    @property
    def is_markup(self) -> bool:
        """Whether it says nothing that could be quoted: a heading, an admonition's mark, a rule, tags."""
        return self.is_heading or _MARKUP.fullmatch(self) is not None

    @property
    def is_indented(self) -> bool:
        """Whether it is indented as code is. The item of a nested list is not code."""
        return _INDENT.match(self) is not None and not self.begins_item

    @property
    def begins_item(self) -> bool:
        """Whether it is a list item, perhaps in a quotation."""
        return _BEGUN_ITEM.match(self) is not None

    @property
    def list_mark(self) -> str:
        """The mark of a list item that says something, with the blanks around it; "" if there is none."""
        match = _LIST_ITEM.match(self)
        return match.group() if match else ""

    @property
    def quote_mark(self) -> str:
        """The marks of the quotations that it is in."""
        match = _QUOTE.match(self)
        return match.group() if match else ""

    @property
    def unquoted(self) -> "Line":
        return Line(self[len(self.quote_mark) :])


class Markdown(str):
    """A text of Markdown."""

    __slots__ = ()

    def _fences(self) -> list[int]:
        """For each line the number of the code fence it belongs to, its first and last line included; 0: none."""
        numbers, fence, number = list[int](), "", 0
        for line in map(Line, self.split("\n")):
            opened = fence or line.fence
            number += bool(opened and not fence)
            numbers.append(number if opened else 0)
            fence = "" if fence and line.closes(fence) else opened
        return numbers

    def fenced_lines(self) -> list[bool]:
        """For each line whether it belongs to a code fence, its first and last line included."""
        return [fence > 0 for fence in self._fences()]

    def runs(self) -> Iterator[tuple[str, bool]]:
        """Its fences, one by one, and the lines between them; of each whether it is a fence."""
        for fence, run in groupby(zip(self._fences(), self.split("\n"), strict=True), key=itemgetter(0)):
            yield "\n".join(line for _, line in run), fence > 0

    def code_spans(self) -> Iterator[tuple[int, int]]:
        """Where inline code stands: from a run of backticks to the next run of the same length."""
        runs = [match.span() for match in _TICKS.finditer(self)]
        closing: dict[int, int] = {}  # length -> the next run of it
        partner: dict[int, int] = {}
        for at in range(len(runs) - 1, -1, -1):
            length = runs[at][1] - runs[at][0]
            if length in closing:
                partner[at] = closing[length]
            closing[length] = at
        at = 0
        while at < len(runs):
            if at in partner:
                yield runs[at][0], runs[partner[at]][1]
                at = partner[at]
            at += 1

    def paragraphs(self) -> list[str]:
        """Cut at blank lines, but never inside a fence."""
        lines = self.split("\n")
        flags = (is_code or bool(line.strip()) for line, is_code in zip(lines, self.fenced_lines(), strict=True))
        runs = groupby(zip(flags, lines, strict=True), key=itemgetter(0))
        return ["\n".join(line for _, line in run) for says_something, run in runs if says_something]

    def paragraph_end(self, start: int) -> int:
        """Where the paragraph ends that goes on at `start`."""
        match = _BLANK_LINE.search(self, start)
        return match.start() if match else len(self)

    def body_start(self) -> int:
        """Where it goes on behind the headings that it begins with."""
        match = _LEADING_HEADINGS.match(self)
        return match.end() if match else 0

    @property
    def is_fenced(self) -> bool:
        """Whether a fence is around all of it."""
        text = Markdown(self.rstrip())
        fence = Line(text.partition("\n")[0]).fence
        return "\n" in text and all(text.fenced_lines()) and Line(text.rpartition("\n")[2]).closes(fence)

    def closed(self) -> str:
        """A block of code with both of its fences: one that was cut or half selected would swallow what follows."""
        if Line(self.partition("\n")[0]).fence:
            return self.ended()
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(self)), default=0))
        return f"{fence}\n{self}\n{fence}"

    def ended(self) -> str:
        """The same with an end to the fence that is open where it ends."""
        *_, (last, is_code) = self.runs()
        if not is_code or Markdown(last).is_fenced:
            return str(self)
        opening = Line(last.partition("\n")[0])
        indent = opening[: len(opening) - len(opening.lstrip(" \t>"))]
        return f"{self.rstrip()}\n{indent}{opening.fence}"
