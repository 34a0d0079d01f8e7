"""How a citation can look in an answer, and how much of a text must be seen before that is certain.

Models write `[1]`, `[1, 2]`, `[1 to 3]`, `[[1]]`, `[**1**]`, `[^1]`, `[Source 2: its title]`, `【1†source】` and more;
all mean a number. What turns a marker into a link is here too: `[1](address)`, and a line `[1]: address`.
"""

import re
from dataclasses import dataclass
from functools import partial

OPENERS = "[\uff3b\u3010\\"  # a backslash too: `\[1\]` reads as `[1]` once it is rendered
MOST_HELD = 40  # characters of a marker; what is longer is a list of numbers, not a citation
MOST_LABEL = 200  # characters behind `[Source 2:`, of an address too; titles are long
MOST_CODE = 1000  # characters from a backtick to the one that closes it; a paragraph with a stray one waits for so many

# Runs are possessive: a list of numbers can be split into items and blanks in one way only, so no text is slow to read.
_ONE_BLANK = "[\\s\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"  # visible or not
_BLANK = f"{_ONE_BLANK}*+"
_OPEN = "\\\\*[\\[\uff3b\u3010]"
_CLOSE = "\\\\*[\\]\uff3d\u3011]"
_RANGE = "(?:[-\u2010-\u2015\u2212]|to|through)"
_WORD = "sources?"
_LEAD = "[#^*_]{0,4}+"
_DIGITS = r"\d{1,9}"
_NUMBER = rf"{_LEAD}(?:{_WORD}{_BLANK}:?{_BLANK}{_LEAD})?{_BLANK}%s[*_]{{0,3}}+"
_ITEM_OF = rf"{_NUMBER}(?:{_BLANK}{_RANGE}{_BLANK}{_NUMBER})?(?![\w*])"
_ITEM = _ITEM_OF % (_DIGITS, _DIGITS)
_COMMA = "[,;&\uff0c\u3001\uff1b]"
_SEPARATOR = f"{_BLANK}(?:{_COMMA}|and)?{_BLANK}"
_ITEMS = f"{_ITEM}(?:{_SEPARATOR}{_ITEM})*"

_compiled = partial(re.compile, flags=re.IGNORECASE)
_WHOLE = _compiled(rf"\\*\[\[{_BLANK}(?P<twice>{_ITEMS}){_BLANK}\]\]|{_OPEN}{_BLANK}(?P<once>{_ITEMS}){_BLANK}{_CLOSE}")
_LABELED = _compiled(rf"{_OPEN}{_BLANK}(?P<items>(?={_LEAD}{_WORD}){_ITEMS}|\d{{1,9}}(?=\u2020))")
_MORE = _compiled(rf"[,;]{_BLANK}(?P<items>(?={_WORD}){_ITEMS})")
_EACH = _compiled(_ITEM_OF % (f"({_DIGITS})", f"({_DIGITS})"))
_BEGINNINGS = "|".join(word[:end] for word in ("sources", "and", "through", "to") for end in range(len(word), 0, -1))
_BEGUN_ITEMS = (
    rf"{_BLANK}(?:(?:{_WORD}|[\d#^*_])(?:{_WORD}|and|[\d#^*_:]|{_COMMA}|{_RANGE}|{_ONE_BLANK})*)?(?:{_BEGINNINGS})?"
)
_BEGUN = _compiled(rf"\\+|{_OPEN}{_BEGUN_ITEMS}\\*|\\*\[\[{_BEGUN_ITEMS}\]?")

_AROUND_MARKER = re.compile(r"\[[^\[\]]*+(?:\[\d{1,9}\][^\[\]]*+)+\]\Z")
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")
_ADDRESS = _compiled(r"<?(?:[a-z][a-z\d+.-]+:|//|www\.)[^\s\[\]`]+")
_DEFINITION = re.compile(r":(?P<lead>[ \t]*+(?:\r?\n[ \t]*+)?)(?P<word>[^\s\[]*+)(?P<gap>[ \t]*+)(?P<after>[^ \t])")
_BEGUN_DEFINITION = re.compile(r":[ \t]*+(?:\r?(?:\n[ \t]*+)?)?(?:[^\s\[]++[ \t]*+)?")
_SPAN = re.compile(r"(?P<ticks>`++)[^`\n](?:[^\n]*[^`\n])?(?P=ticks)")


