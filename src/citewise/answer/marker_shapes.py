"""How a citation can look in an answer, and how much of a text must be seen before that is certain.

Models write `[1]`, `[1, 2]`, `[1-3]`, `[[1]]`, `[Source 2: its title]`, `【1†source】` and more; all mean a number.
"""

import re
from dataclasses import dataclass
from functools import partial

OPENERS = "[\uff3b\u3010\\"  # a backslash too: `\[1\]` reads as `[1]` once it is rendered
MOST_HELD = 40  # characters of a marker; what is longer is a list of numbers, not a citation
MOST_LABEL = 200  # characters behind `[Source 2:`; titles are long

_ONE_BLANK = "[ \\t\u00a0\u200b-\u200d\u2060\ufeff]"  # visible or not
_BLANK = f"{_ONE_BLANK}*"
_OPEN = "\\\\*[\\[\uff3b\u3010]"
_CLOSE = "\\\\*[\\]\uff3d\u3011]"
_DASH = "[-\u2010-\u2015\u2212]"
_WORD = "sources?"
_ITEM = rf"(?:{_WORD}{_BLANK})?#?{_BLANK}\d{{1,9}}(?:{_BLANK}{_DASH}{_BLANK}\d{{1,9}})?(?!\w)"
_COMMA = "[,;&\uff0c\u3001\uff1b]"
_SEPARATOR = f"{_BLANK}(?:{_COMMA}|and)?{_BLANK}"
_ITEMS = f"{_ITEM}(?:{_SEPARATOR}{_ITEM})*"

_compiled = partial(re.compile, flags=re.IGNORECASE)
_WHOLE = _compiled(rf"\\*\[\[{_BLANK}(?P<twice>{_ITEMS}){_BLANK}\]\]|{_OPEN}{_BLANK}(?P<once>{_ITEMS}){_BLANK}{_CLOSE}")
_LABELED = _compiled(rf"{_OPEN}{_BLANK}(?P<items>(?={_WORD}){_ITEMS}|\d{{1,9}}(?=\u2020))")
_MORE = _compiled(rf"[,;]{_BLANK}(?P<items>(?={_WORD}){_ITEMS})")
_NUMBERS = re.compile(rf"(\d{{1,9}})(?:{_BLANK}{_DASH}{_BLANK}(\d{{1,9}}))?")
_BEGINNINGS = "|".join(word[:end] for word in ("sources", "and") for end in range(len(word), 0, -1))
_BEGUN_ITEMS = rf"{_BLANK}(?:(?:{_WORD}|#|\d)(?:{_WORD}|and|[\d#]|{_COMMA}|{_DASH}|{_ONE_BLANK})*)?(?:{_BEGINNINGS})?"
_BEGUN = _compiled(rf"\\+|{_OPEN}{_BEGUN_ITEMS}\\*|\\*\[\[{_BEGUN_ITEMS}\]?")

_TARGETS = ("(http:", "(https:", "(www.", "(/", "(#", "(./", "(../", "(<")


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


def may_become_target(held: str) -> bool:
    """Whether some continuation would make this the address of a link."""
    return any(target.startswith(held.lower()) for target in _TARGETS)


def is_target(held: str) -> bool:
    """Whether this begins the address of a link."""
    return held.lower().startswith(_TARGETS)


def _items(text: str) -> tuple[Item, ...]:
    pairs = ((int(first), int(last or first)) for first, last in _NUMBERS.findall(text))
    return tuple(Item(min(pair), max(pair)) for pair in pairs)
