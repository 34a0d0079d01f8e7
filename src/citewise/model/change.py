"""The change log: what happened to chunks, in order, as the projections hear of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from citewise.model.ids import ChunkId
from citewise.model.vector import Vector
from citewise.model.where import Label


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """What a projection needs to know of a living chunk."""

    text: str  # what is searched: breadcrumb and text
    vector: Vector
    labels: frozenset[Label]
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Change:
    """One chunk was put (record) or dropped (None) at this position of the log."""

    position: int
    chunk_id: ChunkId
    record: IndexRecord | None


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """What storing did to chunks."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0

    @property
    def total(self) -> int:
        """Chunks that are there now."""
        return self.created + self.updated + self.unchanged

    def __add__(self, other: "ChunkCounts") -> "ChunkCounts":
        return ChunkCounts(
            self.created + other.created,
            self.updated + other.updated,
            self.deleted + other.deleted,
            self.unchanged + other.unchanged,
        )
