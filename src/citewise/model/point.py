"""What an index is told, and what it answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from citewise.model.ids import ChunkId
from citewise.model.terms import Terms
from citewise.model.vector import Vector
from citewise.model.where import Label

_score = attrgetter("score")


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk as an index sees it."""

    id: ChunkId
    vector: Vector
    terms: Terms
    labels: frozenset[Label]
    numbers: Mapping[str, float]


class Hit(NamedTuple):  # nearly two hundred are made for a question: a tuple costs a quarter of a dataclass
    """A chunk that one ranking found, with that ranking's own score."""

    id: ChunkId
    score: float


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Highest score first, equal scores by id, so that the same query gives the same order."""
    ordered = sorted(hits, key=_score, reverse=True)
    if len({hit.score for hit in ordered}) < len(ordered):
        ordered.sort(key=lambda hit: (-hit.score, hit.id))
    return ordered
