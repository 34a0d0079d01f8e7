"""Where wanted words stand in some texts: one look over the bytes of all of them, and strings of only the few meant.

A search looks through twenty passages for a handful of words. Their words as strings would cost more than the rest of
the search; as bytes they are counted and told apart by their beginnings in a few steps of numpy.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, count

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

BYTES = 8  # of a word that are read as one number, its first byte the lowest
SPREAD = 64  # cells of the table for each stop word; fewer: longer to find one without collisions; more: memory

_APOSTROPHE = ord("'")  # below every letter and digit, above the blank
# Each byte as it stands in words: ASCII letters in lower case, blanks for marks.
_AS_WRITTEN = bytes(
    code if code >= 128 or code == _APOSTROPHE else ord(chr(code).lower()) if chr(code).isalnum() else ord(" ")
    for code in range(256)
)
_FIRST: Numbers = np.array([(1 << 8 * length) - 1 for length in range(BYTES + 1)], dtype=np.uint64)  # by length


class StopWords:
    """Words that do not count, told by their numbers: one look into a table in which each has a cell of its own."""

    def __init__(self, words: Collection[str]) -> None:
        if any(len(word.encode()) >= BYTES for word in words):
            raise ValueError(f"a stop word has to be shorter than {BYTES} bytes, or longer words would be taken for it")
        numbers = np.array(sorted(map(_number, words)), dtype=np.uint64)
        self._cells = next(np.uint64(size) for size in count(SPREAD * len(words)) if _is_apart(numbers % size))
        self._table = np.zeros(int(self._cells), dtype=np.uint64)
        self._table[numbers % self._cells] = numbers

    def among(self, numbers: Numbers) -> Bools:
        found: Bools = self._table[numbers % self._cells] == numbers
        return found


class Words:
    """The words of some texts, in lower case. What is not ASCII in them is lower already, and part of a word."""

    def __init__(self, texts: Sequence[str], stop_words: StopWords) -> None:
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        # A blank between two texts and around all, and enough behind the last word to read it as a number.
        self._written = b" ".join((b"", *parts, b" " * BYTES)).translate(_AS_WRITTEN)
        self._starts, self._ends = _bounds(np.frombuffer(self._written, dtype=np.uint8))
        eights = np.ndarray(len(self._written) - BYTES + 1, dtype="<u8", buffer=self._written, strides=(1,))
        self._numbers: Numbers = eights[self._starts] & _FIRST[np.minimum(self._ends - self._starts, BYTES)]
        self._is_counted = ~stop_words.among(self._numbers)
        self._counted = np.zeros(len(self._starts) + 1, dtype=np.intp)  # before each word, and in all
        np.cumsum(self._is_counted, out=self._counted[1:])
        begins = list(accumulate((len(part) + 1 for part in parts), initial=1))
        self._firsts = np.searchsorted(self._starts, begins)  # word a text

    def count(self, text: int) -> int:
        """How many words of this text count."""
        return int(self._counted[self._firsts[text + 1]] - self._counted[self._firsts[text]])

    def that_begin(self, beginnings: Collection[str]) -> Iterator[tuple[int, int, bytes]]:
        """Words that count and begin so, by eight bytes: the text's number, how many count before it there, itself."""
        found = np.flatnonzero(self._is_counted & self._begin({one.encode()[:BYTES] for one in beginnings}))
        texts = np.searchsorted(self._firsts, found, side="right") - 1
        places = self._counted[found] - self._counted[self._firsts[texts]]
        bounds = zip(self._starts[found].tolist(), self._ends[found].tolist(), strict=True)
        words = [self._written[start:end] for start, end in bounds]
        return zip(texts.tolist(), places.tolist(), words, strict=True)

    def _begin(self, heads: Collection[bytes]) -> Bools:
        found = np.zeros(len(self._numbers), dtype=bool)
        for head in heads:
            found |= self._numbers & _FIRST[len(head)] == int.from_bytes(head, "little")
        return found


def _bounds(written: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where words begin and end: runs of letters and digits, with apostrophes between them."""
    is_letter = written > _APOSTROPHE
    is_letter[1:-1] |= (written[1:-1] == _APOSTROPHE) & is_letter[:-2] & is_letter[2:]
    turns = np.flatnonzero(is_letter[1:] != is_letter[:-1]) + 1
    return turns[0::2], turns[1::2]


def _number(word: str) -> int:
    return int.from_bytes(word.encode()[:BYTES], "little")


def _is_apart(cells: Numbers) -> bool:
    return len(np.unique(cells)) == len(cells)
