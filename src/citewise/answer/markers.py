"""Markers checked as they stream: what is left of an answer's `[n]` is always a source (A8).

The filter walks character by character, so how a text is cut into pieces cannot matter. It holds back what may still
become a marker, and the blanks in front of it. Code is left alone: a span of it ends with its line here, since
a stray backtick must not switch the check off for the rest of an answer.
"""

import re
from collections.abc import Iterable

from citewise.answer.marker_shapes import (
    MOST_HELD,
    MOST_LABEL,
    OPENERS,
    Item,
    Marker,
    is_target,
    items_in_label,
    labeled_marker_in,
    marker_in,
    may_become_marker,
    may_become_target,
)

_PLAIN_BLANKS = " \t"
_CLOSING_MARKS = ".,;:!?)]}\u2026\u3002\uff0c\n\r"  # no blank stands before these
_OPENING_BRACKETS = "[\uff3b\u3010"
_PLUG = "?"  # in place of the 8 in `[9[8]9]`: what stands around a removed marker must not close up to another
_ENDS_OF_LABEL = "]\uff3d\u3011"
_BREAKS_OF_LABEL = f"\n{_OPENING_BRACKETS}"
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+|>)*(?P<fence>`{3,}(?=[^`]*$)|~{3,})")


class MarkerFilter:
    """Lets an answer through, with its markers as `[n]` and without those that point at no source."""

    def __init__(self, sources: Iterable[int]) -> None:
        self.removed = 0
        self._sources = frozenset(sources)
        self._used: dict[int, None] = {}
        self._new: list[int] = []
        self._out: list[str] = []
        self._held = ""  # may become a marker, or the address behind one
        self._label: str | None = None  # of a marker that has passed, not closed yet
        self._blanks = ""  # and commas between markers: one that is removed takes along what stands before it
        self._has_hole = False  # a marker has just been removed behind these blanks
        self._is_behind_marker = False
        self._is_in_target = False
        self._code = _Code()

    @property
    def used(self) -> tuple[int, ...]:
        """The sources whose marker has passed, in the order of their first one."""
        return tuple(self._used)

    def feed(self, piece: str) -> tuple[str, tuple[int, ...]]:
        """The text that is certain by now, and the sources it uses for the first time."""
        for character in piece:
            self._take(character)
        return self._drained()

    def finish(self) -> tuple[str, tuple[int, ...]]:
        """What was held back; the answer is over."""
        while self._held or self._label is not None:
            self._give_up() if self._held else self._give_up_label()
        if not self._has_hole:
            self._put(self._blanks)
        self._blanks = ""
        return self._drained()

    def _drained(self) -> tuple[str, tuple[int, ...]]:
        text, new = "".join(self._out), tuple(self._new)
        self._out.clear()
        self._new.clear()
        return text, new

    def _take(self, character: str) -> None:
        if self._is_in_target:
            self._is_in_target = character not in ") \t\n"
            if character in " \t\n":
                self._pass(character)
        elif self._label is not None:
            self._read_label(character)
        elif self._held:
            self._held += character
            self._read_held()
        else:
            self._begin(character)

    def _begin(self, character: str) -> None:
        may_mark = character in OPENERS or (character == "(" and self._is_behind_marker)
        if may_mark and not self._code.holds(character):
            self._held = character
        else:
            self._pass(character)

    def _read_held(self) -> None:
        if self._held[0] == "(":
            self._read_target()
        elif marker := marker_in(self._held):
            self._held = ""
            self._mark(marker.items)
        elif not may_become_marker(self._held):
            self._end_marker(labeled_marker_in(self._held))

    def _end_marker(self, marker: Marker | None) -> None:
        if marker is None:
            self._give_up()
            return
        self._held = ""
        self._mark(marker.items)
        self._label = ""  # from here on, characters are taken as part of it
        for character in marker.label:
            self._take(character)

    def _read_target(self) -> None:
        """`[1](https://…)`: an address that a model made up must not pass for a source's."""
        if is_target(self._held):
            self._held = ""
            self._is_in_target = True
        elif not may_become_target(self._held):
            self._give_up()

    def _read_label(self, character: str) -> None:
        label = self._label or ""
        if character in _ENDS_OF_LABEL:
            self._label = None
            self._mark(items_in_label(label))
        elif character in _BREAKS_OF_LABEL or len(label) == MOST_LABEL:
            self._give_up_label()
            self._take(character)
        else:
            self._label = label + character

    def _give_up_label(self) -> None:
        """A label that never ends is text after all."""
        label, self._label = self._label or "", None
        for character in label:
            self._take(character)

    def _give_up(self) -> None:
        """What was held is text after all; only its first character is certain, the rest may hold a marker."""
        text, self._held = self._held, ""
        self._pass(text[0])
        for character in text[1:]:
            self._take(character)

    def _mark(self, items: tuple[Item, ...]) -> None:
        self._is_behind_marker = True
        self.removed += sum(not self._is_known(item) for item in items)
        known = dict.fromkeys(
            number for item in items for number in sorted(self._sources) if item.first <= number <= item.last
        )
        for number in known:
            self._write(f"[{number}]")
        self._new += [number for number in known if number not in self._used]
        self._used.update(known)
        if items and not known:
            self._leave_hole()

    def _leave_hole(self) -> None:
        bracket = max(map(self._code.line.rfind, _OPENING_BRACKETS))
        if bracket >= 0 and may_become_marker(self._code.line[bracket:] + self._blanks):
            self._write(_PLUG)
        self._has_hole = True

    def _is_known(self, item: Item) -> bool:
        known = sum(item.first <= number <= item.last for number in self._sources)
        return known == item.last - item.first + 1

    def _pass(self, character: str) -> None:
        joins_markers = character in ",;" and self._is_behind_marker and not self._has_hole
        self._is_behind_marker = False
        if (character in _PLAIN_BLANKS or joins_markers) and not self._code.holds(character):
            self._hold_blank(character)
        else:
            self._write(character)

    def _hold_blank(self, blank: str) -> None:
        if self._has_hole and (self._blanks.endswith((" ", "\t")) or not self._code.line):
            return
        self._blanks += blank
        if len(self._blanks) > MOST_HELD:
            self._put(self._blanks[0])
            self._blanks = self._blanks[1:]

    def _write(self, text: str) -> None:
        if not (self._has_hole and text in _CLOSING_MARKS):
            self._put(self._blanks)
        self._put(text)
        self._blanks = ""
        self._has_hole = False

    def _put(self, text: str) -> None:
        self._out.append(text)
        for character in text:
            self._code.see(character)


