"""A catalog in memory that keeps the promises of the port."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citewise.errors import Misconfigured
from citewise.model.access import PUBLIC, Scope
from citewise.model.chunk import Change, Chunk, ChunkCounts, Vector, WordVectors
from citewise.model.document import Document, Json, KnownDocument, RemovedText, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.ranking import Damaged, Passage
from citewise.model.report import LibraryFacts
from citewise.ports.catalog import DocumentSummary, DocumentWrite, ProjectionState
from tests.builders import passage_of

NO_STAMP = Digest("-")


@dataclass
class _Scope:
    version: int = field(default_factory=lambda: random.getrandbits(40))
    floor: int = 0
    log: dict[ChunkId, tuple[int, bool]] = field(default_factory=dict)  # position, and whether it was put
    sources: dict[str, SourceRef] = field(default_factory=dict)
    projections: dict[str, ProjectionState] = field(default_factory=dict)
    removed_texts: list[RemovedText] = field(default_factory=list)


class MemoryCatalog:
    """The port `Catalog`, with a lock for a transaction."""

    engine = "memory"

    def __init__(self, *, now: Callable[[], float] = lambda: 1.7e9) -> None:
        self._now = now
        self._lock = threading.RLock()
        self._scopes: dict[Scope, _Scope] = {}
        self._documents: dict[DocumentId, Document] = {}
        self._updated_at: dict[DocumentId, float] = {}
        self._chunks: dict[DocumentId, dict[ChunkId, Chunk]] = {}
        self._vectors: dict[Digest, Vector] = {}
        self._words: dict[Digest, WordVectors] = {}
        self._position = 0
        self._facts: LibraryFacts | None = None
        self._last_ingest: Mapping[str, Json] | None = None

    # CatalogReader

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Mapping[ChunkId, Passage | Damaged]:
        with self._lock:
            found = {
                chunk.id: passage_of(chunk, document)
                for document in self._visible(where)
                for chunk in self._chunks[document.id].values()
            }
        return {id_: found[id_] for id_ in ids if id_ in found}

    def neighbors(self, ids: Sequence[ChunkId], *, reach: int, where: Where) -> tuple[Passage, ...]:
        read = [each for each in self.passages(ids, where=where).values() if isinstance(each, Passage)]
        every = [id_ for document in self._visible(where) for id_ in self._chunks[document.id] if id_ not in ids]
        others = (each for each in self.passages(every, where=where).values() if isinstance(each, Passage))
        return tuple(
            other
            for other in others
            if any(
                (other.document_id, other.anchor) == (each.document_id, each.anchor)
                and abs(other.position - each.position) <= reach
                for each in read
            )
        )

    def document(self, where: Where, id_: DocumentId) -> Document | None:
        found = next((document for document in self._visible(where) if document.id == id_), None)
        return found if found is None or where.readers is None else replace(found, copied_from=())

    def documents(self, where: Where, *, after: str = "", limit: int) -> tuple[DocumentSummary, ...]:
        with self._lock:
            return tuple(
                DocumentSummary(
                    document.id,
                    document.path,
                    document.title,
                    document.mount,
                    document.corpus_type,
                    document.access,
                    len(self._chunks[document.id]),
                    self._updated_at[document.id],
                )
                for document in self._visible(where)
                if document.path > after
            )[:limit]

    def chunks(self, where: Where, document: DocumentId) -> tuple[Chunk, ...]:
        if self.document(where, document) is None:
            return ()
        with self._lock:
            found = sorted(self._chunks[document].values(), key=lambda chunk: chunk.position)
        return tuple(chunk for chunk in found if where.admits(chunk.labels, chunk.numbers))

    def count(self, scope: Scope) -> tuple[int, int]:
        with self._lock:
            documents = self._visible(Where(scope, None))
            return len(documents), sum(len(self._chunks[document.id]) for document in documents)

    def facets(self, where: Where) -> Mapping[str, Mapping[str, int]]:
        seen = self._visible(where)
        names = ("module", "chapter", "corpus_type", "content_type")
        counts = {name: dict(Counter(getattr(document, name) for document in seen)) for name in names}
        return {**counts, "tags": dict(Counter(tag for document in seen for tag in set(document.tags)))}

    def _visible(self, where: Where) -> list[Document]:
        with self._lock:
            return sorted(
                (
                    document
                    for document in self._documents.values()
                    if document.scope == where.scope
                    and (where.readers is None or not where.readers.isdisjoint(document.access.readers))
                ),
                key=lambda document: document.path,
            )

    # CatalogWriter

    def stamps(self, scope: Scope, paths: Collection[str], *, verify: bool = True) -> Mapping[str, KnownDocument]:
        with self._lock:
            return {
                document.path: KnownDocument(
                    document.mount,
                    document.stamp,
                    len(self._chunks[document.id]),
                    document.access,
                    document.own_access,
                    document.aliases,
                    document.created_at or 0.0,
                    document.copied_from,
                )
                for document in self._visible(Where(scope, None))
                if document.path in paths
            }

    def paths(self, scope: Scope, *, under: str = "", mount: str | None = None) -> tuple[str, ...]:
        return tuple(
            document.path
            for document in self._visible(Where(scope, None))
            if mount in (None, document.mount)
            and (not under or document.path == under or document.path.startswith(f"{under}/"))
        )

    def store(self, writes: Sequence[DocumentWrite]) -> ChunkCounts:
        total = ChunkCounts()
        with self._lock:
            for write in writes:
                total += self._store_document(write)
            for scope in {write.document.scope for write in writes}:
                self._scopes[scope].version += 1
        return total

    def _store_document(self, write: DocumentWrite) -> ChunkCounts:
        document, old = write.document, self._documents.get(write.document.id)
        created_at = old.created_at if old else document.created_at
        self._documents[document.id] = replace(document, created_at=self._now() if created_at is None else created_at)
        self._updated_at[document.id] = self._now()
        if write.replaced is not None:
            self.record_removed(document.scope, [write.replaced])
        before = self._chunks.get(document.id, {})
        after = self._chunks[document.id] = {chunk.id: chunk for chunk in write.chunks}
        self._log(document.scope, [id_ for id_ in before if id_ not in after], is_put=False)
        created = [id_ for id_ in after if id_ not in before]
        updated = [id_ for id_ in after if id_ in before and before[id_].fingerprint != after[id_].fingerprint]
        self._log(document.scope, [*created, *updated], is_put=True)
        unchanged = len(after) - len(created) - len(updated)
        return ChunkCounts(len(created), len(updated), len(before.keys() - after.keys()), unchanged)

    def _log(self, scope: Scope, ids: Collection[ChunkId], *, is_put: bool) -> None:
        log = self._scopes.setdefault(scope, _Scope()).log
        for id_ in ids:
            self._position += 1
            log[id_] = (self._position, is_put)

    def remove(self, scope: Scope, paths: Collection[str]) -> int:
        removed = 0
        with self._lock:
            for document in self._visible(Where(scope, None)):
                if document.path in paths:
                    texts = frozenset(chunk.content_hash for chunk in self._chunks[document.id].values())
                    gone = RemovedText(document.path, document.access, texts)
                    self.record_removed(scope, [gone])
                    chunks = self._chunks.pop(document.id)
                    del self._documents[document.id]
                    self._log(scope, chunks, is_put=False)
                    removed += len(chunks)
            if scope in self._scopes:
                self._scopes[scope].version += 1
        return removed

    def texts(self, scope: Scope, paths: Collection[str]) -> Mapping[str, frozenset[Digest]]:
        found = {
            document.path: frozenset(chunk.content_hash for chunk in self._chunks[document.id].values())
            for document in self._visible(Where(scope, None))
            if document.path in paths
        }
        return {path: hashes for path, hashes in found.items() if hashes}

    def holders(self, scope: Scope, texts: Iterable[Digest], *, limit: int) -> Mapping[Digest, tuple[str, ...]]:
        of_paths = self.texts(scope, self.paths(scope))
        found = {text: [path for path, hashes in of_paths.items() if text in hashes] for text in texts}
        return {text: tuple(paths[:limit]) for text, paths in found.items() if paths}

    def copies(self, scope: Scope) -> tuple[str, ...]:
        return tuple(document.path for document in self._visible(Where(scope, None)) if document.copied_from)

    def removed_texts(self, scope: Scope) -> tuple[RemovedText, ...]:
        return tuple(self._scope(scope).removed_texts)

    def record_removed(self, scope: Scope, texts: Iterable[RemovedText]) -> None:
        with self._lock:
            kept = self._scopes.setdefault(scope, _Scope()).removed_texts
            closed = [each for each in texts if each.texts and PUBLIC not in each.access.readers]
            kept += [each for each in closed if each not in kept]

    def mark_stale(self, scope: Scope, reasons: Mapping[str, str]) -> None:
        with self._lock:
            for document in self._visible(Where(scope, None)):
                reason = reasons.get(document.path, document.stale)
                if reason != document.stale:
                    self._documents[document.id] = replace(document, stale=reason, stamp=NO_STAMP)
                    self._scopes[scope].version += 1

    def request_reingest(self, ids: Collection[ChunkId]) -> None:
        with self._lock:
            for id_, document in self._documents.items():
                chunks = self._chunks[id_]
                wanted = {key: replace(chunk, fingerprint=NO_STAMP) for key, chunk in chunks.items() if key in ids}
                if wanted:
                    self._documents[id_] = replace(document, stamp=NO_STAMP)
                    self._chunks[id_] = {**chunks, **wanted}

    # ChangeLog

    def scopes(self) -> tuple[Scope, ...]:
        return tuple(sorted(self._scopes, key=lambda scope: (scope.tenant, scope.project)))

    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]:
        with self._lock:
            log = sorted((position, id_, is_put) for id_, (position, is_put) in self._scope(scope).log.items())
            return tuple(
                self._put(position, id_) if is_put else Change(position, id_, None)
                for position, id_, is_put in log
                if position > after
            )[:limit]

    def _put(self, position: int, id_: ChunkId) -> Change:
        chunk = next(chunks[id_] for chunks in self._chunks.values() if id_ in chunks)
        if chunk.text_digest not in self._vectors:
            raise Misconfigured(f"chunk {id_} has no vector of the library's model: run `citewise reindex`")
        vector = self._vectors[chunk.text_digest]
        return Change(position, id_, chunk.embedded_text, vector, chunk.labels, chunk.numbers)

    def last_position(self, scope: Scope) -> int:
        with self._lock:
            found = self._scope(scope)
            return max([found.floor, *(position for position, _ in found.log.values())])

    def floor(self, scope: Scope) -> int:
        return self._scope(scope).floor

    def trim(self, scope: Scope, *, up_to: int) -> None:
        with self._lock:
            found = self._scope(scope)
            gone = [id_ for id_, (position, is_put) in found.log.items() if position <= up_to and not is_put]
            for id_ in gone:
                del found.log[id_]
            found.floor = up_to if gone else found.floor

    def version(self, scope: Scope) -> int:
        return self._scopes[scope].version if scope in self._scopes else 0

    def _scope(self, scope: Scope) -> _Scope:
        return self._scopes.get(scope, _Scope())

    def projection(self, name: str, scope: Scope) -> ProjectionState | None:
        return self._scope(scope).projections.get(name)

    def record_projection(self, name: str, scope: Scope, state: ProjectionState) -> None:
        with self._lock:
            found = self._scopes.setdefault(scope, _Scope())
            found.projections[name] = state
            found.version += 1

    # EmbeddingCache

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]:
        return {key: self._vectors[key] for key in digests if key in self._vectors}

    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]:
        return {key: self._words[key] for key in digests if key in self._words}

    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors]) -> None:
        with self._lock:
            self._vectors = {**vectors, **self._vectors}
            self._words = {**words, **self._words}

    # Catalog

    def sources(self, scope: Scope) -> tuple[SourceRef, ...]:
        found = self._scope(scope).sources
        return tuple(found[mount] for mount in sorted(found))

    def register(self, scope: Scope, source: SourceRef) -> None:
        with self._lock:
            self._scopes.setdefault(scope, _Scope()).sources[source.mount] = source

    def facts(self) -> LibraryFacts | None:
        return self._facts

    def record_facts(self, facts: LibraryFacts) -> None:
        self._facts = facts

    def last_ingest(self) -> Mapping[str, Json] | None:
        return self._last_ingest

    def record_ingest(self, summary: Mapping[str, Json]) -> None:
        self._last_ingest = summary

    def check(self) -> None:
        pass

    def lacks_word_vectors(self) -> bool:
        return not self._living() <= self._words.keys()

    def compact(self, *, keep_word_vectors: bool = True) -> bool:
        with self._lock:
            living = self._living()
            for scope in self._scopes.values():
                scope.removed_texts.clear()
            self._vectors = {key: vector for key, vector in self._vectors.items() if key in living}
            self._words = {key: words for key, words in self._words.items() if keep_word_vectors and key in living}
        return True

    def _living(self) -> set[Digest]:
        with self._lock:
            return {chunk.text_digest for chunks in self._chunks.values() for chunk in chunks.values()}

    def size_bytes(self) -> int:
        return sum(map(len, self._vectors.values())) + sum(map(len, self._words.values()))

    def close(self) -> None:
        pass
