"""Indexes that are nothing but the definition: what every engine is compared with."""

import math
import struct
from collections import Counter
from collections.abc import Sequence

from citewise.model.access import Scope
from citewise.model.chunk import Hit, Point, TermField, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import ProjectionState
from citewise.ports.indexes import IndexBatch
from tests.fakes.counters import dimensions_of

K1, B = 1.2, 0.75

Points = dict[ChunkId, Point]


class PlainPoints:
    """Keeps points in dictionaries, by scope and generation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._points: dict[tuple[Scope, int], Points] = {}
        self._positions: dict[tuple[Scope, int], int] = {}
        self._active: dict[Scope, int] = {}

    def write(self, scope: Scope, generation: int, batch: IndexBatch) -> None:
        points = self._points.setdefault((scope, generation), {})
        for id_ in batch.drops:
            points.pop(id_, None)
        points.update({point.id: point for point in batch.puts})
        self._positions[scope, generation] = batch.position

    def activate(self, scope: Scope, generation: int) -> None:
        self._active[scope] = generation
        for other, number in list(self._points):
            if other == scope and number != generation:
                self.drop(scope, number)

    def drop(self, scope: Scope, generation: int | None = None) -> None:
        for key in [key for key in self._positions if key[0] == scope and generation in (None, key[1])]:
            del self._points[key], self._positions[key]
        if generation in (None, self._active.get(scope)):
            self._active.pop(scope, None)

    def state(self, scope: Scope) -> ProjectionState | None:
        generation = self._active.get(scope, 0)
        if (scope, generation) not in self._positions:
            return ProjectionState(generation, 0) if generation else None
        return ProjectionState(generation, self._positions[scope, generation])

    def size_bytes(self) -> int:
        return 0

    def close(self) -> None:
        pass

    def everything(self, scope: Scope) -> list[Point]:
        return list(self._points.get((scope, self._active.get(scope, 0)), {}).values())

    def visible(self, where: Where) -> list[Point]:
        return [point for point in self.everything(where.scope) if where.admits(point.labels, point.numbers)]


class PlainVectorIndex(PlainPoints):
    """Compares the query with every vector."""

    def __init__(self) -> None:
        super().__init__("plain vectors")

    def search(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        hits = [Hit(point.id, _dot(vector, point.vector)) for point in self.visible(where)]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit])


class PlainTextIndex(PlainPoints):
    """Computes BM25 of every text."""

    def __init__(self) -> None:
        super().__init__("plain texts")

    def search(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        documents = {point.id: Counter(_terms(point, field)) for point in self.everything(where.scope)}
        average = sum(sum(counts.values()) for counts in documents.values()) / max(1, len(documents))
        hits = []
        for point in self.visible(where):
            score = sum(_bm25(term, documents[point.id], documents, average) for term in terms)
            if score > 0:
                hits.append(Hit(point.id, score))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit])


def _terms(point: Point, field: TermField) -> tuple[str, ...]:
    return point.terms.words if field == "words" else point.terms.code


def _bm25(term: str, counts: Counter[str], documents: dict[ChunkId, Counter[str]], average: float) -> float:
    frequency = counts[term]
    if not frequency:
        return 0.0
    having = sum(1 for other in documents.values() if other[term])
    idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
    length = sum(counts.values())
    return idf * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / average))


def _dot(left: Vector, right: Vector) -> float:
    form = f"<{dimensions_of(left)}f"
    return math.fsum(a * b for a, b in zip(struct.unpack(form, left), struct.unpack(form, right), strict=True))