@dataclass(frozen=True, slots=True)
class Item:
    """One number or range of a marker, both ends included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Marker:
    """The sources that are meant, and what has been seen of the label behind their numbers."""

    items: tuple[Item, ...]
    label: str = ""


def marker_in(held: str) -> Marker | None:
    """The marker that this text is, from its first character to its last."""
    if match := _WHOLE.fullmatch(held):
        return Marker(_items(match["twice"] or match["once"]))
    return None


def labeled_marker_in(held: str) -> Marker | None:
    """The marker that this text begins with, if a title follows its numbers."""
    if match := _LABELED.match(held):
        return Marker(_items(match["items"]), held[match.end() :])
    return None


def items_in_label(label: str) -> tuple[Item, ...]:
    """The sources that a label goes on to name: `a title; Source 3: another`."""
    return tuple(item for match in _MORE.finditer(label) for item in _items(match["items"]))


def may_become_marker(held: str) -> bool:
    """Whether some continuation would make this a marker."""
    return len(held) < MOST_HELD and _BEGUN.fullmatch(held) is not None


def is_link_around_marker(before: str) -> bool:
    """Whether a parenthesis behind this would make a link of a text that holds a marker: `[see [1]](address)`."""
    return before.endswith("]") and _AROUND_MARKER.search(before) is not None


def is_target(held: str) -> bool:
    """Whether this is a link's address, from its parenthesis to the one that closes it."""
    return held.endswith(")") and held.count("(") == held.count(")")


def may_become_target(held: str) -> bool:
    """Whether some continuation would close the parenthesis that this begins with."""
    return len(held) < MOST_LABEL and _EMPTY_LINE.search(held) is None


def is_address(text: str) -> bool:
    """Whether this begins with what a reader would take for the address of a page."""
    return _ADDRESS.match(text) is not None


def is_code(held: str) -> bool:
    """Whether this is code from its first backtick to its last."""
    return held.endswith("`") and _SPAN.fullmatch(held) is not None


class Undefined:
    """Collects a text, without what would give a marker an address in all of it: a line `[1]: https://…`."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._held: list[tuple[str, bool]] = []

    def put(self, character: str, *, may_define: bool) -> None:
        """One more character; whether it stands behind a marker that begins a line."""
        if not self._held and not (may_define and character == ":"):
            self._parts.append(character)
            return
        self._held.append((character, may_define))
        held = self._held_text()
        if len(held) == MOST_LABEL or not _BEGUN_DEFINITION.fullmatch(held):
            self._release(_undefined(held))

    def drained(self) -> str:
        """What is certain by now."""
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def finished(self) -> str:
        """What is left when no more comes."""
        while self._held:
            self._release(_undefined(f"{self._held_text()}\n").removesuffix("\n"))
        return self.drained()

    def _held_text(self) -> str:
        return "".join(character for character, _ in self._held)

    def _release(self, text: str) -> None:
        """Lets the first character of what is left through; in the rest another line may begin with a marker."""
        held, self._held = self._held, []
        self._parts.append(text[:1])
        for character, may_define in held[len(held) - len(text) + 1 :]:
            self.put(character, may_define=may_define)


def _undefined(held: str) -> str:
    """A colon and what follows: without the colon if it defines something, and without an address behind it."""
    match = _DEFINITION.fullmatch(held)
    runs_on = match is not None and match["after"] == "[" and not match["gap"]
    if match and _ADDRESS.fullmatch(match["word"]) and not runs_on:
        return match["gap"] + match["after"]
    if not _defines(match, runs_on=runs_on) and len(held) < MOST_LABEL:
        return held
    return held[1:] if held[1].isspace() else f" {held[1:]}"


def _defines(match: re.Match[str] | None, *, runs_on: bool) -> bool:
    """A single word does, and one with a title behind it; where more words follow, it is a sentence."""
    if match is None or not match["word"]:
        return runs_on
    return runs_on or match["after"] in "\r\n\"'(" or is_address(match["word"])


def _items(text: str) -> tuple[Item, ...]:
    pairs = ((int(first), int(last or first)) for first, last in _EACH.findall(text))
    return tuple(Item(min(pair), max(pair)) for pair in pairs)
