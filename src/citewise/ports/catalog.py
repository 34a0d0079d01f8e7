"""Catalog: the truth about documents and chunks. Everything else can be rebuilt from it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewise.model.change import ChunkCounts
from citewise.model.chunk import Chunk
from citewise.model.document import Document, KnownDocument
from citewise.model.scope import Scope


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document with all its chunks, whose vectors the embedding cache holds already."""

    document: Document
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class ScopeCensus:
    """How much one scope holds, and how far its log goes."""

    scope: Scope
    documents: int
    chunks: int
    last_position: int


class Catalog(Protocol):
    """Holds documents, chunks and access rules.

    Promises: a store or removal is durable and whole when the call returns, together with its entries in the
    change log, or nothing happened; chunks whose fingerprint did not change make no log entry; a full disk
    raises Unavailable and loses nothing.
    """

    def known(self, scope: Scope) -> Mapping[str, KnownDocument]: ...  # by path
    def store(self, writes: Sequence[DocumentWrite]) -> ChunkCounts: ...
    def remove(self, scope: Scope, paths: Collection[str]) -> int: ...  # chunks gone
    def documents(self, scope: Scope) -> Iterator[Document]: ...
    def chunks(self, scope: Scope, path: str) -> tuple[Chunk, ...]: ...
    def census(self) -> tuple[ScopeCensus, ...]: ...
