"""The block rules of Markdown as Docusaurus writes it, on top of markdown-it's own.

markdown-it tries every rule on every line. Here the first character of a line picks the few that can apply,
a paragraph looks for its setext underline in the same pass that looks for its end, and no rule copies
content: only the line ranges of the blocks are wanted. What is inside a line (emphasis, links) is not read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it import rules_block as standard
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from citewise.adapters.parsers.markdown_regions import admonition, comment, math
from citewise.adapters.parsers.markdown_state import MAX_LEVEL, Notes, State, line_text, push_block

Rule: TypeAlias = Callable[[StateBlock, int, int, bool], bool]

_DELIMITER_ROW = frozenset("|-:")  # how the second line of a table may start


def block_tokens(parser: MarkdownIt, source: str, *, notes: Notes) -> list[Token]:
    """The block tokens of a text whose lines end in a plain line feed."""
    state = State(source, parser, notes=notes)
    try:
        parser.block.tokenize(state, 0, state.lineMax)
    except (IndexError, RuntimeError) as error:  # what markdown-it 4 is known to raise on some broken input
        notes.warnings[0] = f"blocks could not be told apart ({type(error).__name__}); read as paragraphs"
        return []
    return state.tokens


def block_parser() -> MarkdownIt:
    """A markdown-it that knows these rules and no others."""
    parser = MarkdownIt("commonmark", {"maxNesting": 10 * MAX_LEVEL})
    ruler: Ruler[Rule] = Ruler()
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


def _interruption(rules: Mapping[str, Sequence[Rule]]) -> Rule:
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
        push_block(state, "paragraph", start=start, end=line)
    return True


def _setext_level(state: StateBlock, line: int) -> int:
    mark = state.src[state.bMarks[line] + state.tShift[line]]
    if mark not in "-=" or state.sCount[line] < state.blkIndent:
        return 0
    underline = line_text(state, line).rstrip(" \t")
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
    inline.content = "\n".join(line_text(state, line).strip() for line in range(start, underline))
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
    push_block(state, "table", start=start, end=line)
    return True


def _shallow(rule: Rule) -> Rule:
    """The rule, but refusing to open yet another level once there are MAX_LEVEL."""

    def guarded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return (silent or state.level < MAX_LEVEL) and rule(state, start, end, silent)

    return guarded


def _html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    # An unclosed comment would swallow the rest of the file; comment() has already taken the closed ones.
    return not line_text(state, start).startswith("<!--") and standard.html_block(state, start, end, silent)


_list = _shallow(standard.list_block)
_quote = _shallow(standard.blockquote)
# Which rules a line's first character calls for, in the order in which CommonMark lets them win.
_FIRST: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys("0123456789+", (_list,)),
    **dict.fromkeys("*-", (standard.hr, _list)),
    **dict.fromkeys("`~", (standard.fence,)),
    "_": (standard.hr,),
    ">": (_quote,),
    "<": (comment, _html),
    "{": (comment,),
    "#": (standard.heading,),
    ":": (admonition,),
    "$": (math,),
}
_INTERRUPTIONS: dict[str, dict[str, tuple[Rule, ...]]] = {
    "paragraph": _FIRST,
    "blockquote": _FIRST,
    "list": {mark: rules for mark, rules in _FIRST.items() if mark in "`~>:$"} | dict.fromkeys("*-_", (standard.hr,)),
}
_interrupts_quote = _interruption(_FIRST)
