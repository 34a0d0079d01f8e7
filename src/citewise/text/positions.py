"""Where some terms stand in many texts. Apart from `analysis`, since this alone needs numpy: it is five times as fast
as to make all terms of forty passages, and looks only at words that begin as a wanted term does."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from citewise.text.analysis import STOP_WORDS, character_pairs, plain_words, stemmer

# Where terms stand in a text, in order, counted among its words that are no stop words.
Places: TypeAlias = Mapping[str, Sequence[int]]

_Numbers = npt.NDArray[np.uint64]

_BYTES = 8  # of a word that are read as one number, its first byte the lowest; stop words are shorter
_CELLS = 64  # of the table for each stop word; fewer: longer to find a size without collisions; more: memory
_CACHED_STEMS = 100_000

_APOSTROPHE = ord("'")  # below every letter and digit, above the blank
# Each byte as it stands in words: blanks for marks.
_AS_WRITTEN = bytes(
    code if code >= 128 or code == _APOSTROPHE or chr(code).isalnum() else ord(" ") for code in range(256)
)
_FIRST: _Numbers = np.array([(1 << 8 * length) - 1 for length in range(_BYTES + 1)], dtype=np.uint64)  # by length


def term_positions(texts: Sequence[str], wanted: Collection[str]) -> Sequence[Places]:
    """For each text, where those of its terms stand that are wanted, counted among its words without stop words."""
    words = _Words([plain_words(text) for text in texts])
    found: list[dict[str, list[int]]] = [{} for _ in texts]
    for number, at, word in words.that_begin({start for term in wanted for start in _beginnings(term)}):
        stem = _stem(word)
        if stem in wanted:
            found[number].setdefault(stem, []).append(at)
    if not all(map(str.isascii, wanted)):
        for number, text in enumerate(texts):  # pairs of characters stand behind all words
            for at, pair in enumerate(character_pairs(text), words.count(number)):
                if pair in wanted:
                    found[number].setdefault(pair, []).append(at)
    return found


class _Words:
    """The words of some texts, in lower case. What is not ASCII in them is lower already, and part of a word."""

    def __init__(self, texts: Sequence[str]) -> None:
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        # A blank between two texts and around all, and enough behind the last word to read it as a number.
        self._written = b" ".join((b"", *parts, b" " * _BYTES)).translate(_AS_WRITTEN)
        written = np.frombuffer(self._written, dtype=np.uint8)
        is_letter = written > _APOSTROPHE  # or a digit; an apostrophe stands in a word if it is between two
        is_letter[1:-1] |= (written[1:-1] == _APOSTROPHE) & is_letter[:-2] & is_letter[2:]
        turns = np.flatnonzero(is_letter[1:] != is_letter[:-1]) + 1
        self._starts, self._ends = turns[0::2], turns[1::2]
        eights = np.ndarray(len(self._written) - _BYTES + 1, dtype="<u8", buffer=self._written, strides=(1,))
        self._numbers: _Numbers = eights[self._starts] & _FIRST[np.minimum(self._ends - self._starts, _BYTES)]
        stop_words = _stop_word_table()
        self._is_counted = stop_words[self._numbers % np.uint64(len(stop_words))] != self._numbers
        self._counted = np.zeros(len(self._starts) + 1, dtype=np.intp)  # before each word, and in all
        np.cumsum(self._is_counted, out=self._counted[1:])
        begins = list(accumulate((len(part) + 1 for part in parts), initial=1))
        self._firsts = np.searchsorted(self._starts, begins)  # word a text

    def count(self, text: int) -> int:
        """How many words of this text are no stop words."""
        return int(self._counted[self._firsts[text + 1]] - self._counted[self._firsts[text]])

    def that_begin(self, beginnings: Collection[str]) -> Iterator[tuple[int, int, bytes]]:
        """Words that begin so, by eight bytes: the text's number, how many words count before it there, itself."""
        begins = np.zeros(len(self._numbers), dtype=bool)
        for head in {start.encode()[:_BYTES] for start in beginnings}:
            begins |= self._numbers & _FIRST[len(head)] == int.from_bytes(head, "little")
        found = np.flatnonzero(self._is_counted & begins)
        texts = np.searchsorted(self._firsts, found, side="right") - 1
        places = self._counted[found] - self._counted[self._firsts[texts]]
        bounds = zip(self._starts[found].tolist(), self._ends[found].tolist(), strict=True)
        words = [self._written[start:end] for start, end in bounds]
        return zip(texts.tolist(), places.tolist(), words, strict=True)


@lru_cache(maxsize=1)
def _stop_word_table() -> _Numbers:
    """The stop words as numbers, each in a cell of its own: its number modulo the table's size."""
    numbers = [int.from_bytes(word.encode(), "little") for word in STOP_WORDS]
    size = next(
        size for size in count(_CELLS * len(numbers)) if len({number % size for number in numbers}) == len(numbers)
    )
    table = np.zeros(size, dtype=np.uint64)
    for number in numbers:
        table[number % size] = number
    return table


@lru_cache(maxsize=_CACHED_STEMS)
def _stem(word: bytes) -> str:
    stem: str = stemmer().stemWord(word.decode())
    return stem


def _beginnings(stem: str) -> tuple[str, ...]:
    """How every word with this stem begins: it has all letters but the last, except for words like dying (die)."""
    plain = stem[: max(2, len(stem) - 1)]
    return (plain, f"{stem[0]}y") if len(stem) == 3 and stem.endswith("ie") else (plain,)
