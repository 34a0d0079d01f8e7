"""Vectors as plain bytes: float32, little endian, unit length. Frozen, hashable, and ready for a database."""

from dataclasses import dataclass
from typing import NewType

Vector = NewType("Vector", bytes)

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
class EmbeddingFailure:
    """Why one text has no vector."""

    reason: str
