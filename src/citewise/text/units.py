"""Text -> units, the smallest parts that can be quoted: blocks, and the sentences of those that are prose."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from citewise.model.answer import Unit, UnitKind
from citewise.model.document import BlockKind, BlockSpan
from citewise.text.markdown import (
    begins_indented,
    closes_fence,
    code_spans,
    is_list_item,
    is_markup,
    opening_fence,
    unquoted,
    without_list_mark,
)

CACHED_TEXTS = 64  # an answer splits each of its sources for the evidence and again to check what it says
MAX_CHARACTERS = 600  # of a sentence; a longer one is a list in disguise or has no full stops, and is cut at a clause

# A run is read once, from its beginning and to its end: else a long one would be tried from each of its characters.
_STOP = re.compile(
    r"(?<![.!?\u2026])(?P<stop>[.!?\u2026]++)[\"'\u201d\u2019)\]*_`\u00bb]*+\s++(?=\S)"
    r"|(?<![\u3002\uff01\uff1f])[\u3002\uff01\uff1f]++\s*+(?=\S)"
)
_OPENERS = "\"'\u201c\u2018([*_`\u00ab~"
_CLAUSE = re.compile(r"[;:,\u2014\u2013]\s+|\s+[\u2014\u2013-]\s+")
_BLANK = re.compile(r"\s+")
_LINE_END = re.compile(r"\n\s*")

# Before a full stop these do not end a sentence; `etc.` and `p.m.` may, and are left to the next word's first letter.
_SHORT = (
    "approx art ca cf ch chap dept dr e.g ed eds eg eq eqs esp est ex fig figs gen hr i.e ie inc incl jr lat lt ltd "
    "max min mr mrs ms mt nr nos p par pp prof ref refs resp sec sect sr st tab univ viz vol vs"
)
_ABBREVIATIONS = frozenset(_SHORT.split())
_BEFORE_NUMBERS = frozenset({"no", "art", "nr", "v", "vol"})
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")
_DELIMITER = re.compile(r":?-+:?")

Lines = Sequence[str]


def units_of(source: int, text: str, spans: tuple[BlockSpan, ...] = ()) -> tuple[Unit, ...]:
    """The units of a source's text, in order: sentences and list items, whole blocks of code and tables.

    `spans` are its blocks, if they are known; else the text is parsed.
    """
    return tuple(Unit(source, position, kind, part) for position, (kind, part) in enumerate(_parts(text, spans)))


def is_item(unit: Unit) -> bool:
    """Whether the unit begins a list item."""
    return unit.kind is UnitKind.SENTENCE and is_list_item(unit.text)


@lru_cache(maxsize=CACHED_TEXTS)
def _parts(text: str, spans: tuple[BlockSpan, ...]) -> tuple[tuple[UnitKind, str], ...]:
    parts: list[tuple[UnitKind, str]] = []
    for kind, block in _stored_blocks(text, spans) if spans else _blocks(text):
        if kind is not UnitKind.SENTENCE:
            parts.append((kind, block))
        elif _is_formula(block):
            parts.append((kind, _one_line(block)))
        else:
            parts += ((kind, sentence) for sentence in _sentences_of(block))
    return tuple((kind, part) for kind, part in parts if any(map(str.isalnum, part)))


def _stored_blocks(text: str, spans: Iterable[BlockSpan]) -> Iterator[tuple[UnitKind, str]]:
    """The same as `_blocks`, of a text whose blocks were found when it was ingested."""
    for span in spans:
        line_start = text.rfind("\n", 0, span.start) + 1
        is_led = span.kind in (BlockKind.ITEM, BlockKind.QUOTE)  # by a mark in front of the span
        lines = text[line_start if is_led else span.start : span.end].split("\n")
        if text[line_start : span.end].lstrip().startswith(">"):
            lines = [unquoted(line)[0] for line in lines]
        if span.kind is BlockKind.CODE:
            yield UnitKind.CODE, _code_text(lines)
        elif span.kind is BlockKind.TABLE:
            yield UnitKind.TABLE, "\n".join(line.strip() for line in lines)
        elif span.kind is BlockKind.HTML:
            yield from _blocks("\n".join(lines))
        elif span.kind not in (BlockKind.HEADING, BlockKind.ADMONITION, BlockKind.RULE):
            yield UnitKind.SENTENCE, "\n".join(lines)


def _blocks(text: str) -> Iterator[tuple[UnitKind, str]]:
    """Code, tables and paragraphs in order, without what is markup alone. A paragraph keeps its lines."""
    raw = text.splitlines()
    plain, depths = [unquoted(line)[0] for line in raw], [unquoted(line)[1] for line in raw]
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
            is_single = end == at + 1 < len(raw) and depths[end] == depths[at]
            if is_single and _UNDERLINE.fullmatch(plain[end]) and not in_list:
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
    if at + 1 == len(lines) or "|" not in lines[at] or "|" not in lines[at + 1]:
        return 0
    cells = lines[at + 1].strip().removeprefix("|").removesuffix("|").split("|")
    if not all(_DELIMITER.fullmatch(cell.strip()) for cell in cells):
        return 0
    end = at + 2
    while end < len(lines) and lines[end].strip() and not opening_fence(lines[end]) and not is_markup(lines[end]):
        end += 1
    return end


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


def _is_formula(block: str) -> bool:
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
    if is_list_item(line):  # a wrapped line may begin with a year and a full stop: only 1 begins a list in a paragraph
        return in_list or line.lstrip().startswith(("-", "*", "+", "1.", "1)"))
    return _table_end(lines, at) > 0


def sentence_starts(text: str) -> Iterator[int]:
    """Where each sentence but the first begins, in a text of one paragraph."""
    spans = iter(code_spans(text))
    span = next(spans, None)
    is_caseless = text == text.lower()
    start = len(text) - len(without_list_mark(text))
    for stop in _STOP.finditer(text, start):
        while span and span[1] <= stop.start():
            span = next(spans, None)
        is_code = span is not None and span[0] <= stop.start() < span[1] - 1
        # of an item in a list that runs on in one line
        is_number = stop.start() - start < 10 and text[start : stop.start()].isdigit()
        if not is_code and not is_number and _ends_sentence(text, stop, is_caseless=is_caseless):
            start = stop.end()
            yield start


def cut_points(text: str) -> Iterator[int]:
    """Where a text may be cut: between sentences and between lines."""
    lines = (match.end() for match in _LINE_END.finditer(text) if match.end() < len(text))
    yield from sorted({*sentence_starts(text), *lines} - {0})


def _sentences_of(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph, each on one line; very long ones are cut at a clause."""
    for run in _runs(paragraph.split("\n")):
        for sentence in _cut(run, sentence_starts(run)):
            yield from _cut(sentence, _clause_starts(sentence))


