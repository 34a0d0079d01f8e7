"""What an index is told, and what it answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple

from citewise.model.ids import ChunkId
from citewise.model.terms import Terms
from citewise.model.vector import Vector
from citewise.model.where import Label

_id, _score = itemgetter(0), itemgetter(1)


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


def hits_of(ids: Iterable[ChunkId], scores: Iterable[float]) -> Iterable[Hit]:
    """A hit for each id and its score, without a call into Python for each."""
    return map(tuple.__new__, repeat(Hit), zip(ids, scores, strict=True))


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Highest score first, equal scores by id, so that the same query gives the same order."""
    ordered = sorted(hits, key=_score, reverse=True)  # mostly they come so, and no two of them are equal
    if len({score for _, score in ordered}) == len(ordered):
        return ordered
    return sorted(sorted(ordered, key=_id), key=_score, reverse=True)  # the second sort keeps the order of equal ones
