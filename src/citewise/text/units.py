"""Text -> units, the smallest parts that can be quoted: blocks, and the sentences of those that are prose."""

import re
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from citewise.model.answer import Unit, UnitKind
from citewise.model.document import BlockKind, BlockSpan
from citewise.text.analysis import terms
from citewise.text.markdown import Line, Markdown

MAX_CHARACTERS = 600  # of a sentence; a longer one is a list in disguise or has no full stops, and is cut at a clause

# A run is read once, from its beginning and to its end: else a long one would be tried from each of its characters.
_STOP = re.compile(
    r"(?<![.!?\u2026])(?P<stop>[.!?\u2026]++)[\"'\u201d\u2019)\]*_`\u00bb]*+\s++(?=\S)"
    r"|(?<![\u3002\uff01\uff1f])[\u3002\uff01\uff1f]++\s*+(?=\S)"
)
_LAST_STOP = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]*_`\u00bb]*+\s*+\Z")
_OPENERS = "\"'\u201c\u2018([*_`\u00ab~"
_CLAUSE = re.compile(r"[;:,\u2014\u2013]\s++|(?<!\s)\s++[\u2014\u2013-]\s++")
_BLANK = re.compile(r"\s+")
_RUN_END = re.compile(r"(?:  |\\|:[^\S\n]*)\r?\n")  # a hard line break, or a line that leads in what follows
_WORD_END = re.compile(r"(?<=\S)(?=\s)")

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

_Lines = Sequence[Line]
# Kind, where it begins, how it stands there (with blanks for quote marks), and how code and tables are quoted.
_Block = tuple[UnitKind, int, str, str]


def units_of(source: int, text: str, spans: Sequence[BlockSpan] = ()) -> tuple[Unit, ...]:
    """The units of a source's text, in order: sentences and list items, whole blocks of code and tables.

    `spans` are its blocks, if they are known; else the text is parsed.
    """
    units: list[Unit] = []
    for kind, start, block, whole in _stored_blocks(text, spans) if spans else _blocks(text):
        lead = max(block.find(whole[:1]), 0)
        for first, part in _sentences_of(block) if kind == "sentence" else [(lead, block[lead:].rstrip())]:
            quoted = whole or _BLANK.sub(" ", part)
            if any(map(str.isalnum, quoted)):
                mark = Line(quoted).list_mark
                span = (start + first, start + first + len(part))
                units.append(Unit(source, len(units), kind, quoted, span, mark, terms(quoted[len(mark) :]).stems))
    return tuple(units)


def spans_of(text: str) -> tuple[BlockSpan, ...]:
    """The blocks of a text that was not ingested; headings and other markup are in none."""
    spans: list[BlockSpan] = []
    depth = 0
    for kind, start, block, _ in _blocks(text):
        mark, indent = Line(block).list_mark, len(block) - len(block.lstrip())
        depth = 1 + indent // 2 if mark else depth if indent else 0
        prose = BlockKind.ITEM if mark else BlockKind.QUOTE if text[start:].startswith(">") else BlockKind.PARAGRAPH
        own = {"code": BlockKind.CODE, "table": BlockKind.TABLE}.get(kind, prose)
        spans.append(BlockSpan(own, start, start + len(block.rstrip()), depth=depth))
    return tuple(spans)


def _stored_blocks(text: str, spans: Iterable[BlockSpan]) -> Iterator[_Block]:
    """The same as `_blocks`, of a text whose blocks were found when it was ingested."""
    for span in spans:
        line_start = text.rfind("\n", 0, span.start) + 1
        is_led = span.kind in (BlockKind.ITEM, BlockKind.QUOTE)  # by a mark in front of the span
        start = line_start if is_led else span.start
        block, lines = text[start : span.end], [Line(line) for line in text[start : span.end].split("\n")]
        if text[line_start : span.end].lstrip().startswith(">"):
            block, lines = _without_quote_marks(block), [line.unquoted for line in lines]
        if span.kind is BlockKind.CODE:
            yield "code", start, block, _code_text(lines)
        elif span.kind is BlockKind.TABLE:
            yield "table", start, block, "\n".join(line.strip() for line in lines)
        elif span.kind is BlockKind.HTML:
            yield from ((kind, start + at, inner, whole) for kind, at, inner, whole in _blocks(block))
        elif span.kind not in (BlockKind.HEADING, BlockKind.ADMONITION, BlockKind.RULE):
            yield "sentence", start, block, ""


