"""Where sentences end: behind a full stop that belongs to no abbreviation, number or code. No other module decides."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from citewise.text.markdown import code_spans, without_list_mark

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


def sentences_of(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph, each on one line; very long ones are cut at a clause."""
    for run in _runs(paragraph.split("\n")):
        for sentence in _cut(run, sentence_starts(run)):
            yield from _cut(sentence, _clause_starts(sentence))


def one_line(text: str) -> str:
    return _BLANK.sub(" ", text).strip()


def _runs(lines: Iterable[str]) -> Iterator[str]:
    """A paragraph's lines joined, up to each hard line break or line that leads in what follows."""
    run: list[str] = []
    for line in lines:
        run.append(line.removesuffix("\\"))
        if line.endswith(("  ", "\\")) or line.rstrip().endswith(":"):
            yield one_line(" ".join(run))
            run = []
    if run:
        yield one_line(" ".join(run))


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
