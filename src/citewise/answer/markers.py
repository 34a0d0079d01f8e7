"""Markers checked as they stream: what is left of an answer's `[n]` is always a source, and never a link.

The filter walks character by character, so how a text is cut into pieces cannot matter. It holds back what may still
become a marker, and the blanks in front of it. Code is left alone: blocks of it, and what stands between backticks in
one line and not further apart than MAX_CODE. Any other backtick is text: it must not switch the check off.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator

from citewise.text.markdown import LIST_MARK, Line

MAX_BUFFERED = 40  # characters of a marker; what is longer is a list of numbers, not a citation
MAX_LABEL = 200  # characters behind `[Source 2:`, of an address too; titles are long, and so are made-up numbers
MAX_CODE = 1000  # characters from a backtick to the one that closes it; a paragraph with a stray one waits for so many

# Runs are possessive: a list of numbers can be split into items and blanks in one way only, so no text is slow to read.
_ONE_BLANK = "[\\s\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"  # visible or not
_BLANK = f"{_ONE_BLANK}*+"
BRACKETS = "[\uff3b\u3010"  # that open a marker
_OPENING, _CLOSING = BRACKETS, "]\uff3d\u3011"
_OPEN = rf"\\*[{re.escape(_OPENING)}]"  # `\[1\]` reads as `[1]` once it is rendered
_CLOSE = rf"\\*[{re.escape(_CLOSING)}]"
_DASH = "[-\u2010-\u2015\u2212]"
_RANGE = f"(?:{_DASH}|to|through)"
_WORD = "sources?"
_LEAD = "[#^*_]{0,4}+"
_NUMBER = rf"{_LEAD}(?:{_WORD}{_BLANK}:?{_BLANK}{_LEAD})?{_BLANK}({_DASH}?\d{{1,{MAX_LABEL}}}+)[*_]{{0,3}}+"
_ITEM = rf"{_NUMBER}(?:{_BLANK}{_RANGE}{_BLANK}{_NUMBER})?(?![\w*])"
_COMMA = "[,;&\uff0c\u3001\uff1b]"
_ITEMS = f"{_ITEM}(?:{_BLANK}(?:{_COMMA}|and)?{_BLANK}{_ITEM})*"

_WHOLE = re.compile(
    rf"(?i)\\*\[\[{_BLANK}(?P<twice>{_ITEMS}){_BLANK}\]\]|{_OPEN}{_BLANK}(?P<once>{_ITEMS}){_BLANK}{_CLOSE}"
)
_LABELED = re.compile(rf"(?i){_OPEN}{_BLANK}(?P<items>(?={_LEAD}{_WORD}){_ITEMS}|{_DASH}?\d++(?=\u2020))")
_MORE = re.compile(rf"(?i)[,;]{_BLANK}(?P<items>(?={_WORD}){_ITEMS})")
_EACH = re.compile(f"(?i){_ITEM}")
_BEGINNINGS = "|".join(word[:end] for word in ("sources", "and", "through", "to") for end in range(len(word), 0, -1))
_MORE_ITEMS = rf"(?:{_WORD}|and|[\d#^*_:]|{_COMMA}|{_RANGE}|{_ONE_BLANK})*"
_BEGUN_ITEMS = rf"{_BLANK}(?:(?:{_WORD}|{_DASH}|[\d#^*_]){_MORE_ITEMS})?(?:{_BEGINNINGS})?"
_BEGUN = re.compile(rf"(?i)\\+|{_OPEN}{_BEGUN_ITEMS}\\*|\\*\[\[{_BEGUN_ITEMS}\]?")

_LONG_NUMBER = re.compile(r"\d{10,}+")  # no source has one: it counts as a single digit of a marker
_AROUND_MARKER = re.compile(r"\[[^\[\]]*+(?:\[\d{1,9}\][^\[\]]*+)+\]\Z")
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")
_ADDRESS = re.compile(r"(?i)<?(?:[a-z][a-z\d+.-]+:|//|www\.)[^\s\[\]`]+")
_DEFINITION = re.compile(r":[ \t]*+(?:\r?\n[ \t]*+)?(?P<word>[^\s\[]*+)(?P<gap>[ \t]*+)(?P<after>[^ \t])")
_BEGUN_DEFINITION = re.compile(r":[ \t]*+(?:\r?(?:\n[ \t]*+)?)?(?:[^\s\[]++[ \t]*+)?")
_SPAN = re.compile(r"(?P<ticks>`++)[^`\n](?:[^\n]*[^`\n])?(?P=ticks)")
_DOUBLE = re.compile(r"\[\[\d{1,9}\]\Z")
_LABEL = re.compile(f"[^\\n{re.escape(_OPENING + _CLOSING)}]{{0,{MAX_LABEL}}}+")
_START = re.compile(rf"[ \t]*(?:(?:{LIST_MARK}|>)[ \t]*)*")  # of a line, before its first word
_DEFINED = re.compile(rf"{_START.pattern}\[\d{{1,9}}\]")
_CLOSING_MARKS = ".,;:!?)]}\u2026\u3002\uff0c\n\r"  # no blank stands before these
_JOINABLE = ("`", "\\")


def _may_become_marker(buffered: str) -> bool:
    length = len(buffered)
    if MAX_BUFFERED <= length < MAX_LABEL:
        length = len(_LONG_NUMBER.sub("9", buffered))
    return length < MAX_BUFFERED and _BEGUN.fullmatch(buffered) is not None


def _number(written: str) -> int:
    return int(written) if written[0].isdigit() else -int(written[1:])


def _is_code(buffered: str) -> bool:
    """Whether this is code from its first backtick to its last."""
    return buffered.endswith("`") and _SPAN.fullmatch(buffered) is not None


class _LinkDefinitionFilter:
    """Collects a text, without what would give a marker an address in all of it: a line `[1]: https://…`."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._buffer: list[tuple[str, bool]] = []

    def put(self, character: str, *, may_define: bool) -> None:
        """One more character; whether it stands behind a marker that begins a line."""
        if not self._buffer and not (may_define and character == ":"):
            self._parts.append(character)
            return
        self._buffer.append((character, may_define))
        buffered = self._buffered_text()
        if len(buffered) == MAX_LABEL or not _BEGUN_DEFINITION.fullmatch(buffered):
            self._release(_without_definition(buffered))

    @property
    def holds(self) -> bool:
        """Whether something is held back, of which every character counts."""
        return bool(self._buffer)

    def drained(self, *, is_over: bool = False) -> str:
        while is_over and self._buffer:
            self._release(_without_definition(f"{self._buffered_text()}\n").removesuffix("\n"))
        parts, self._parts = self._parts, []
        return "".join(parts)

    def _buffered_text(self) -> str:
        return "".join(character for character, _ in self._buffer)

    def _release(self, text: str) -> None:
        """Lets the first character of what is left through; in the rest another line may begin with a marker."""
        buffered, self._buffer = self._buffer, []
        self._parts.append(text[:1])
        for character, may_define in buffered[len(buffered) - len(text) + 1 :]:
            self.put(character, may_define=may_define)