def _without_quote_marks(text: str) -> str:
    """The text with blanks for the marks of quotations."""
    lines = map(Line, text.splitlines(keepends=True))
    return "".join(" " * len(line.quote_mark) + line.unquoted for line in lines)


def _blocks(text: str) -> Iterator[_Block]:
    """Code, tables and paragraphs in order, without what is markup alone."""
    unmarked, raw = _without_quote_marks(text), [Line(line) for line in text.splitlines()]
    plain, depths = [line.unquoted for line in raw], [line.quote_mark.count(">") for line in raw]
    starts = list(accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    at, in_list = 0, False
    while at < len(raw):
        kind: UnitKind | None = "sentence"
        whole = ""
        if end := _fence_end(plain, depths, at):
            kind, whole = "code", _code_text(plain[at:end] if depths[at] else raw[at:end])
        elif end := _table_end(plain, at):
            kind, whole = "table", "\n".join(line.strip() for line in plain[at:end])
        elif end := 0 if in_list else _indented_end(plain, at):
            kind, whole = "code", _code_text(plain[at:end])
        elif end := _math_end(plain, at):
            pass
        elif not plain[at].strip() or plain[at].is_markup:
            kind, end = None, at + 1
            in_list = in_list and not plain[at].strip()
        else:
            end, is_item = at + 1, bool(plain[at].list_mark)
            while end < len(raw) and depths[end] == depths[at] and not _interrupts(plain, end, in_list=is_item):
                end += 1
            in_list = is_item or (in_list and plain[at][0].isspace())
            is_single = end == at + 1 < len(raw) and depths[end] == depths[at]
            if is_single and _UNDERLINE.fullmatch(plain[end]) and not in_list:
                kind, end = None, end + 1  # a heading; several lines over a rule are more likely a paragraph
        if kind:
            yield kind, starts[at], unmarked[starts[at] : starts[end]], whole
        at = end


def _fence_end(lines: _Lines, depths: Sequence[int], at: int) -> int:
    """Past the closing fence of the one that opens here; 0 if none does. One that is never closed goes to the end."""
    fence = lines[at].fence
    if not fence:
        return 0
    for end in range(at + 1, len(lines)):
        if depths[at] and not depths[end]:
            return end
        if lines[end].closes(fence):
            return end + 1
    return len(lines)


def _code_text(lines: _Lines) -> str:
    """A block of code as it would stand outside a list."""
    fence = lines[0].fence
    if not fence:
        return textwrap.dedent("\n".join(lines)).rstrip()
    first = lines[0][lines[0].index(fence) :]
    return "\n".join([first, *textwrap.dedent("\n".join(lines[1:])).splitlines()]).rstrip()


def _table_end(lines: _Lines, at: int) -> int:
    if at + 1 == len(lines) or "|" not in lines[at] or "|" not in lines[at + 1]:
        return 0
    cells = lines[at + 1].strip().removeprefix("|").removesuffix("|").split("|")
    if not all(_DELIMITER.fullmatch(cell.strip()) for cell in cells):
        return 0
    end = at + 2
    while end < len(lines) and lines[end].strip() and not lines[end].fence and not lines[end].is_markup:
        end += 1
    return end


def _indented_end(lines: _Lines, at: int) -> int:
    """Past a block of indented code, which a blank line does not end."""
    if (at and lines[at - 1].strip()) or not (lines[at].strip() and lines[at].is_indented):
        return 0
    end = last = at
    while end < len(lines) and (lines[end].is_indented or not lines[end].strip()):
        last = end if lines[end].strip() else last
        end += 1
    return last + 1


def _math_end(lines: _Lines, at: int) -> int:
    """Past a displayed formula: full stops and commas in it end nothing."""
    if lines[at].strip() != "$$":
        return 0
    return next((end + 1 for end in range(at + 1, len(lines)) if lines[end].strip() == "$$"), 0)


def _interrupts(lines: _Lines, at: int, *, in_list: bool) -> bool:
    line = lines[at]
    if not line.strip() or line.is_markup or _UNDERLINE.fullmatch(line) or line.fence:
        return True
    if line.list_mark:  # a wrapped line may begin with a year and a full stop: only 1 begins a list in a paragraph
        return in_list or line.lstrip().startswith(("-", "*", "+", "1.", "1)"))
    return _table_end(lines, at) > 0


def sentence_starts(text: str) -> Iterator[int]:
    """Where each sentence but the first begins, in a text of one paragraph: where it may be cut."""
    spans = Markdown(text).code_spans()
    span = next(spans, None)
    is_caseless = text == text.lower()
    start = len(Line(text).list_mark)
    for stop in _STOP.finditer(text, start):
        while span and span[1] <= stop.start():
            span = next(spans, None)
        is_code = span is not None and span[0] <= stop.start() < span[1] - 1
        # of an item in a list that runs on in one line
        is_number = stop.start() - start < 10 and text[start : stop.start()].isdigit()
        if not is_code and not is_number and _ends_sentence(text, stop, is_caseless=is_caseless):
            start = stop.end()
            yield start


def ends_sentence(text: str) -> bool:
    """Whether a text ends as sentences do."""
    return _LAST_STOP.search(text) is not None


def cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning that fits, up to the end of a line outside code and tables; then of any line; then of a
    sentence; then of a word; then anywhere, for writing without blanks. Empty if not even a character fits."""
    for ends in (
        tuple(_ends_of_lines(text, only_safe=True)),
        tuple(_ends_of_lines(text, only_safe=False)),
        tuple(len(text[:start].rstrip()) for start in (*sentence_starts(text), len(text))),
        (*(match.start() for match in _WORD_END.finditer(text)), len(text)),
        range(1, len(text) + 1),
    ):
        count = bisect_right(ends, False, key=lambda end: not fits(text[:end]))
        if count:
            return text[: ends[count - 1]]
    return ""


def _ends_of_lines(text: str, *, only_safe: bool) -> Iterator[int]:
    """Where lines end, but for blank ones and headings: a heading with nothing behind it says nothing.

    A line that is of one fence or one table with the next is not safe to end with.
    """
    lines = [Line(line) for line in text.split("\n")]
    in_fence = Markdown(text).fenced_lines()
    end = -1
    for line, following, is_code, goes_on in zip(
        lines, [*lines[1:], Line()], in_fence, [*in_fence[1:], False], strict=True
    ):
        end += len(line) + 1
        says_something = bool(line.strip()) and (is_code or not line.is_heading)
        holds_together = (is_code and goes_on) or ("|" in line and "|" in following)
        if says_something and not (only_safe and holds_together):
            yield end


def _sentences_of(paragraph: str) -> Iterator[tuple[int, str]]:
    """The sentences of a paragraph, and where each begins; very long ones are cut at a clause."""
    lines = paragraph.strip().split("\n")
    if len(lines) > 1 and lines[0].strip() == "$$" == lines[-1].strip():  # a displayed formula
        yield from _cut(0, paragraph, ())
        return
    for run_start, run in _cut(0, paragraph, (match.end() for match in _RUN_END.finditer(paragraph))):
        run = run.removesuffix("\\")
        for start, sentence in _cut(run_start, run, sentence_starts(run)):
            yield from _cut(start, sentence, _clause_starts(sentence))


def _cut(at: int, text: str, starts: Iterable[int]) -> Iterator[tuple[int, str]]:
    """The parts of a text that stands at `at`, without the blanks around them, and where each begins."""
    for start, end in pairwise((0, *starts, len(text))):
        if part := text[start:end].strip():
            yield at + text.index(part[0], start), part


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
