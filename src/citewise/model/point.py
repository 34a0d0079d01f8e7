"""What an index is told, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from citewise.model.ids import ChunkId
from citewise.model.terms import Terms
from citewise.model.vector import Vector
from citewise.model.where import Label


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk as an index sees it."""

    id: ChunkId
    vector: Vector
    terms: Terms
    labels: frozenset[Label]
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that one ranking found, with that ranking's own score."""

    id: ChunkId
    score: float


def best_first(hits: list[Hit]) -> list[Hit]:
    """Highest score first, equal scores by id, so that the same query gives the same order."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))
