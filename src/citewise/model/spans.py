"""Where a text's units stand in it, character by character: what is needed to leave some of them out."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from citewise.model.context import Unit, UnitKind

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
