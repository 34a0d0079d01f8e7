"""Heading anchors, as Docusaurus and GitHub build them, so that a citation's link lands on its section."""

import re
import unicodedata

_DROPPED_FROM_ASCII = re.compile(r"[^a-z0-9_ -]")
_DROPPED_CATEGORIES = frozenset({"No", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "C", "Z"})
# Letters that Unicode files under symbols: circled and squared Latin capitals and small letters.
_LETTERS_AMONG_SYMBOLS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


def slug(title: str) -> str:
    """The anchor of a title that nothing else on the page shares."""
    lowered = title.strip().lower()
    if lowered.isascii():
        kept = _DROPPED_FROM_ASCII.sub("", lowered)
    else:
        kept = "".join(character for character in lowered if _is_kept(character))
    return kept.replace(" ", "-")


class Slugger:
    """Hands out the anchors of one page, top to bottom; no two generated ones are equal.

    An anchor that an author chose may equal a generated one: Docusaurus does not look, so neither may we.
    """

    def __init__(self) -> None:
        self._repeats: dict[str, int] = {}  # anchor -> how often its title came again

    def anchor(self, title: str) -> str:
        base = candidate = slug(title)
        while candidate in self._repeats:
            self._repeats[base] += 1
            candidate = f"{base}-{self._repeats[base]}"
        self._repeats[candidate] = 0
        return candidate


def _is_kept(character: str) -> bool:
    if character in " -":
        return True
    category = unicodedata.category(character)
    if category in _DROPPED_CATEGORIES or category[0] in _DROPPED_CATEGORIES:
        return any(low <= ord(character) <= high for low, high in _LETTERS_AMONG_SYMBOLS)
    return True