class _Code:
    """Knows, from the text that has passed, whether the next character stands in code."""

    def __init__(self) -> None:
        self.line = ""  # so far
        self._fence = ""
        self._ticks = 0  # backticks in a row so far
        self._span = 0  # backticks that opened the code we are in

    def holds(self, character: str) -> bool:
        """Whether this character, which comes next and is no backtick, would stand in code."""
        return bool(self._fence) or self._span_before(character) > 0

    def see(self, character: str) -> None:
        """One more character has passed."""
        self._span = self._span_before(character)
        self._ticks = self._ticks + 1 if character == "`" else 0
        if character == "\n":
            self._end_line()
        else:
            self.line += character

    def _span_before(self, character: str) -> int:
        """A run of backticks that ends here opens a span, closes the one of its length, or is part of it."""
        if character == "`" or not self._ticks:
            return self._span
        if not self._span:
            return self._ticks
        return 0 if self._span == self._ticks else self._span

    def _end_line(self) -> None:
        line, self.line = self.line, ""
        self._span = 0
        if not self._fence:
            opening = _FENCE.match(line)
            self._fence = opening["fence"] if opening else ""
        elif (mark := line.strip(" \t\r>")).startswith(self._fence) and not mark.strip(self._fence[0]):
            self._fence = ""
