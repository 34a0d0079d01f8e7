"""Sources taken apart and put together again with less in them: what every compressor shares."""

import re
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citewise.model.answer import Evidence, Shortened, Source, Unit, UnitKind

MAX_CHARACTERS = 600  # of a sentence; a longer one is a list in disguise or has no full stops, and is cut at a clause

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


Span = tuple[int, int]

_NOT_INK = re.compile(r"[\s>\\]+")  # what a unit may have lost: white space, quote marks, hard breaks
_INK = re.compile(r"[^\s>\\]+")
_MARKUP = re.compile(r"(?: {0,3}>)* {0,3}#{1,6}(?:\s|$)|[ \t>]*:{3,}")  # a line that is no unit and may read like one


def spans_of(text: str, units: Sequence[Unit]) -> tuple[Span | None, ...]:
    """For each unit of a text, in their order, from where to where it stands; None for one that cannot be found.

    Between two spans is what nobody quotes: white space, headings, marks of lists and quotations.
    """
    return tuple(_Ink(text).spans(units))


class _Ink:
    """The text without what units lose, and where each of its characters comes from."""

    def __init__(self, text: str) -> None:
        self._text = text
        runs = [match.span() for match in _INK.finditer(text)]
        self._ink = "".join(text[start:end] for start, end in runs)
        self._starts = [start for start, _ in runs]  # in the text, by run
        self._firsts: list[int] = []  # in the ink, by run
        length = 0
        for start, end in runs:
            self._firsts.append(length)
            length += end - start

    def spans(self, units: Sequence[Unit]) -> Iterator[Span | None]:
        done = 0
        for unit in units:
            wanted = _NOT_INK.sub("", unit.text)
            at = self._found(wanted, unit.kind, done)
            if at < 0 or not wanted:
                yield None
                continue
            done = at + len(wanted)
            yield self._place(at), self._place(done - 1) + 1

    def _found(self, wanted: str, kind: UnitKind, done: int) -> int:
        """The first place behind `done`; a sentence never begins in a heading that has the same words."""
        at = self._ink.find(wanted, done)
        while at >= 0 and kind is UnitKind.SENTENCE and self._is_markup(self._place(at)):
            at = self._ink.find(wanted, at + 1)
        return at

    def _place(self, at: int) -> int:
        run = bisect_right(self._firsts, at) - 1
        return self._starts[run] + at - self._firsts[run]

    def _is_markup(self, place: int) -> bool:
        return _MARKUP.match(self._text, self._text.rfind("\n", 0, place) + 1) is not None


MARK = "\u2026"  # where a unit was left out
MARK_TOKENS = 1
RULE_TOKENS = 3  # what stands between two sources

_HEADING_SHORTEN = re.compile(r"\s*#{1,6}[ \t]+([^\n]*\S)[ \t]*\n+")
_BETWEEN = " \t\n>"  # what may stand between the units of a paragraph, a list or a quotation

Counts = Callable[[Sequence[str]], list[int]]  # as a TokenCounter counts


@dataclass(frozen=True, slots=True)
class Part:
    """A unit where it stands, with what it takes and what it is worth."""

    unit: Unit
    span: Span
    tokens: int
    worth: float
    stands_apart: bool  # from the part above: a heading is between them


