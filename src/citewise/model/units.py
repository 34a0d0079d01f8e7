"""Markdown text into units, the smallest parts that can be quoted. Read by hand, line by line: no parser is needed.

Code and tables stay whole, the rest becomes sentences and list items. Headings, rules, tags and the fences of
admonitions are no units: nobody quotes them. A unit keeps its list marker and loses its quote marks; its white space
is made plain outside code and tables. Every word stands in exactly one unit or in a line that is none.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from citewise.model.context import Unit, UnitKind

MOST_CHARACTERS = 600  # of a sentence; a longer one is a list in disguise or has no full stops, and is cut at a clause

Lines = Sequence[str]

_QUOTE = re.compile(r" {0,3}(?:>[ \t]?)+")
_MARKER = re.compile(r"\s*(?:[-*+]|(?P<number>\d{1,9})[.)])\s+(?=\S)")
_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?P<fence>(?P<mark>`|~)(?P=mark){2,})(?P<info>.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_ADMONITION = re.compile(r"\s*:{3,}")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_TAGS = re.compile(r"\s*(?:</?[A-Za-z][^<>]*>\s*|<>\s*|</>\s*)+|\s*<!--[^>]*-->\s*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")
_DELIMITER = re.compile(r":?-+:?")
_INDENT = re.compile(r" {4}| {0,3}\t")

_TICKS = re.compile(r"`+")
# A run is read once, from its beginning and to its end: else a long one would be tried from each of its characters.
_STOP = re.compile(
    r"(?<![.!?\u2026])(?P<stop>[.!?\u2026]++)[\"'\u201d\u2019)\]*_`\u00bb]*+\s++(?=\S)"
    r"|(?<![\u3002\uff01\uff1f])[\u3002\uff01\uff1f]++\s*+(?=\S)"
)
_OPENERS = "\"'\u201c\u2018([*_`\u00ab~"
_CLAUSE = re.compile(r"[;:,\u2014\u2013]\s+|\s+[\u2014\u2013-]\s+")
_BLANK = re.compile(r"\s+")

# Before a full stop these do not end a sentence; `etc.` and `p.m.` may, and are left to the next word's first letter.
_SHORT = (
    "approx art ca cf ch chap dept dr e.g ed eds eg eq eqs esp est ex fig figs gen hr i.e ie inc incl jr lat lt ltd "
    "max min mr mrs ms mt nr nos p par pp prof ref refs resp sec sect sr st tab univ viz vol vs"
)
_ABBREVIATIONS = frozenset(_SHORT.split())
_BEFORE_NUMBERS = frozenset({"no", "art", "nr", "v", "vol"})
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")


def units_of(source: int, text: str) -> tuple[Unit, ...]:
    """The units of a source's text, in order."""
    quotable = ((kind, part) for kind, part in _parts(text.splitlines()) if any(map(str.isalnum, part)))
    return tuple(Unit(source, position, kind, part) for position, (kind, part) in enumerate(quotable))


def is_item(unit: Unit) -> bool:
    """Whether the unit begins a list item."""
    return unit.kind is UnitKind.SENTENCE and _MARKER.match(unit.text) is not None


def without_marker(text: str) -> str:
    """A unit's text as prose: what a list item says."""
    match = _MARKER.match(text)
    return text[match.end() :] if match else text


def _parts(raw: Lines) -> Iterator[tuple[UnitKind, str]]:
    depths = [_quote_depth(line) for line in raw]
    plain = [_QUOTE.sub("", line, count=1) if depth else line for line, depth in zip(raw, depths, strict=True)]
    at, in_list = 0, False
    while at < len(raw):
        if end := _fence_end(plain, depths, at):
            yield UnitKind.CODE, _code_text(plain[at:end] if depths[at] else raw[at:end])
        elif end := _table_end(plain, at):
            yield UnitKind.TABLE, "\n".join(line.strip() for line in plain[at:end])
        elif end := 0 if in_list else _indented_end(plain, at):
            yield UnitKind.CODE, textwrap.dedent("\n".join(plain[at:end])).rstrip()
        elif end := _math_end(plain, at):
            yield UnitKind.SENTENCE, _joined(plain[at:end])
        elif not plain[at].strip() or _is_markup(plain[at]):
            end = at + 1
            in_list = in_list and not plain[at].strip()
        else:
            end = _paragraph_end(plain, depths, at)
            in_list = _MARKER.match(plain[at]) is not None or (in_list and plain[at][0].isspace())
            if end == at + 1 < len(raw) and _is_underlined(plain, depths, end) and not in_list:
                end += 1  # the line was a heading; several lines over a rule are more likely a paragraph
            else:
                yield from ((UnitKind.SENTENCE, one) for one in _sentences(plain[at:end]))
        at = end


def _quote_depth(line: str) -> int:
    match = _QUOTE.match(line)
    return match.group().count(">") if match else 0


def _fence_end(lines: Lines, depths: Sequence[int], at: int) -> int:
    """Past the closing fence of the one that opens here; 0 if none does. One that is never closed goes to the end."""
    opening = _FENCE.fullmatch(lines[at])
    if opening is None or (opening["mark"] == "`" and "`" in opening["info"]):
        return 0
    for end in range(at + 1, len(lines)):
        if depths[at] and not depths[end]:
            return end
        line = lines[end].strip()
        if line.startswith(opening["fence"]) and not line.strip(opening["mark"]):
            return end + 1
    return len(lines)


def _code_text(lines: Lines) -> str:
    """A fenced block as it would stand outside a list."""
    opening = _FENCE.fullmatch(lines[0])
    first = lines[0][opening.start("fence") :] if opening else lines[0]
    return "\n".join([first, *textwrap.dedent("\n".join(lines[1:])).splitlines()]).rstrip()


