"""Bring your own indexes: brute force over dictionaries in memory, plugged in by argument.

The ports are in citewise.ports.indexes; tests/contracts/test_indexes.py is what an index must pass, this one included.
"""

import math
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from operator import mul
from tempfile import TemporaryDirectory

from citewise import Hit, IndexBatch, Library, Point, ProjectionState, Scope, Vector, Where

Generations = dict[int, dict[str, Point]]


class InMemory:
    """The writing half, which both indexes share: chunks by scope, generation and id."""

    def __init__(self) -> None:
        self._scopes: dict[Scope, Generations] = {}
        self._active: dict[Scope, ProjectionState] = {}
        self._positions: dict[tuple[Scope, int], int] = {}

    def write(self, scope: Scope, generation: int, batch: IndexBatch) -> None:
        points = self._scopes.setdefault(scope, {}).setdefault(generation, {})
        for dropped in batch.drops:
            points.pop(dropped, None)
        points.update({point.id: point for point in batch.puts})
        self._positions[scope, generation] = batch.position
        if scope in self._active and self._active[scope].generation == generation:
            self.activate(scope, generation)

    def activate(self, scope: Scope, generation: int) -> None:
        self._active[scope] = ProjectionState(generation, self._positions.get((scope, generation), 0))
        self._scopes[scope] = {generation: self._scopes.get(scope, {}).get(generation, {})}

    def drop(self, scope: Scope, generation: int | None = None) -> None:
        if generation is None:
            self._scopes.pop(scope, None)
            self._active.pop(scope, None)
        else:
            self._scopes.get(scope, {}).pop(generation, None)

    def state(self, scope: Scope) -> ProjectionState | None:
        """None in a new process, where nothing is in memory yet: then citewise writes everything again."""
        return self._active.get(scope)

    def size_bytes(self) -> int:
        return 0

    def close(self) -> None:
        pass

    def everything(self, scope: Scope) -> list[Point]:
        state = self._active.get(scope)
        return list(self._scopes[scope][state.generation].values()) if state else []

    def visible(self, where: Where) -> list[Point]:
        """Filter before ranking: what a reader may not see must not take a place in the list."""
        return [point for point in self.everything(where.scope) if where.admits(point.labels, point.numbers)]


class BruteForceVectorIndex(InMemory):  # citewise.ports.indexes.VectorIndex
    name = "brute-force vectors"

    def search(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        found = self.visible(where)
        return Hit.best([point.id for point in found], [_cosine(vector, point.vector) for point in found], limit)


def _cosine(left: Vector, right: Vector) -> float:
    """Vectors are 32-bit floats of unit length, so their product is the cosine."""
    return math.fsum(map(mul, memoryview(left).cast("f"), memoryview(right).cast("f")))


class BruteForceTextIndex(InMemory):  # citewise.ports.indexes.TextIndex
    name = "brute-force texts"

    def search(self, terms: Sequence[str], *, field: str, where: Where, limit: int) -> tuple[Hit, ...]:
        counts = {point.id: Counter(getattr(point.terms, field)) for point in self.everything(where.scope)}
        average = sum(count.total() for count in counts.values()) / max(1, len(counts))
        having = {term: sum(term in count for count in counts.values()) for term in terms}

        def bm25(point: Point, term: str) -> float:
            count = counts[point.id]
            idf = math.log(1 + (len(counts) - having[term] + 0.5) / (having[term] + 0.5))
            return idf * 2.2 * count[term] / (count[term] + 1.2 * (0.25 + 0.75 * count.total() / average))

        found = [point for point in self.visible(where) if any(term in counts[point.id] for term in terms)]
        scores = [sum(bm25(point, term) for term in terms) for point in found]
        return Hit.best([point.id for point in found], scores, limit)


if __name__ == "__main__":
    vectors, texts = BruteForceVectorIndex(), BruteForceTextIndex()
    with TemporaryDirectory() as home, Library(home, vector_index=vectors, text_index=texts) as library:
        library.ingest(str(files("citewise") / "data" / "handbook" / "runbooks"))
        for hit in library.as_owner().search("How many times may I restart a station in one day?", top_k=3).findings:
            print(f"{hit.score:.3f}  {hit.passage.document}  {hit.passage.section}")
