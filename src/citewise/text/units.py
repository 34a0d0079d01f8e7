"""Text -> units, the smallest parts that can be quoted, and where they stand in it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from citewise.model.answer import Unit, UnitKind
from citewise.model.document import BlockSpan
from citewise.text.markdown import blocks, is_formula, is_list_item, is_markup, stored_blocks, without_quote_mark
from citewise.text.sentences import one_line, sentences_of

Span = tuple[int, int]

CACHED_TEXTS = 64  # an answer splits each of its sources for the evidence and again to check what it says
_LOST = re.compile(r"[\s>\\]+")  # what a unit may have lost: white space, quote marks, hard breaks
_VISIBLE = re.compile(r"[^\s>\\]+")


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
    return tuple((kind, part) for kind, part in _all_parts(text, spans) if any(map(str.isalnum, part)))


def _all_parts(text: str, spans: tuple[BlockSpan, ...]) -> Iterator[tuple[UnitKind, str]]:
    for kind, block in stored_blocks(text, spans) if spans else blocks(text):
        if kind is not UnitKind.SENTENCE:
            yield kind, block
        elif is_formula(block):
            yield kind, one_line(block)
        else:
            yield from ((kind, sentence) for sentence in sentences_of(block))


def spans_of(text: str, units: Sequence[Unit]) -> Iterator[Span | None]:
    """For each unit of a text, in their order, from where to where it stands; None for one that cannot be found.

    Between two spans is what nobody quotes: white space, headings, marks of lists and quotations. They are found by
    comparing what is left of both without the characters that units lose.
    """
    runs = [match.span() for match in _VISIBLE.finditer(text)]
    visible = "".join(text[start:end] for start, end in runs)
    firsts = list(accumulate((end - start for start, end in runs), initial=0))  # of each run, in `visible`

    def place(at: int) -> int:
        run = bisect_right(firsts, at) - 1
        return runs[run][0] + at - firsts[run]

    def is_in_markup(at: int) -> bool:
        """A sentence never begins in a heading that has the same words."""
        begin, end = text.rfind("\n", 0, place(at)) + 1, text.find("\n", place(at))
        return is_markup(without_quote_mark(text[begin : end if end >= 0 else len(text)]))

    done = 0
    for unit in units:
        wanted = _LOST.sub("", unit.text)
        at = visible.find(wanted, done)
        while at >= 0 and unit.kind is UnitKind.SENTENCE and is_in_markup(at):
            at = visible.find(wanted, at + 1)
        if at < 0 or not wanted:
            yield None
            continue
        done = at + len(wanted)
        yield place(at), place(done - 1) + 1
