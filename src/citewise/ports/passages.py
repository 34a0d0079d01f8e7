"""Passages: the catalog as a search reads it, by chunk id."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewise.model.ids import ChunkId
from citewise.model.passage import Passage
from citewise.model.where import Where


@dataclass(frozen=True, slots=True)
class Hydrated:
    """What was read, in the order it was asked for, and the ids whose record makes no sense."""

    passages: tuple[Passage, ...]
    malformed: tuple[ChunkId, ...] = ()


class Passages(Protocol):
    """Reads chunks with their documents, as one reader may see them.

    Promises: one batched read; in the order of `ids`; a chunk that is gone, in another scope, or not for this reader
    by the catalog's own rules is left out, whatever an index believed; a record that cannot be understood is named
    as malformed and spoils no other. After `make_anew`, the next ingestion reads the documents of these chunks again
    even if their files did not change.
    """

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Hydrated: ...
    def make_anew(self, ids: Collection[ChunkId]) -> None: ...
