"""The block rules of Markdown as Docusaurus writes it, on top of markdown-it's own.

markdown-it tries every rule on every line. Here the first character of a line picks the few that can apply,
a paragraph looks for its setext underline in the same pass that looks for its end, and no rule copies
content: only the line ranges of the blocks are wanted. What is inside a line (emphasis, links) is not read.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add
from typing import Literal, TypeAlias, cast

from markdown_it import MarkdownIt
from markdown_it import rules_block as standard
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from citewise.text.markdown import Line

_MAX_LEVEL = 40  # levels of nesting (a list takes two); what lies deeper is read as plain paragraphs


@dataclass(slots=True)
class Notes:
    """What the rules learn while they read one document."""

    warnings: dict[int, str] = field(default_factory=dict)  # by line, counted from 0
    failed: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)
    found: dict[str, tuple[int, int]] = field(default_factory=dict)

    def has_failed(self, key: tuple[str, int, int], line: int) -> bool:
        """Whether a search from `line` is part of one that failed; else repeats would cost squared time."""
        first, last = self.failed.get(key, (1, 0))
        return first <= line <= last

    def find(self, source: str, closer: str, *, start: int) -> int:
        """Like source.find, but a gap already searched is not searched again."""
        searched_from, hit = self.found.get(closer, (1, 0))
        if not (searched_from <= start and (start <= hit or hit < 0)):
            hit = source.find(closer, start)
            self.found[closer] = (start, hit)
        return hit


class _PlainToken:
    """Stands in for markdown-it's Token, whose dozen fields cost a tenth of the time that parsing takes."""

    map: list[int] | None = None
    content = markup = info = ""

    def __init__(self, kind: str, tag: str, nesting: int, level: int) -> None:
        self.type = kind
        self.tag = tag
        self.nesting = nesting
        self.level = level


class _State(StateBlock):
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
        mark = cast(Token, _PlainToken(ttype, tag, nesting, self.level))
        if nesting > 0:
            self.level += 1
        self.tokens.append(mark)
        return mark

    def getLines(self, begin: int, end: int, indent: int, keepLastLF: bool) -> str:
        return ""  # the content of blocks is never read


def _line_text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _push_block(state: StateBlock, kind: str, *, start: int, end: int) -> None:
    state.push(kind, "", 0).map = [start, end]
    state.line = end


