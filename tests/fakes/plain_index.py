"""An index that is nothing but the definition: the oracle that every engine is compared with."""

import math
import struct
from collections import Counter
from collections.abc import Collection, Sequence

from citewise.model.access import Scope
from citewise.model.chunk import Hit, Point, TermField, Vector, best_first, dimensions_of
from citewise.model.filters import Where
from citewise.model.ids import ChunkId

K1, B = 1.2, 0.75


class PlainIndex:
    """Keeps points in dictionaries and looks at every one of them."""

    def __init__(self) -> None:
        self._points: dict[Scope, dict[ChunkId, Point]] = {}
        self._positions: dict[Scope, int] = {}
        self._building: dict[Scope, tuple[dict[ChunkId, Point], int]] = {}

    def nearest(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        hits = [Hit(point.id, _dot(vector, point.vector)) for point in self.visible(where)]
        return tuple(best_first(hits)[:limit])

    def matching(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        everything = list(self._points.get(where.scope, {}).values())
        documents = {point.id: Counter(_terms(point, field)) for point in everything}
        average = sum(sum(counts.values()) for counts in documents.values()) / max(1, len(documents))
        hits = []
        for point in self.visible(where):
            score = sum(_bm25(term, documents[point.id], documents, average) for term in dict.fromkeys(terms))
            if score > 0:
                hits.append(Hit(point.id, score))
        return tuple(best_first(hits)[:limit])

    def is_large(self, scope: Scope) -> bool:
        return False

    def write(self, scope: Scope, *, puts: Sequence[Point], drops: Collection[ChunkId], position: int) -> None:
        points = self._building[scope][0] if scope in self._building else self._points.setdefault(scope, {})
        for id_ in drops:
            points.pop(id_, None)
        points.update({point.id: point for point in puts})
        if scope in self._building:
            self._building[scope] = (points, position)
        else:
            self._positions[scope] = position

    def position(self, scope: Scope) -> int:
        return self._positions.get(scope, 0)

    def begin_anew(self, scope: Scope) -> None:
        self._building[scope] = ({}, 0)

    def finish_anew(self, scope: Scope) -> None:
        self._points[scope], self._positions[scope] = self._building.pop(scope)

    def visible(self, where: Where) -> list[Point]:
        return [
            point for point in self._points.get(where.scope, {}).values() if where.admits(point.labels, point.numbers)
        ]


def _terms(point: Point, field: TermField) -> tuple[str, ...]:
    return point.terms.words if field is TermField.WORDS else point.terms.code


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
