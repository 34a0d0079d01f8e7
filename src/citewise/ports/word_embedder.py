"""WordEmbedder: an embedder that sees a text word by word as well."""

from collections.abc import Sequence
from typing import Protocol

from citewise.model.vector import EmbeddedText, EmbeddingFailure, WordVectors


class WordEmbedder(Protocol):
    """Turns text into a vector of its meaning and vectors of its words, in one pass.

    Promises: one outcome per text, in order; the vector is the very one that the model's Embedder gives; a text that
    cannot be embedded is an EmbeddingFailure and spoils no other. `closeness` is how near, on average, each word of the
    question finds one in a text, beyond what one of its length has by chance: higher is nearer, and only texts for the
    same question can be compared; but for rounding it does not depend on a text's neighbors; what cannot be vectors of
    this model raises BadData.
    """

    def embedded(self, texts: Sequence[str]) -> tuple[EmbeddedText | EmbeddingFailure, ...]: ...
    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]: ...
