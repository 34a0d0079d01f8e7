"""Lines of Markdown: fences, headings, list items, code spans. `units` joins them to blocks.

Documents are parsed once, when they are ingested, and their blocks are stored. What is parsed here is text that never
was: selections, answers, custom sources.
"""

import re
from collections.abc import Iterator, Sequence

_LIST_MARK = r"(?:[-*+]|\d{1,9}[.)])"
_FENCE = re.compile(rf"[ \t]*+(?:{_LIST_MARK}[ \t]++|>[ \t]*+)*+(?P<mark>`{{3,}}+(?=[^`]*$)|~{{3,}}+)")
_QUOTE = re.compile(r" {0,3}(?:>[ \t]?)+")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|(?P<number>\d{1,9})[.)])\s+(?=\S)")
_BEGUN_ITEM = re.compile(rf"[ \t>]*{_LIST_MARK}[ \t]")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_LEADING_HEADINGS = re.compile(r"(?: {0,3}#{1,6}(?:[ \t][^\n]*)?\n|[ \t]*\n)+")
_FIRST_HEADING = re.compile(r"\s*#{1,6}[ \t]+([^\n]*\S)[ \t]*\n+")
_ADMONITION = re.compile(r"[ \t>]*:{3,}")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_TAGS = re.compile(r"\s*(?:</?[A-Za-z][^<>]*>\s*|<>\s*|</>\s*)+|\s*<!--[^>]*-->\s*")
_INDENT = re.compile(r" {4}| {0,3}\t")
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def opening_fence(line: str) -> str:
    """The run of backticks or tildes that opens a block of code on this line; "" if none does."""
    match = _FENCE.match(line)
    return match["mark"] if match else ""


def closes_fence(line: str, mark: str) -> bool:
    stripped = line.strip(" \t\r>")
    return stripped.startswith(mark) and not stripped.strip(mark[0])


def fenced_lines(lines: Sequence[str]) -> list[bool]:
    """For each line whether it belongs to a code fence, its first and last line included."""
    flags, mark = [], ""
    for line in lines:
        opened = mark or opening_fence(line)
        flags.append(bool(opened))
        mark = "" if mark and closes_fence(line, mark) else opened
    return flags


def whole_fence(code: str) -> str:
    """A block of code with both of its fences: one that was cut or half selected would swallow what follows."""
    mark = opening_fence(code.partition("\n")[0])
    if not mark:
        return f"```\n{code}\n```"
    is_closed = "\n" in code and closes_fence(code.rstrip().rpartition("\n")[2], mark)
    return code if is_closed else f"{code.rstrip()}\n{mark}"


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where inline code stands: from a run of backticks to the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(text)]
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


def is_heading(line: str) -> bool:
    return _HEADING.match(line) is not None


def first_heading(text: str) -> tuple[str, int]:
    """The title of the heading that a text begins with, and where the text goes on; ("", 0) if there is none."""
    match = _FIRST_HEADING.match(text)
    return (match[1], match.end()) if match else ("", 0)


def behind_headings(text: str) -> int:
    """Where a text goes on behind the headings that it begins with."""
    match = _LEADING_HEADINGS.match(text)
    return match.end() if match else 0


def is_markup(line: str) -> bool:
    """Whether a line says nothing that could be quoted: a heading, an admonition's mark, a rule, tags."""
    return (
        is_heading(line)
        or _ADMONITION.match(line) is not None
        or _RULE.fullmatch(line) is not None
        or _TAGS.fullmatch(line) is not None
    )


def unquoted(line: str) -> tuple[str, int]:
    """A line without the marks of the quotations that it is in, and how many those are."""
    match = _QUOTE.match(line)
    return (line[match.end() :], match.group().count(">")) if match else (line, 0)


def begins_indented(line: str) -> bool:
    """Whether a line, of which more may follow, is indented as code is. The item of a nested list is not code."""
    return _INDENT.match(line) is not None and not begins_item(line)


def is_list_item(text: str) -> bool:
    return _LIST_ITEM.match(text) is not None


def begins_item(line: str) -> bool:
    """Whether a line, of which more may follow, is a list item, perhaps in a quotation."""
    return _BEGUN_ITEM.match(line) is not None


def item_number(text: str) -> int | None:
    """The number of an item in an ordered list."""
    match = _LIST_ITEM.match(text)
    return int(match["number"]) if match and match["number"] else None


def without_list_mark(text: str) -> str:
    """What a list item says."""
    match = _LIST_ITEM.match(text)
    return text[match.end() :] if match else text


def paragraphs(text: str) -> list[str]:
    """Cut at blank lines, but never inside a fence."""
    whole: list[str] = []
    mark = ""
    for part in _BLANK_LINE.split(text):
        if mark:
            whole[-1] += f"\n\n{part}"
        elif part.strip():
            whole.append(part)
        for line in part.split("\n"):
            mark = ("" if closes_fence(line, mark) else mark) if mark else opening_fence(line)
    return whole


def paragraph_end(text: str, start: int) -> int:
    """Where the paragraph ends that goes on at `start`."""
    match = _BLANK_LINE.search(text, start)
    return match.start() if match else len(text)
