"""Passages: the catalog as a search reads it, by chunk id."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewise.model.access import Scope
from citewise.model.chunk import Change, Chunk, ChunkCounts, Vector, WordVectors
from citewise.model.document import Document, KnownDocument, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, Digest
from citewise.model.ranking import Passage


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


class Outbox(Protocol):
    """Tells what changed since a position.

    Promises: positions only grow; a chunk appears at its latest change only; reading from 0 gives every living
    chunk, so a rebuild is a replay; drops at or before `floor` may be forgotten, and a projection that stands
    before it must start again from 0. `version` is another number after every store, removal and recorded projection
    of this scope, raised in the same transaction; equal numbers mean that nothing changed. It begins at a random
    number, so that two libraries or generations do not share one; 0 for an unknown scope.
    """

    def scopes(self) -> tuple[Scope, ...]: ...
    def floor(self, scope: Scope) -> int: ...
    def last_position(self, scope: Scope) -> int: ...
    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]: ...
    def forget_drops(self, scope: Scope, *, up_to: int) -> None: ...
    def version(self, scope: Scope) -> int: ...


@dataclass(frozen=True, slots=True)
class ProjectionState:
    """How far a projection has followed the change log of a scope, and in which generation of its own."""

    generation: int
    position: int


class Projections(Protocol):
    """Remembers how far each projection (an index over the catalog) has followed the change log.

    Promises: what is recorded is durable when the call returns, and raises the version of the scope, since searches
    may find something else now; a projection that was never recorded is None.
    """

    def projection(self, name: str, scope: Scope) -> ProjectionState | None: ...
    def record_projection(self, name: str, scope: Scope, state: ProjectionState) -> None: ...


NO_WORDS: Mapping[Digest, WordVectors] = {}


class EmbeddingCache(Protocol):
    """Finds vectors made earlier.

    Promises: only vectors of the library's own model come back; a digest it does not know is simply absent; what
    is kept is durable when the call returns, whole or not at all, whatever becomes of the documents it was made for.
    """

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]: ...
    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]: ...
    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors] = NO_WORDS) -> None: ...


class Registry(Protocol):
    """Remembers sources and facts.

    Promises: registering a mount again replaces its root; what is remembered is durable when the call returns.
    """

    def sources(self, scope: Scope) -> tuple[SourceRef, ...]: ...
    def register(self, scope: Scope, source: SourceRef) -> None: ...
    def facts(self) -> Mapping[str, str]: ...
    def remember(self, facts: Mapping[str, str]) -> None: ...


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