def _one_line(text: str) -> str:
    return _BLANK.sub(" ", text).strip()


def _runs(lines: Iterable[str]) -> Iterator[str]:
    """A paragraph's lines joined, up to each hard line break or line that leads in what follows."""
    run: list[str] = []
    for line in lines:
        run.append(line.removesuffix("\\"))
        if line.endswith(("  ", "\\")) or line.rstrip().endswith(":"):
            yield _one_line(" ".join(run))
            run = []
    if run:
        yield _one_line(" ".join(run))


def _cut(text: str, starts: Iterable[int]) -> Iterator[str]:
    for start, end in pairwise((0, *starts, len(text))):
        if part := text[start:end].strip():
            yield part


def _ends_sentence(text: str, stop: re.Match[str], *, is_caseless: bool) -> bool:
    if stop["stop"] is None:  # writing without spaces has stops of its own, which are never anything else
        return True
    following = text[stop.end() : stop.end() + 8].lstrip(_OPENERS)
    if following[:1].islower() and not is_caseless:
        return False
    if stop["stop"] != ".":
        return True
    before = max(text.rfind(" ", 0, stop.start()), text.rfind("\n", 0, stop.start()))
    word = text[before + 1 : stop.start()].lstrip(_OPENERS)
    plain = word.lower()
    if plain in _ABBREVIATIONS or _INITIALS.fullmatch(word):
        return False
    return not (plain in _BEFORE_NUMBERS and following[:1].isdigit())


def _clause_starts(sentence: str) -> Iterator[int]:
    """Where to cut what is too long: at the last clause that fits, else between words; never inside one."""
    if len(sentence) <= MAX_CHARACTERS:
        return
    start, clause, blank = 0, 0, 0
    clauses = {match.end() for match in _CLAUSE.finditer(sentence)}
    for match in _BLANK.finditer(sentence):
        end = match.end()
        while end - start > MAX_CHARACTERS and max(clause, blank) > start:
            start = clause if clause > start else blank
            yield start
        blank = end
        clause = end if end in clauses else clause
    if len(sentence) - start > MAX_CHARACTERS and max(clause, blank) > start:
        yield clause if clause > start else blank
