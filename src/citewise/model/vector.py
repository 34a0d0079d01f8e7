"""Vectors as plain bytes: float32, little endian, unit length. Frozen, hashable, and ready for a database."""

from dataclasses import dataclass
from typing import NewType

Vector = NewType("Vector", bytes)

# A text's words as vectors, two neighbors in one, in as few bits as they can be told apart by. Only the model that made
# them can read them.
WordVectors = NewType("WordVectors", bytes)

BYTES_PER_COMPONENT = 4


def dimensions_of(vector: Vector) -> int:
    """How many components a vector has."""
    return len(vector) // BYTES_PER_COMPONENT


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """What a vector was made by: two models of equal name give equal vectors for equal texts."""

    name: str
    dimensions: int
    window_tokens: int  # tokens it sees at once, special ones included


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """All that one pass through a model gives: the text as a whole, and word by word."""

    vector: Vector
    words: WordVectors


@dataclass(frozen=True, slots=True)
class EmbeddingFailure:
    """Why one text has no vector."""

    reason: str
