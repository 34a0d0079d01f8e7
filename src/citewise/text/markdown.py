"""Markdown by lines: fences, headings, list items, tables, code spans. No other module recognises them.

Documents are parsed once, when they are ingested, and their blocks are stored. What is parsed here is text that never
was: selections, answers, custom sources.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from citewise.model.answer import UnitKind
from citewise.model.document import BlockKind, BlockSpan

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
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")
_DELIMITER = re.compile(r":?-+:?")
_INDENT = re.compile(r" {4}| {0,3}\t")
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")

Lines = Sequence[str]


def opening_fence(line: str) -> str:
    """The run of backticks or tildes that opens a block of code on this line; "" if none does."""
    match = _FENCE.match(line)
    return match["mark"] if match else ""


def closes_fence(line: str, mark: str) -> bool:
    stripped = line.strip(" \t\r>")
    return stripped.startswith(mark) and not stripped.strip(mark[0])


def fenced_lines(lines: Lines) -> list[bool]:
    """For each line whether it belongs to a code fence, its first and last line included."""
    flags, mark = [], ""
    for line in lines:
        opened = mark or opening_fence(line)
        flags.append(bool(opened))
        mark = "" if mark and closes_fence(line, mark) else opened
    return flags


def has_fence(text: str) -> bool:
    return any(map(opening_fence, text.split("\n")))


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


def headings(text: str) -> list[str]:
    """The lines that are headings."""
    return [line for line in text.split("\n") if is_heading(line)]


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


def without_quote_mark(line: str) -> str:
    return _QUOTE.sub("", line, count=1)


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


def stored_blocks(text: str, spans: Iterable[BlockSpan]) -> Iterator[tuple[UnitKind, str]]:
    """The same as `blocks`, of a text whose blocks were found when it was ingested."""
    for span in spans:
        line_start = text.rfind("\n", 0, span.start) + 1
        is_led = span.kind in (BlockKind.ITEM, BlockKind.QUOTE)  # by a mark in front of the span
        lines = text[line_start if is_led else span.start : span.end].split("\n")
        if text[line_start : span.end].lstrip().startswith(">"):
            lines = [without_quote_mark(line) for line in lines]
        if span.kind is BlockKind.CODE:
            yield UnitKind.CODE, _code_text(lines)
        elif span.kind is BlockKind.TABLE:
            yield UnitKind.TABLE, "\n".join(line.strip() for line in lines)
        elif span.kind is BlockKind.HTML:
            yield from blocks("\n".join(lines))
        elif span.kind not in (BlockKind.HEADING, BlockKind.ADMONITION, BlockKind.RULE):
            yield UnitKind.SENTENCE, "\n".join(lines)


def blocks(text: str) -> Iterator[tuple[UnitKind, str]]:
    """Code, tables and paragraphs in order, without what is markup alone. A paragraph keeps its lines."""
    raw = text.splitlines()
    depths = [match.group().count(">") if (match := _QUOTE.match(line)) else 0 for line in raw]
    plain = [without_quote_mark(line) if depth else line for line, depth in zip(raw, depths, strict=True)]
    at, in_list = 0, False
    while at < len(raw):
        if end := _fence_end(plain, depths, at):
            yield UnitKind.CODE, _code_text(plain[at:end] if depths[at] else raw[at:end])
        elif end := _table_end(plain, at):
            yield UnitKind.TABLE, "\n".join(line.strip() for line in plain[at:end])
        elif end := 0 if in_list else _indented_end(plain, at):
            yield UnitKind.CODE, _code_text(plain[at:end])
        elif end := _math_end(plain, at):
            yield UnitKind.SENTENCE, "\n".join(plain[at:end])
        elif not plain[at].strip() or is_markup(plain[at]):
            end = at + 1
            in_list = in_list and not plain[at].strip()
        else:
            end = _paragraph_end(plain, depths, at)
            in_list = is_list_item(plain[at]) or (in_list and plain[at][0].isspace())
            if end == at + 1 < len(raw) and _is_underlined(plain, depths, end) and not in_list:
                end += 1  # the line was a heading; several lines over a rule are more likely a paragraph
            else:
                yield UnitKind.SENTENCE, "\n".join(plain[at:end])
        at = end


def _fence_end(lines: Lines, depths: Sequence[int], at: int) -> int:
    """Past the closing fence of the one that opens here; 0 if none does. One that is never closed goes to the end."""
    mark = opening_fence(lines[at])
    if not mark:
        return 0
    for end in range(at + 1, len(lines)):
        if depths[at] and not depths[end]:
            return end
        if closes_fence(lines[end], mark):
            return end + 1
    return len(lines)


def _code_text(lines: Lines) -> str:
    """A block of code as it would stand outside a list."""
    mark = opening_fence(lines[0])
    if not mark:
        return textwrap.dedent("\n".join(lines)).rstrip()
    first = lines[0][lines[0].index(mark) :]
    return "\n".join([first, *textwrap.dedent("\n".join(lines[1:])).splitlines()]).rstrip()


def _table_end(lines: Lines, at: int) -> int:
    if "|" not in lines[at] or at + 1 == len(lines) or not _is_delimiter(lines[at + 1]):
        return 0
    end = at + 2
    while end < len(lines) and lines[end].strip() and not opening_fence(lines[end]) and not is_markup(lines[end]):
        end += 1
    return end


def _is_delimiter(line: str) -> bool:
    if "|" not in line:
        return False
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return all(_DELIMITER.fullmatch(cell.strip()) for cell in cells)


def _indented_end(lines: Lines, at: int) -> int:
    """Past a block of indented code, which a blank line does not end."""
    if (at and lines[at - 1].strip()) or not (lines[at].strip() and begins_indented(lines[at])):
        return 0
    end = last = at
    while end < len(lines) and (begins_indented(lines[end]) or not lines[end].strip()):
        last = end if lines[end].strip() else last
        end += 1
    return last + 1


def _math_end(lines: Lines, at: int) -> int:
    """Past a displayed formula: full stops and commas in it end nothing."""
    if lines[at].strip() != "$$":
        return 0
    return next((end + 1 for end in range(at + 1, len(lines)) if lines[end].strip() == "$$"), 0)


def is_formula(block: str) -> bool:
    """Whether a paragraph is one displayed formula."""
    first, _, rest = block.partition("\n")
    return first.strip() == "$$" == rest.rpartition("\n")[2].strip()


def _paragraph_end(lines: Lines, depths: Sequence[int], at: int) -> int:
    end, in_list = at + 1, is_list_item(lines[at])
    while end < len(lines) and depths[end] == depths[at] and not _interrupts(lines, end, in_list=in_list):
        end += 1
    return end


def _interrupts(lines: Lines, at: int, *, in_list: bool) -> bool:
    line = lines[at]
    if not line.strip() or is_markup(line) or _UNDERLINE.fullmatch(line) or opening_fence(line):
        return True
    item = _LIST_ITEM.match(line)
    if item:  # a wrapped line may begin with a year and a full stop: only 1 begins a list inside a paragraph
        return in_list or item["number"] in (None, "1")
    return _table_end(lines, at) > 0


def _is_underlined(lines: Lines, depths: Sequence[int], end: int) -> bool:
    return depths[end] == depths[end - 1] and _UNDERLINE.fullmatch(lines[end]) is not None
