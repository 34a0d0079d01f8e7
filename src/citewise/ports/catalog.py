"""The catalog: documents, chunks, access rules, their change log, and what else one transaction must cover."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewise.model.access import Access, Scope
from citewise.model.chunk import Change, Chunk, ChunkCounts, Vector, WordVectors
from citewise.model.document import Document, Json, KnownDocument, RemovedText, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.ranking import Damaged, Passage
from citewise.model.report import LibraryFacts


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document with all its chunks, whose vectors the embedding cache has already."""

    document: Document
    chunks: tuple[Chunk, ...]
    replaced: RemovedText | None = None  # the text that it had before, if it is to be remembered


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document in a list, without its text."""

    id: DocumentId
    path: str
    title: str
    mount: str
    corpus_type: str
    access: Access
    chunks: int
    updated_at: float  # seconds since 1970


class PassageReader(Protocol):
    """Reads chunks with their documents: all that a search needs of a catalog.

    Promises: one batched read; in the order of `ids`; a chunk that is gone, in another scope, or not for this reader
    by the catalog's own access rules is left out, whatever an index believed; a record that is not as it was stored is
    `Damaged`, without a name unless it is certain that this reader may read the document, and does not affect the
    others. After `request_reingest`, the stamps of the documents of these chunks equal no other stamp, so that the next
    ingestion reads them again, and storing these chunks is a change. `neighbors` gives, in no order, each of the other
    chunks once that stand in the same section of the same document as one of these, at most `reach` positions away,
    as far as this reader may see them; damaged ones are left out.
    """

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Mapping[ChunkId, Passage | Damaged]: ...
    def neighbors(self, ids: Sequence[ChunkId], *, reach: int, where: Where) -> tuple[Passage, ...]: ...
    def request_reingest(self, ids: Collection[ChunkId]) -> None: ...


class CatalogReader(PassageReader, Protocol):
    """Reads documents and chunks as a reader may see them.

    Promises: scope and readers of `where` decide, and of chunks its conditions too; a document of another scope or
    for other readers does not exist. `documents` gives a page of those whose path comes after `after`, by path.
    `facets` counts the documents by the values of module, chapter, corpus_type, content_type and tags. Nothing is
    held open between two calls. What is not as it was stored raises Misconfigured. What a document was copied from is
    told to the owner alone.
    """

    def document(self, where: Where, id_: DocumentId) -> Document | None: ...
    def documents(self, where: Where, *, after: str = "", limit: int) -> tuple[DocumentSummary, ...]: ...
    def chunks(self, where: Where, document: DocumentId) -> tuple[Chunk, ...]: ...
    def count(self, scope: Scope) -> tuple[int, int]: ...  # documents, and their chunks
    def facets(self, where: Where) -> Mapping[str, Mapping[str, int]]: ...


class CatalogWriter(Protocol):
    """Stores and removes documents.

    Promises: a store or removal is durable and whole when the call returns, together with its entries in the change
    log and the new version of the scope, or nothing happened; chunks whose fingerprint did not change make no log
    entry; a document keeps the time at which it was first stored; a full disk raises Unavailable and loses nothing.
    `stamps` and `texts` (the content hashes of a document's chunks) leave out paths they do not know; `paths` gives
    those at or below `under`, of one source if `mount` is given, in order; `holders` gives for each content hash the
    paths of documents that have such a chunk, of any number at most `limit`; `copies` those of documents that were
    copied from others. Texts of removed and replaced documents that not everybody could read are in `removed_texts`,
    until `compact`. Of a damaged document the stamp equals no other, so that it is read again, unless `verify` is off,
    which saves reading it; nobody may read one whose rule is
    damaged, here and in `removed_texts`. `mark_stale` says why files could not be read whose documents stay, until
    these are stored again; a new reason raises the version of the scope.
    """

    def stamps(self, scope: Scope, paths: Collection[str], *, verify: bool = True) -> Mapping[str, KnownDocument]: ...
    def paths(self, scope: Scope, *, under: str = "", mount: str | None = None) -> tuple[str, ...]: ...
    def store(self, writes: Sequence[DocumentWrite]) -> ChunkCounts: ...
    def mark_stale(self, scope: Scope, reasons: Mapping[str, str]) -> None: ...  # by path
    def remove(self, scope: Scope, paths: Collection[str]) -> int: ...  # how many chunks were removed
    def texts(self, scope: Scope, paths: Collection[str]) -> Mapping[str, frozenset[Digest]]: ...
    def holders(self, scope: Scope, texts: Iterable[Digest], *, limit: int) -> Mapping[Digest, tuple[str, ...]]: ...
    def copies(self, scope: Scope) -> tuple[str, ...]: ...
    def removed_texts(self, scope: Scope) -> tuple[RemovedText, ...]: ...
    def record_removed(self, scope: Scope, texts: Iterable[RemovedText]) -> None: ...


@dataclass(frozen=True, slots=True)
class ProjectionState:
    """How far a projection has followed the change log of a scope, and in which generation of its own."""

    generation: int
    position: int


class ChangeLog(Protocol):
    """Tells projections (the indexes) what changed since a position, and remembers how far each has followed.

    Promises: no position at or below one that was read appears later, whoever writes at the same time; a chunk appears
    at its latest change only; reading from 0 gives every chunk there is, so that a rebuild is a replay; removals up to
    `floor` may have been trimmed, and a projection that has not reached it must start again from 0. `version` is
    another number after every store, removal and recorded projection of the scope, raised in the same transaction;
    equal numbers mean that nothing changed. It begins at a random number, so that two libraries or generations do not
    share one; 0 for an unknown scope. What is recorded of a projection is durable when the call returns; a projection
    that was never recorded is None.
    """

    def scopes(self) -> tuple[Scope, ...]: ...
    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]: ...
    def last_position(self, scope: Scope) -> int: ...
    def floor(self, scope: Scope) -> int: ...
    def trim(self, scope: Scope, *, up_to: int) -> None: ...  # removals up to this position
    def version(self, scope: Scope) -> int: ...
    def projection(self, name: str, scope: Scope) -> ProjectionState | None: ...
    def record_projection(self, name: str, scope: Scope, state: ProjectionState) -> None: ...


class EmbeddingCache(Protocol):
    """Finds vectors that were computed earlier, by the digest of their text.

    Promises: only vectors of the library's own model are found; an unknown digest is absent from the result, and so is
    one whose vector is damaged, until it is kept again; `keep` is
    durable when it returns, all or nothing, and the first vector of a text stays, whatever becomes of the documents.
    """

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]: ...
    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]: ...
    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors]) -> None: ...


class Catalog(CatalogReader, CatalogWriter, ChangeLog, EmbeddingCache, Protocol):
    """All of it, since one transaction has to cover documents, change log and versions; and what the library was built
    with, its sources and its maintenance.

    Promises: registering a mount again replaces its entry; what is recorded is durable when the call returns; what was
    never recorded is None. `check` raises Misconfigured if anything stored is damaged. `lacks_word_vectors` tells
    whether a stored chunk has none. `compact` removes vectors of texts that no chunk has (all word vectors, if they are
    not kept) and erases every trace of what was deleted; False if a reader kept it from finishing. After `close`, the
    catalog is not used again.
    """

    engine: str  # of the catalog, as `citewise status` names it

    def sources(self, scope: Scope) -> tuple[SourceRef, ...]: ...
    def register(self, scope: Scope, source: SourceRef) -> None: ...
    def facts(self) -> LibraryFacts | None: ...
    def record_facts(self, facts: LibraryFacts) -> None: ...
    def last_ingest(self) -> Mapping[str, Json] | None: ...
    def record_ingest(self, summary: Mapping[str, Json]) -> None: ...
    def check(self) -> None: ...
    def lacks_word_vectors(self) -> bool: ...
    def compact(self, *, keep_word_vectors: bool = True) -> bool: ...
    def size_bytes(self) -> int: ...
    def close(self) -> None: ...