# How comments end, and how far into the opener that may begin: <!--> is a comment.
COMMENT_ENDS = {"<!--": ("-->", 2), "{/*": ("*/}", 3)}
_ADMONITION = re.compile(r"(:{3,})[ \t]*[A-Za-z][\w-]*(?![^\s\[{])")


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A comment that starts a line, with any blank lines in it, and whatever follows on its last line."""
    position = state.bMarks[start] + state.tShift[start]
    opener = next((opener for opener in COMMENT_ENDS if state.src.startswith(opener, position)), None)
    if opener is None or state.is_code_block(start):
        return False
    notes: Notes = state.env["notes"]
    closer, overlap = COMMENT_ENDS[opener]
    closed = notes.find(state.src, closer, start=position + overlap)
    last = bisect_left(state.eMarks, closed)
    if closed < 0 or last >= end or _is_left_before(state, start, last=last):
        return False
    if not silent:
        _push_block(state, "comment", start=start, end=last + 1)
    return True


def _is_left_before(state: StateBlock, start: int, *, last: int) -> bool:
    """Whether the list item around ends between the two lines."""
    notes: Notes = state.env["notes"]
    key = ("comment", state.blkIndent, last)
    if notes.has_failed(key, start):
        return True
    for line in range(start + 1, last + 1):
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            notes.failed[key] = (start, line - 1)
            return True
    return False


def _math(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    opening = _line_text(state, start).rstrip()
    if not opening.startswith("$$") or state.is_code_block(start):
        return False
    inside = opening[2:]
    if "$$" in inside:
        last = start if len(inside) > 2 and inside.find("$$") == len(inside) - 2 else None
    else:
        last = _math_end(state, start, end=end, is_bare=not inside)
    if last is not None and not silent:
        _push_block(state, "math", start=start, end=last + 1)
    return last is not None


def _math_end(state: StateBlock, start: int, *, end: int, is_bare: bool) -> int | None:
    notes: Notes = state.env["notes"]
    key = ("$$" if is_bare else "$", state.blkIndent, end)
    if notes.has_failed(key, start):
        return None
    line = start
    for line in range(start + 1, end):
        text = _line_text(state, line).rstrip()
        if text.endswith("$$"):
            return line
        # A shell variable may start a line with dollars too, so only a bare $$ reaches over blank lines.
        if (not text and not is_bare) or (text and state.sCount[line] < state.blkIndent):
            break
    notes.failed[key] = (start, line)
    if is_bare:
        notes.warnings[start] = "a math block is never closed; read as text"
    return None


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    opening = _ADMONITION.match(_line_text(state, start))
    if opening is None or state.is_code_block(start):
        return False
    last = _admonition_end(state, start, end=end, colons=opening[1])
    if last is None:
        return False
    if not silent:
        _push_admonition(state, start, last=last)
    return True


def _admonition_end(state: StateBlock, start: int, *, end: int, colons: str) -> int | None:
    """The line that closes it. Another opening that its own close would need comes first: never closed."""
    notes: Notes = state.env["notes"]
    key = (colons, state.blkIndent, end)
    if not notes.has_failed(key, start):
        stop, closes = _colon_line(state, start, end=end, colons=colons)
        if closes:
            return stop
        notes.failed[key] = (start, stop - 1)
    notes.warnings[start] = "an admonition is never closed; read as text"
    return None


def _colon_line(state: StateBlock, start: int, *, end: int, colons: str) -> tuple[int, bool]:
    """Where the search for a close ends, and whether with one."""
    code_fence = ""
    for line in range(start + 1, end):
        text = Line(_line_text(state, line).rstrip())
        if text and state.sCount[line] < state.blkIndent:
            return line, False
        if code_fence:
            code_fence = "" if text.closes(code_fence) else code_fence
        elif code_fence := text.fence:
            continue
        elif text.startswith(colons):
            if not text.strip(":"):
                return line, True
            if _ADMONITION.match(text):
                return line, False
    return end, False


def _push_admonition(state: StateBlock, start: int, *, last: int) -> None:
    """Its inside is read too: comments in it are dropped, and its headings take anchors."""
    state.push("admonition_open", "", 1).map = [start, last + 1]
    if state.level < _MAX_LEVEL and last > start + 1:
        outer = (state.parentType, state.lineMax)
        state.parentType, state.lineMax = "admonition", last
        state.md.block.tokenize(state, start + 1, last)
        state.parentType, state.lineMax = outer
    state.push("admonition_close", "", -1)
    state.line = last + 1


_Rule: TypeAlias = Callable[[StateBlock, int, int, bool], bool]

_DELIMITER_ROW = frozenset("|-:")  # how the second line of a table may start


def block_tokens(parser: MarkdownIt, source: str, *, notes: Notes) -> list[Token]:
    """The block tokens of a text with plain line feeds."""
    state = _State(source, parser, notes=notes)
    try:
        parser.block.tokenize(state, 0, state.lineMax)
    except (IndexError, RuntimeError) as error:  # what markdown-it 4 is known to raise on some broken input
        notes.warnings[0] = f"blocks could not be parsed ({type(error).__name__}); read as paragraphs"
        return []
    return state.tokens


def block_parser() -> MarkdownIt:
    """A markdown-it that knows these rules and no others."""
    parser = MarkdownIt("commonmark", {"maxNesting": 10 * _MAX_LEVEL})
    ruler: Ruler[_Rule] = Ruler()
    ruler.push("any", _any_block, {"alt": []})
    # Never reached as a rule of its own, but its name tells the state that indented lines are code.
    ruler.push("code", standard.code, {"alt": []})
    for container, rules in _INTERRUPTIONS.items():
        ruler.push(f"interrupts_{container}", _interruption(rules), {"alt": [container]})
    parser.block.ruler = ruler
    return parser


def _any_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.sCount[start] - state.blkIndent >= 4:
        return standard.code(state, start, end, silent)
    if _starts_table(state, start, end=end) and _table(state, start, end, silent):
        return True
    for rule in _FIRST.get(state.src[state.bMarks[start] + state.tShift[start]], ()):
        if rule(state, start, end, silent):
            return True
    return _paragraph(state, start, end=end)


def _interruption(rules: Mapping[str, Sequence[_Rule]]) -> _Rule:
    def interrupts(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        position = state.bMarks[start] + state.tShift[start]
        mark = state.src[position : position + 1]
        return any(rule(state, start, end, True) for rule in rules.get(mark, ()))

    return interrupts


def _paragraph(state: StateBlock, start: int, *, end: int) -> bool:
    """A paragraph, or the setext heading it turns out to be."""
    outer, state.parentType = state.parentType, "paragraph"
    line, level = start + 1, 0
    while line < state.lineMax and not state.isEmpty(line):
        if state.sCount[line] - state.blkIndent <= 3:
            level = _setext_level(state, line) if line < end else 0
            if level or _interrupts_paragraph(state, line, end=end):
                break
        line += 1
    state.parentType = outer
    if level:
        _push_setext(state, start, underline=line, level=level)
    else:
        _push_block(state, "paragraph", start=start, end=line)
    return True


def _setext_level(state: StateBlock, line: int) -> int:
    mark = state.src[state.bMarks[line] + state.tShift[line]]
    if mark not in "-=" or state.sCount[line] < state.blkIndent:
        return 0
    underline = _line_text(state, line).rstrip(" \t")
    return 0 if underline.strip(mark) else 1 if mark == "=" else 2


def _interrupts_paragraph(state: StateBlock, line: int, *, end: int) -> bool:
    if state.sCount[line] < 0:  # markdown-it's mark for a lazy line that the quote around has already judged
        return False
    rules = _INTERRUPTIONS["paragraph"].get(state.src[state.bMarks[line] + state.tShift[line]], ())
    if any(rule(state, line, end, True) for rule in rules):
        return True
    return _starts_table(state, line, end=state.lineMax) and standard.table(state, line, state.lineMax, True)


def _push_setext(state: StateBlock, start: int, *, underline: int, level: int) -> None:
    token = state.push("heading_open", f"h{level}", 1)
    token.map = [start, underline + 1]
    inline = state.push("inline", "", 0)
    inline.content = "\n".join(_line_text(state, line).strip() for line in range(start, underline))
    state.push("heading_close", f"h{level}", -1)
    state.line = underline + 1


def _starts_table(state: StateBlock, line: int, *, end: int) -> bool:
    """A cheap look ahead: most lines are not followed by a row of dashes."""
    if line + 1 >= end:
        return False
    position = state.bMarks[line + 1] + state.tShift[line + 1]
    return state.src[position : position + 1] in _DELIMITER_ROW


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if not standard.table(state, start, end, True):
        return False
    line = start + 2
    while line < end and not (
        state.isEmpty(line)
        or state.sCount[line] < state.blkIndent
        or state.is_code_block(line)
        or _interrupts_quote(state, line, end, True)
    ):
        line += 1
    _push_block(state, "table", start=start, end=line)
    return True


def _shallow(rule: _Rule) -> _Rule:
    """The rule, but refusing to open yet another level once there are _MAX_LEVEL."""

    def guarded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return (silent or state.level < _MAX_LEVEL) and rule(state, start, end, silent)

    return guarded


def _html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    # An unclosed comment would swallow the rest of the file; comment() has already taken the closed ones.
    return not _line_text(state, start).startswith("<!--") and standard.html_block(state, start, end, silent)


_list = _shallow(standard.list_block)
_quote = _shallow(standard.blockquote)
# Which rules a line's first character calls for, in the order in which CommonMark lets them win.
_FIRST: dict[str, tuple[_Rule, ...]] = {
    **dict.fromkeys("0123456789+", (_list,)),
    **dict.fromkeys("*-", (standard.hr, _list)),
    **dict.fromkeys("`~", (standard.fence,)),
    "_": (standard.hr,),
    ">": (_quote,),
    "<": (_comment, _html),
    "{": (_comment,),
    "#": (standard.heading,),
    ":": (_admonition,),
    "$": (_math,),
}
_INTERRUPTIONS: dict[str, dict[str, tuple[_Rule, ...]]] = {
    "paragraph": _FIRST,
    "blockquote": _FIRST,
    "list": {mark: rules for mark, rules in _FIRST.items() if mark in "`~>:$"} | dict.fromkeys("*-_", (standard.hr,)),
}
_interrupts_quote = _interruption(_FIRST)