def _table_end(lines: Lines, at: int) -> int:
    if "|" not in lines[at] or at + 1 == len(lines) or not _is_delimiter(lines[at + 1]):
        return 0
    end = at + 2
    while end < len(lines) and lines[end].strip() and not _FENCE.fullmatch(lines[end]) and not _is_markup(lines[end]):
        end += 1
    return end


def _is_delimiter(line: str) -> bool:
    if "|" not in line:
        return False
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return all(_DELIMITER.fullmatch(cell.strip()) for cell in cells)


def _indented_end(lines: Lines, at: int) -> int:
    """Past a block of indented code, which a blank line does not end."""
    if (at and lines[at - 1].strip()) or not _is_indented(lines[at]):
        return 0
    end = last = at
    while end < len(lines) and (_is_indented(lines[end]) or not lines[end].strip()):
        last = end if lines[end].strip() else last
        end += 1
    return last + 1


def _is_indented(line: str) -> bool:
    return bool(line.strip()) and _INDENT.match(line) is not None and _MARKER.match(line) is None


def _math_end(lines: Lines, at: int) -> int:
    """Past a displayed formula: one unit, since full stops and commas in it end nothing."""
    if lines[at].strip() != "$$":
        return 0
    return next((end + 1 for end in range(at + 1, len(lines)) if lines[end].strip() == "$$"), 0)


def _is_markup(line: str) -> bool:
    return any(shape.match(line) for shape in (_HEADING, _ADMONITION)) or any(
        shape.fullmatch(line) for shape in (_RULE, _TAGS)
    )


def _paragraph_end(lines: Lines, depths: Sequence[int], at: int) -> int:
    is_in_list = _MARKER.match(lines[at]) is not None
    end = at + 1
    while end < len(lines) and depths[end] == depths[at] and not _interrupts(lines, end, is_in_list=is_in_list):
        end += 1
    return end


def _interrupts(lines: Lines, at: int, *, is_in_list: bool) -> bool:
    line = lines[at]
    if not line.strip() or _is_markup(line) or _UNDERLINE.fullmatch(line) or _FENCE.fullmatch(line):
        return True
    marker = _MARKER.match(line)
    if marker:  # a wrapped line may begin with a year and a full stop: only 1 begins a list inside a paragraph
        return is_in_list or marker["number"] in (None, "1")
    return _table_end(lines, at) > 0


def _is_underlined(lines: Lines, depths: Sequence[int], end: int) -> bool:
    return depths[end] == depths[end - 1] and _UNDERLINE.fullmatch(lines[end]) is not None


def _sentences(lines: Lines) -> Iterator[str]:
    for run in _runs(lines):
        for sentence in _cut(run, _sentence_ends(run)):
            yield from _cut(sentence, _clause_ends(sentence))


def _runs(lines: Lines) -> Iterator[str]:
    """A paragraph's lines joined, up to each hard line break or line that leads in what follows."""
    run: list[str] = []
    for line in lines:
        run.append(line.removesuffix("\\"))
        if line.endswith(("  ", "\\")) or line.rstrip().endswith(":"):
            yield _joined(run)
            run = []
    if run:
        yield _joined(run)


def _joined(lines: Lines) -> str:
    return _BLANK.sub(" ", " ".join(lines)).strip()


def _cut(text: str, ends: Iterable[int]) -> Iterator[str]:
    for start, end in pairwise((0, *ends, len(text))):
        if part := text[start:end].strip():
            yield part


def _sentence_ends(text: str) -> Iterator[int]:
    spans = iter(code_spans(text))
    span = next(spans, None)
    marker = _MARKER.match(text)
    is_caseless = text == text.lower()
    start = marker.end() if marker else 0
    for stop in _STOP.finditer(text, start):
        while span and span[1] <= stop.start():
            span = next(spans, None)
        is_code = span is not None and span[0] <= stop.start() < span[1] - 1
        is_number = (
            stop.start() - start < 10 and text[start : stop.start()].isdigit()
        )  # of an item in a list that runs on in one line
        if not is_code and not is_number and _ends_sentence(text, stop, is_caseless=is_caseless):
            start = stop.end()
            yield start


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where inline code stands: from a run of backticks to the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    closing: dict[int, int] = {}
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


def _ends_sentence(text: str, stop: re.Match[str], *, is_caseless: bool) -> bool:
    if stop["stop"] is None:  # writing without spaces has stops of its own, which are never anything else
        return True
    following = text[stop.end() : stop.end() + 8].lstrip(_OPENERS)
    if following[:1].islower() and not is_caseless:
        return False
    if stop["stop"] != ".":
        return True
    word = text[text.rfind(" ", 0, stop.start()) + 1 : stop.start()].lstrip(_OPENERS)
    return not _is_abbreviation(word, following)


def _is_abbreviation(word: str, following: str) -> bool:
    plain = word.lower()
    if plain in _ABBREVIATIONS or _INITIALS.fullmatch(word):
        return True
    return plain in _BEFORE_NUMBERS and following[:1].isdigit()


def _clause_ends(sentence: str) -> Iterator[int]:
    """Where to cut what is too long: at the last clause that fits, else between words; never inside one."""
    if len(sentence) <= MOST_CHARACTERS:
        return
    start, clause, blank = 0, 0, 0
    clauses = {match.end() for match in _CLAUSE.finditer(sentence)}
    for match in _BLANK.finditer(sentence):
        end = match.end()
        while end - start > MOST_CHARACTERS and max(clause, blank) > start:
            start = clause if clause > start else blank
            yield start
        blank = end
        clause = end if end in clauses else clause
    if len(sentence) - start > MOST_CHARACTERS and max(clause, blank) > start:
        yield clause if clause > start else blank