def _without_definition(buffered: str) -> str:
    """A colon and what follows: without the colon if it defines something, and without an address behind it."""
    match = _DEFINITION.fullmatch(buffered)
    word, gap, after = match.group("word", "gap", "after") if match else ("", "", "")
    runs_on = after == "[" and not gap
    if _ADDRESS.fullmatch(word) and not runs_on:
        return gap + after
    # A single word defines, and one with a title behind it; where more words follow, it is a sentence.
    defines = runs_on or (word and (after in "\r\n\"'(" or _ADDRESS.match(word)))
    if not defines and len(buffered) < MAX_LABEL:
        return buffered
    return buffered[1:] if buffered[1].isspace() else f" {buffered[1:]}"


class MarkerFilter:
    """Lets an answer through, without markers that point at no source.

    The others become `[n]`, numbered 1, 2, 3 in the order of first use, whatever numbers the sources have.
    """

    def __init__(self, sources: Iterable[int]) -> None:
        self.removed = 0
        self._sources = sorted(sources)
        self._used: dict[int, int] = {}  # source -> the number that the text shows
        self._ahead: deque[str] = deque()  # characters that are still to be read
        self._buffer = ""  # may become a marker, the address behind one, or code
        self._blanks = ""  # and commas between markers: one that is removed takes along what stands before it
        self._is_behind_removed = False  # a marker has just been removed behind these blanks
        self._is_behind_marker = False
        self._is_in_target = False
        self._tail = ""  # of what has passed
        self._blocks = _Blocks()
        self._out = _LinkDefinitionFilter()

    @property
    def used(self) -> tuple[int, ...]:
        """The sources whose marker has passed, in the order of their first one."""
        return tuple(self._used)

    def filtered(self, pieces: Iterable[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The text piece by piece, each with the sources that it uses for the first time."""
        reported = 0  # of the sources used so far
        for piece in pieces:
            self._ahead.extend(piece)
            self._read_ahead()
            yield self._out.drained(), self.used[reported:]
            reported = len(self._used)
        while self._buffer:
            self._release_buffer() if _may_become_marker(self._buffer) else self._read_label(is_over=True)
            self._read_ahead()
        if not self._is_behind_removed:
            self._put(self._blanks)
        yield self._out.drained(is_over=True), self.used[reported:]

    def _read_ahead(self) -> None:
        while self._ahead:
            character = self._ahead.popleft()
            if self._is_in_target:
                self._is_in_target = character not in ") \t\n"
                if character in " \t\n":
                    self._pass(character)
            elif self._buffer:
                self._buffer += character
                self._read_buffer()
            elif character.isalnum():
                self._pass(self._rest_of_word(character))
            elif self._may_open(character) and not self._blocks.is_code_at_end_of(self._blanks + character):
                self._buffer = character
            else:
                self._pass(character)

    def _rest_of_word(self, beginning: str) -> str:
        """A word at once, since most of a text is words."""
        word = [beginning]
        while self._ahead and self._ahead[0].isalnum():
            word.append(self._ahead.popleft())
        return "".join(word)

    def _read_again(self, text: str) -> None:
        self._ahead.extendleft(reversed(text))

    def _may_open(self, character: str) -> bool:
        if character == "(":
            # behind `[see [1]]` a parenthesis would make a link of a text that holds a marker
            is_around_marker = self._tail.endswith("]") and _AROUND_MARKER.search(self._tail) is not None
            return self._is_behind_marker or (not self._blanks and is_around_marker)
        if character != "`":
            return character in _OPENING + "\\"
        is_escaped = (len(self._tail) - len(self._tail.rstrip("\\"))) % 2 == 1
        return not is_escaped or bool(self._blanks) or self._is_behind_removed

    def _read_buffer(self) -> None:
        held = self._buffer
        if held[0] == "`":
            self._read_code()
        elif held[-1] == "\n" and Line(self._blocks.line).fence:
            self._release_buffer()  # code begins with the next line
        elif held[0] == "(":  # `[1](https://…)`: an address that a model made up must not pass for a source's
            if held.endswith(")") and held.count("(") == held.count(")"):
                self._drop_buffer()
            elif len(held) >= MAX_LABEL or _EMPTY_LINE.search(held):
                self._release_buffer()
        elif whole := _WHOLE.fullmatch(held):
            self._drop_buffer()
            self._mark(whole["twice"] or whole["once"])
        elif not _may_become_marker(held):
            self._read_label()

    def _drop_buffer(self) -> None:
        """Drops what is held; its end of line stays if a backtick before it would else reach into the next line."""
        if "\n" in self._buffer and "`" in self._blocks.line:
            self._pass("\n")
        self._buffer = ""

    def _read_label(self, *, is_over: bool = False) -> None:
        """A title may follow a marker's numbers, and more numbers in it: `[Source 2: Tides, Source 3]`."""
        marker = _LABELED.match(self._buffer)
        label = marker and _LABEL.match(self._buffer, marker.end())
        if not marker or not label:
            self._release_buffer()
        elif is_over or label.end() < len(self._buffer):
            text = self._buffer
            is_closed = text[label.end() :].startswith(tuple(_CLOSING))
            more = [more["items"] for more in _MORE.finditer(label.group())] if is_closed else []
            self._buffer = marker.group()
            self._drop_buffer()
            self._mark(", ".join((marker["items"], *more)))
            self._read_again(text[label.end() + 1 if is_closed else marker.end() :])  # one that never ends is text

    def _read_code(self) -> None:
        behind = self._buffer[-1]
        if behind != "`" and _is_code(self._buffer[:-1]):
            self._buffer = self._buffer[:-1]
            self._release_buffer()
            self._read_again(behind)
        elif behind == "\n" or len(self._buffer) == MAX_CODE:
            self._release_buffer()

    def _release_buffer(self) -> None:
        """What was held is text after all; only its beginning is certain, the rest may hold a marker."""
        text, self._buffer = self._buffer, ""
        if text[0] == "(":  # without it, what follows is no link
            self._is_in_target = _ADDRESS.match(text, 1) is not None
            self._read_again(text[1:])
            return
        rest = text.lstrip("`") if text[0] == "`" else text[1:]
        certain = text if _is_code(text) else text.removesuffix(rest)
        self._pass(certain)
        self._read_again(text[len(certain) :])

    def _mark(self, items: str) -> None:
        """Numbers and ranges of them, each with both of its ends."""
        self._is_behind_marker = True
        known: dict[int, None] = {}
        for numbers in _EACH.findall(items):
            first, last = sorted(_number(number) for number in (numbers[0], numbers[1] or numbers[0]))
            meant = [number for number in self._sources if first <= number <= last]
            self.removed += len(meant) <= last - first
            known.update(dict.fromkeys(meant))
        for number in known:
            self._write(f"[{self._used.setdefault(number, len(self._used) + 1)}]")
        if not known:
            bracket = max(map(self._tail.rfind, _OPENING))
            if bracket >= 0 and _may_become_marker(self._tail[bracket:] + self._blanks):
                self._write("?")  # for the 8 in `[9[8]9]`: what stands around it must not close up to another marker
            self._is_behind_removed = True

    def _pass(self, text: str) -> None:
        if text == ":" and self._is_behind_removed and _START.fullmatch(self._blocks.line):
            return  # the marker that it explained is gone
        joins_markers = text in ",;" and self._is_behind_marker and not self._is_behind_removed
        self._is_behind_marker = False
        is_blank = text in " \t" or joins_markers
        if not is_blank or self._blocks.is_code_at_end_of(self._blanks + text):
            self._write(text)
            return
        if self._is_behind_removed and (self._blanks.endswith((" ", "\t")) or not self._blocks.line):
            return
        self._blanks += text
        if len(self._blanks) > MAX_BUFFERED:
            self._put(self._blanks[0])
            self._blanks = self._blanks[1:]

    def _write(self, text: str) -> None:
        blanks = "" if self._is_behind_removed and text in _CLOSING_MARKS else self._blanks
        # What was apart must not become one: two runs of backticks, or `[[1]]` from three brackets a side.
        closes_up = self._is_behind_removed and text.startswith(_JOINABLE) and self._tail.endswith(_JOINABLE)
        if text == "]":
            closes_up = _DOUBLE.search(self._tail) is not None and not self._blocks.is_code_at_end_of(text)
        self._put(blanks or " " * closes_up)
        self._put(text)
        self._blanks = ""
        self._is_behind_removed = False

    def _put(self, text: str) -> None:
        self._tail = (self._tail + text)[-MAX_LABEL:]
        for character in [text] if text.isalnum() and not self._out.holds else text:
            self._out.put(character, may_define=self._blocks.begin_with_marker())
            self._blocks.add(character)


class _Blocks:
    """Knows, from the text that has passed, whether what comes next stands in a block of code."""

    def __init__(self) -> None:
        self.line = ""  # so far
        self._fence = ""
        self._may_indent = True  # the last line was empty or such code itself, and in no list
        self._is_after_empty = True
        self._is_in_list = False  # where an indented line is an item's next paragraph

    def is_code_at_end_of(self, following: str) -> bool:
        """Whether the last character of what comes next would stand in code."""
        return bool(self._fence) or (self._may_indent and Line(self.line[:MAX_BUFFERED] + following).is_indented)

    def begin_with_marker(self) -> bool:
        """Whether the line so far is a marker."""
        return self.line.endswith("]") and _DEFINED.fullmatch(self.line) is not None and not self.is_code_at_end_of("")

    def add(self, character: str) -> None:
        if character != "\n":
            self.line += character
            return
        line, self.line = Line(self.line), ""
        if self._fence:
            self._fence = "" if line.closes(self._fence) else self._fence
            return
        is_empty = not line.strip()
        is_indented = self._may_indent and Line(line[:MAX_BUFFERED]).is_indented
        self._fence = line.fence
        if line.begins_item:
            self._is_in_list = True
        elif self._is_after_empty and not is_empty and not line[0].isspace():
            self._is_in_list = False
        self._is_after_empty = is_empty
        self._may_indent = (is_empty or is_indented) and not self._is_in_list and not self._fence
