"""Indexes: find chunk ids by meaning or by terms. Projections of the catalog, written from its change log."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from citewise.model.access import Scope
from citewise.model.chunk import Hit, Point, TermField, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import ProjectionState


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """Changes up to a position of the change log: chunks to add or replace, and chunks to remove."""

    puts: Sequence[Point]
    drops: Collection[ChunkId]
    position: int


class Projection(Protocol):
    """What every index can do besides searching.

    Promises: `write` adds to one generation of a scope, is idempotent, and is durable when it returns; readers in other
    processes see it at their next search. Searches see the active generation alone; `activate` switches to another one
    at once and removes the others. `drop` removes one generation of a scope, or all of them. `size_bytes` is the disk
    space used, 0 if unknown. `name` is what the catalog records the position under: two engines have two names.
    """

    @property
    def name(self) -> str: ...
    def write(self, scope: Scope, generation: int, batch: IndexBatch) -> None: ...
    def activate(self, scope: Scope, generation: int) -> None: ...
    def drop(self, scope: Scope, generation: int | None = None) -> None: ...
    def size_bytes(self) -> int: ...
    def close(self) -> None: ...


class VectorIndex(Projection, Protocol):
    """Finds chunks by meaning.

    Promises: best first, ties by id; at most `limit`; `where` filters before the cut, so `limit` hits come back
    whenever that many are visible; exactly what `Where.admits` is found; an unknown scope is empty; an unreachable
    or damaged index raises Unavailable; recall@60 of the exact answer is at least 0.95 at every filter selectivity.
    """

    def search(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]: ...


class TextIndex(Projection, Protocol):
    """Finds chunks by BM25 over one field of terms.

    Promises: those of `VectorIndex` for the chunks that have at least one of the terms; a filter never changes a
    score; a term that is repeated in the query counts as often as it stands there; what was deleted or replaced counts
    for no score.
    """

    def search(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]: ...


@runtime_checkable
class KeepsPosition(Protocol):
    """An index that stores its own position: compared with the catalog's record when a library is opened.

    Promises: the active generation and its position; None for a scope that is missing or damaged; it never raises
    for a damaged index.
    """

    def state(self, scope: Scope) -> ProjectionState | None: ...


@runtime_checkable
class Wears(Protocol):
    """An index that deletions wear out: `is_worn` tells when it should be rebuilt to keep its promises."""

    def is_worn(self, scope: Scope) -> bool: ...