@dataclass(frozen=True, slots=True)
class Layout:
    """A source's text as parts that may be left out, and a frame that may not: label, headings, marks of lists."""

    source: Source
    parts: tuple[Part, ...]
    begins: int  # behind a heading that the source's label repeats
    frame_tokens: int  # with the rule above it

    def put_together(self, shown: Mapping[int, str]) -> Shortened:
        """The source with these texts for its units, by position; a mark for one that has none, and one for several."""
        pieces: list[str] = []
        done, is_marked = self.begins, False
        for part in self.parts:
            text = shown.get(part.unit.position, "")
            if text or not is_marked or part.stands_apart:
                pieces += (self.source.text[done : part.span[0]], text or MARK)
            done, is_marked = part.span[1], not text
        pieces.append(self.source.text[done:])
        kept = tuple(part.unit.position for part in self.parts if shown.get(part.unit.position))
        return Shortened(self.source.n, "".join(pieces).strip("\n"), kept)

    def tokens(self, kept: Collection[int]) -> int:
        """What the source takes with these units alone, by position: frame, units and marks."""
        units = sum(part.tokens for part in self.parts if part.unit.position in kept)
        return self.frame_tokens + units + self._marks(kept)

    def marks_added(self, kept: Collection[int], position: int) -> int:
        """Tokens of marks, more or fewer, that one more unit makes."""
        return self._marks({*kept, position}) - self._marks(kept)

    def _marks(self, kept: Collection[int]) -> int:
        marks, is_marked = 0, False
        for part in self.parts:
            is_kept = part.unit.position in kept
            marks += not is_kept and (not is_marked or part.stands_apart)
            is_marked = not is_kept
        return MARK_TOKENS * marks

    def text_of(self, part: Part) -> str:
        return self.source.text[slice(*part.span)]


def layouts_of(sources: Sequence[Source], worths: Iterable[tuple[Evidence, float]], counts: Counts) -> list[Layout]:
    """Each source with its units, which are worth what is said of them."""
    given: dict[int, list[tuple[Unit, float]]] = {source.n: [] for source in sources}
    for evidence, worth in worths:
        if evidence.unit.source in given:
            given[evidence.unit.source].append((evidence.unit, worth))
    return [_layout(source, given[source.n], counts) for source in sources]


def _layout(source: Source, worths: Sequence[tuple[Unit, float]], counts: Counts) -> Layout:
    spans = spans_of(source.text, [unit for unit, _ in worths])
    tokens = counts([source.text[slice(*span)] if span else "" for span in spans])
    parts: list[Part] = []
    done = begins = _behind_its_heading(source)
    for (unit, worth), span, spent in zip(worths, spans, tokens, strict=True):
        if span is not None:
            stands_apart = bool(source.text[done : span[0]].strip(_BETWEEN))
            parts.append(Part(unit, span, spent, worth, stands_apart))
            done = span[1]
    frame = source.tokens - sum(tokens) - counts([source.text[:begins]])[0] + RULE_TOKENS
    return Layout(source, tuple(parts), begins, frame)


def _behind_its_heading(source: Source) -> int:
    """Past the heading that the text begins with, if it is the section that the label names anyway."""
    heading = _HEADING_SHORTEN.match(source.text)
    return heading.end() if heading and heading[1] in (source.citation.section, source.citation.title) else 0


def essentials(layouts: Sequence[Layout], *, wanted_tokens: int, max_tokens: int) -> dict[int, frozenset[int]]:
    """By source, the unit that it must not lose: the best one that fits. A source of which nothing fits is not there.

    The best source goes first and may take all there is: without it there may be nothing to answer from, and so
    there is nothing if it does not fit. What it takes beyond what is wanted is not at the others' expense.
    """
    chosen: dict[int, frozenset[int]] = {}
    spent, limit = -RULE_TOKENS, max_tokens  # no rule stands above the first
    for layout in sorted(layouts, key=lambda one: (-one.source.score, one.source.n)):
        units = [frozenset({part.unit.position}) for part in best_first(layout.parts)] or [frozenset[int]()]
        best = next((one for one in units if spent + layout.tokens(one) <= limit), None)
        if best is not None:
            spent += layout.tokens(best)
            if not chosen:
                limit = wanted_tokens if spent <= wanted_tokens else min(max_tokens, spent + wanted_tokens)
            chosen[layout.source.n] = best
        elif not chosen:
            break
    return chosen


def tokens_of(layouts: Iterable[Layout], kept: Mapping[int, Collection[int]]) -> int:
    """What the sources take together with these units, by number and position."""
    return sum(layout.tokens(kept[layout.source.n]) for layout in layouts) - RULE_TOKENS


def best_first(parts: Iterable[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (-part.worth, part.unit.source, part.unit.position))
