"""Token counters and embedders that are quick, deterministic and honest to their ports."""

import re
from collections.abc import Sequence
from hashlib import blake2b

from citewise.model.vector import EmbeddingFailure, EmbeddingModel, Vector
from tests.builders import DIMENSIONS, unit_vector

_WORD = re.compile(r"\w+|[^\w\s]")


class WordCounter:
    """A token is a word or a mark."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(_WORD.findall(text)) for text in texts]


class HashEmbedder:
    """Texts that share words have similar vectors; what was embedded is remembered."""

    def __init__(self, *, name: str = "hash-1", poison: str | None = None, window_tokens: int = 256) -> None:
        self._model = EmbeddingModel(name, DIMENSIONS, window_tokens)
        self._poison = poison
        self.embedded: list[str] = []

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        return tuple(self._outcome(text) for text in texts)

    def query(self, text: str) -> Vector:
        return _hashed(text)

    def _outcome(self, text: str) -> Vector | EmbeddingFailure:
        if self._poison and self._poison in text:
            return EmbeddingFailure("the model choked on it")
        self.embedded.append(text)
        return _hashed(text)


def _hashed(text: str) -> Vector:
    sums = [0.0] * DIMENSIONS
    for word in _WORD.findall(text.lower()) or ["nothing"]:
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=DIMENSIONS).digest()
        for at, byte in enumerate(digest):
            sums[at] += byte - 127.5
    return unit_vector(sums)
