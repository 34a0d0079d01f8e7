"""Blocks that run to a closing mark, blank lines included: comments, math and admonitions.

One that is never closed is not such a block at all: it must not swallow the rest of the file.
"""

import re
from bisect import bisect_left

from markdown_it.rules_block import StateBlock

from citewise.adapters.parsers.markdown_state import MAX_LEVEL, Notes, line_text, push_block

_ADMONITION = re.compile(r"(:{3,})[ \t]*[A-Za-z][\w-]*(?![^\s\[{])")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_COMMENT_ENDS = {"<!--": "-->", "{/*": "*/}"}


def comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A comment that starts a line, with any blank lines in it, and whatever follows on its last line."""
    position = state.bMarks[start] + state.tShift[start]
    opener = next((opener for opener in _COMMENT_ENDS if state.src.startswith(opener, position)), None)
    if opener is None or state.is_code_block(start):
        return False
    notes: Notes = state.env["notes"]
    closed = notes.find(state.src, _COMMENT_ENDS[opener], start=position + (2 if opener == "<!--" else 3))
    last = bisect_left(state.eMarks, closed)
    if closed < 0 or last >= end or _is_left_before(state, start, last=last):
        return False
    if not silent:
        push_block(state, "comment", start=start, end=last + 1)
    return True


def _is_left_before(state: StateBlock, start: int, *, last: int) -> bool:
    """Whether the list item around ends between the two lines."""
    notes: Notes = state.env["notes"]
    key = ("comment", state.blkIndent, last)
    if notes.is_hopeless(key, start):
        return True
    for line in range(start + 1, last + 1):
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            notes.hopeless[key] = (start, line - 1)
            return True
    return False


def math(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    opening = line_text(state, start).rstrip()
    if not opening.startswith("$$") or state.is_code_block(start):
        return False
    inside = opening[2:]
    if "$$" in inside:
        last = start if len(inside) > 2 and inside.find("$$") == len(inside) - 2 else None
    else:
        last = _math_end(state, start, end=end, is_bare=not inside)
    if last is not None and not silent:
        push_block(state, "math", start=start, end=last + 1)
    return last is not None


def _math_end(state: StateBlock, start: int, *, end: int, is_bare: bool) -> int | None:
    notes: Notes = state.env["notes"]
    key = ("$$" if is_bare else "$", state.blkIndent, end)
    if notes.is_hopeless(key, start):
        return None
    line = start
    for line in range(start + 1, end):
        text = line_text(state, line).rstrip()
        if text.endswith("$$"):
            return line
        # A shell variable may start a line with dollars too, so only a bare $$ reaches over blank lines.
        if (not text and not is_bare) or (text and state.sCount[line] < state.blkIndent):
            break
    notes.hopeless[key] = (start, line)
    if is_bare:
        notes.warnings[start] = "a math block is never closed; read as text"
    return None


def admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    opening = _ADMONITION.match(line_text(state, start))
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
    if not notes.is_hopeless(key, start):
        stop, closes = _colon_line(state, start, end=end, colons=colons)
        if closes:
            return stop
        notes.hopeless[key] = (start, stop - 1)
    notes.warnings[start] = "an admonition is never closed; read as text"
    return None


def _colon_line(state: StateBlock, start: int, *, end: int, colons: str) -> tuple[int, bool]:
    """Where the search for a close ends, and whether with one."""
    code_fence = ""
    for line in range(start + 1, end):
        text = line_text(state, line).rstrip()
        if text and state.sCount[line] < state.blkIndent:
            return line, False
        if code_fence:
            if text.startswith(code_fence) and not text.strip(code_fence[0]):
                code_fence = ""
        elif opened := _FENCE.match(text):
            code_fence = opened[1] or opened[2]
        elif text.startswith(colons):
            if not text.strip(":"):
                return line, True
            if _ADMONITION.match(text):
                return line, False
    return end, False


def _push_admonition(state: StateBlock, start: int, *, last: int) -> None:
    """Its inside is read too: comments in it are dropped, and its headings take anchors."""
    state.push("admonition_open", "", 1).map = [start, last + 1]
    if state.level < MAX_LEVEL and last > start + 1:
        outer = (state.parentType, state.lineMax)
        state.parentType, state.lineMax = "admonition", last
        state.md.block.tokenize(state, start + 1, last)
        state.parentType, state.lineMax = outer
    state.push("admonition_close", "", -1)
    state.line = last + 1
