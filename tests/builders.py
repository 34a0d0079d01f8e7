"""Values for tests, with everything that does not matter filled in."""

import math
import random
import struct
from collections.abc import Iterable, Mapping

from citewise.model.ids import ChunkId, digest
from citewise.model.point import Point
from citewise.model.scope import Scope
from citewise.model.terms import Terms
from citewise.model.vector import Vector
from citewise.model.where import Label, label

SCOPE = Scope("acme", "handbook")
DIMENSIONS = 32


def an_id(name: object) -> ChunkId:
    return ChunkId(digest(str(name))[:16])


def a_vector(seed: object, dimensions: int = DIMENSIONS) -> Vector:
    """A unit vector that depends on the seed alone."""
    draw = random.Random(str(seed))
    return unit_vector(draw.gauss(0, 1) for _ in range(dimensions))


def unit_vector(components: Iterable[float]) -> Vector:
    values = list(components)
    length = math.sqrt(math.fsum(value * value for value in values)) or 1.0
    return Vector(struct.pack(f"<{len(values)}f", *(value / length for value in values)))


def a_point(
    name: object,
    *,
    vector: Vector | None = None,
    words: str = "",
    code: str = "",
    labels: Iterable[str] = (),
    readers: Iterable[str] = ("public",),
    numbers: Mapping[str, float] | None = None,
) -> Point:
    return Point(
        id=an_id(name),
        vector=vector or a_vector(name),
        terms=Terms(tuple(words.split()), tuple(code.split())),
        labels=frozenset({*(Label(item) for item in labels), *(label("access", reader) for reader in readers)}),
        numbers=numbers or {},
    )
