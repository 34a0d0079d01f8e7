"""Token counters and embedders that are quick, deterministic and honest to their ports."""

import math
import re
import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise

from citewise.errors import BadData, Unavailable
from citewise.model.chunk import (
    EmbeddingModel,
    Vector,
    WordVectors,
)
from tests.builders import DIMENSIONS, unit_vector

_WORD = re.compile(r"\w+|[^\w\s]")
BYTES_PER_COMPONENT = 4


def dimensions_of(vector: Vector) -> int:
    return len(vector) // BYTES_PER_COMPONENT


class WordCounter:
    """A token is a word or a mark."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(_WORD.findall(text)) for text in texts]


class HashEmbedder:
    """Texts that share words have similar vectors; what was embedded is remembered."""

    def __init__(
        self, *, name: str = "hash-1", poison: str | None = None, window_tokens: int = 256, reads_cjk: bool = True
    ) -> None:
        self._model = EmbeddingModel(name, DIMENSIONS, window_tokens, reads_cjk)
        self._poison = poison
        self.embedded: list[str] = []

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        return tuple(self._outcome(text) for text in texts)

    def query(self, text: str) -> Vector:
        return _hashed(text)

    def _outcome(self, text: str) -> Vector | Unavailable:
        if self._poison and self._poison in text:
            return Unavailable("the model choked on it")
        self.embedded.append(text)
        return _hashed(text)


class HashWords:
    """The same embedder word by word: each word's own vector, as it is, and a little off for each time it doubles."""

    def __init__(self, embedder: HashEmbedder) -> None:
        self._embedder = embedder

    def embedded(self, texts: Sequence[str]) -> tuple[tuple[Vector, WordVectors] | Unavailable, ...]:
        made = self._embedder.documents(texts)
        return tuple(
            one if isinstance(one, Unavailable) else (one, WordVectors(b"".join(_by_word(text))))
            for text, one in zip(texts, made, strict=True)
        )

    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]:
        asked = [struct.unpack(_ROW, word) for word in _by_word(question)]
        return tuple(_closeness(asked, _rows(text)) for text in texts)

    def part_closeness(
        self, question: str, texts: Sequence[tuple[WordVectors, Sequence[str]]]
    ) -> tuple[tuple[float, ...], ...]:
        asked = [struct.unpack(_ROW, word) for word in _by_word(question)]
        return tuple(tuple(_of_parts(asked, _rows(text), parts)) for text, parts in texts)


_ROW = f"<{DIMENSIONS}f"
BY_CHANCE = 0.01  # what a text loses by being twice as long
Row = tuple[float, ...]


def _rows(text: WordVectors) -> list[Row]:
    if not text or len(text) % (DIMENSIONS * BYTES_PER_COMPONENT):
        raise BadData("these are no vectors of hashed words")
    return list(struct.iter_unpack(_ROW, text))


def _closeness(asked: Sequence[Row], rows: Sequence[Row]) -> float:
    nearest = [max(sum(a * b for a, b in zip(word, row, strict=True)) for row in rows) for word in asked]
    return sum(nearest) / len(nearest) - BY_CHANCE * math.log2(len(rows))


def _of_parts(asked: Sequence[Row], rows: list[Row], parts: Sequence[str]) -> Iterator[float]:
    ends = list(accumulate(len(_WORD.findall(part)) for part in parts))
    headings = rows[: ends[0]]
    for start, end in pairwise(ends):
        yield _closeness(asked, (headings + rows[start:end]) or rows)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower()) or ["nothing"]


def _by_word(text: str) -> list[Vector]:
    return [_hashed(word) for word in _words(text)]


def _hashed(text: str) -> Vector:
    sums = [0.0] * DIMENSIONS
    for word in _words(text):
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=DIMENSIONS).digest()
        for at, byte in enumerate(digest):
            sums[at] += byte - 127.5
    return unit_vector(sums)
