"""What Markdown text leaves out on purpose: HTML and MDX comments, and MDX import statements."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

_MARK = re.compile(r"\\.|`+|<!--|\{/\*", re.DOTALL)
_BACKTICKS = re.compile("`+")
_CLOSERS = {"<!--": ("-->", 2), "{/*": ("*/}", 3)}  # and how far into the opener it may begin: <!--> is whole
_NAME = r"[A-Za-z_$][\w$]*"
_CLAUSE = rf"(?:type\s+)?(?:{_NAME}|(?:{_NAME}\s*,\s*)?(?:\{{[\w$\s,]*\}}|\*\s*as\s+{_NAME}))"
_IMPORT = re.compile(
    rf"import(?:\s+|(?=[{{*'\"]))(?:{_CLAUSE}\s*(?<![\w$])from\s*)?"
    r"(?:'[^'\n]*'|\"[^\"\n]*\")[ \t]*(;[ \t]*)?"
)


def may_hold_comment(text: str) -> bool:
    return "<!--" in text or "{/*" in text


def without_comments(text: str) -> tuple[str, int | None]:
    """The text with each comment replaced by its line breaks, and where one opens that is never closed.

    Code spans and escaped characters are not looked into.
    """
    if not may_hold_comment(text):
        return text, None
    kept: list[str] = []
    position, unclosed = 0, None
    for start, end in _comments(text):
        if end < 0:
            unclosed = start if unclosed is None else unclosed
            continue
        kept += (text[position:start], "\n" * text.count("\n", start, end))
        position = end
    return "".join((*kept, text[position:])), unclosed


def imports_end(text: str) -> int:
    """How many characters at the start are lines of import statements and nothing else."""
    position = done = 0
    while statement := _IMPORT.match(text, position):
        position = statement.end()
        if position == len(text) or text[position] == "\n":
            position = done = min(position + 1, len(text))
        elif not statement[1]:
            break
    return done


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each comment, in order; an end of -1: never closed."""
    closing_runs = _runs_by_length(text)
    hopeless: set[str] = set()
    position = 0
    while mark := _MARK.search(text, position):
        opener, position = mark[0], mark.end()
        if opener[0] == "`":
            position = _span_end(closing_runs[len(opener)], position, length=len(opener))
        elif opener in _CLOSERS and opener not in hopeless:
            closer, overlap = _CLOSERS[opener]
            closed = text.find(closer, mark.start() + overlap)
            position = closed + len(closer) if closed >= 0 else position
            yield mark.start(), position if closed >= 0 else -1
            if closed < 0:
                hopeless.add(opener)


def _runs_by_length(text: str) -> defaultdict[int, list[int]]:
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for run in _BACKTICKS.finditer(text):
        runs[len(run[0])].append(run.start())
    return runs


def _span_end(starts: list[int], position: int, *, length: int) -> int:
    """Where the code span opened before `position` ends; it is only backticks if nothing closes it."""
    index = bisect_left(starts, position)
    return starts[index] + length if index < len(starts) else position
