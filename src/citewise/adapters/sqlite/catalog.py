"""The catalog in one SQLite file."""

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from citewise.adapters.sqlite import removed, seals, writing
from citewise.adapters.sqlite import rows as records
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.schema import APPLICATION_ID, TABLES, VERSION, has_tables
from citewise.errors import CitewiseError, Misconfigured
from citewise.model.access import Scope
from citewise.model.chunk import Change, Chunk, ChunkCounts, Vector, WordVectors
from citewise.model.document import Document, Json, KnownDocument, RemovedText, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, Digest, DocumentId, document_id
from citewise.model.ranking import Damaged, Passage
from citewise.model.report import LibraryFacts
from citewise.ports.catalog import DocumentSummary, DocumentWrite, ProjectionState

_logger = logging.getLogger(__name__)

READERS_END_MS = 2_000  # how long compaction waits for readers that began before it; searches take milliseconds
VALUES_PER_STATEMENT = 500  # well under SQLite's limit on the number of values
NO_STAMP = Digest("-")  # equals no stamp that ingestion computes
FACETS = ("module", "chapter", "corpus_type", "content_type")
_SCOPE = seals.SCOPE
_READABLE = f"d.scope = {_SCOPE} AND {records.ADMITTED}"
MAX_NAMED = 5  # damaged documents in a message


class SqliteCatalog:
    """The port `Catalog` over one file: one transaction covers all of it."""

    engine = "sqlite"

    def __init__(self, connections: Connections, *, model_name: str, now: Callable[[], float] = time.time) -> None:
        self._connections = connections
        self._model_name = model_name
        self._now = now
        try:
            with connections.reading("open the catalog") as connection:
                is_ready = has_tables(connection, connections.file)
            if not is_ready:
                with connections.writing("create the catalog") as connection:
                    if not has_tables(connection, connections.file):  # another process may just have created them
                        connections.create_tables(connection, TABLES, VERSION)
                        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        except CitewiseError:
            connections.close()
            raise

    # CatalogReader

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Mapping[ChunkId, Passage | Damaged]:
        values = {**_named(where), "ids": json.dumps(ids)}
        with self._connections.reading("read passages") as connection:
            read = seals.passages(connection, values, where, count=len(ids))
        return {id_: read[id_] for id_ in ids if id_ in read}

    def neighbors(self, ids: Sequence[ChunkId], *, reach: int, where: Where) -> tuple[Passage, ...]:
        values = {**_named(where), "ids": json.dumps(ids), "reach": reach}
        rows = self._rows("read neighbors", records.READ_NEIGHBORS, values)
        return tuple(filter(None, records.hydrated(map(tuple, rows), where.scope).values()))

    def document(self, where: Where, id_: DocumentId) -> Document | None:
        statement = (
            f"SELECT {records.sealed(*seals.OF_DOCUMENT)}, d.stamp FROM documents d WHERE d.id = :id AND {_READABLE}"
        )
        rows = self._rows("read a document", statement, {**_named(where), "id": id_})
        if not rows:
            return None
        found = records.document_of(seals.checked(rows[0], where.scope, *seals.OF_DOCUMENT), where.scope)
        return found if where.readers is None else replace(found, copied_from=())

    def documents(self, where: Where, *, after: str = "", limit: int) -> tuple[DocumentSummary, ...]:
        rows = self._rows(
            "list documents",
            f"SELECT {records.sealed('d.rule_seal', 'd.seal')}, "
            "(SELECT count(*) FROM chunks c WHERE c.document_id = d.id) AS chunks "
            f"FROM documents d WHERE d.path > :after AND {_READABLE} ORDER BY d.path LIMIT :limit",
            {**_named(where), "after": after, "limit": limit},
        )
        return tuple(records.summary_of(seals.checked(row, where.scope, "d.rule_seal", "d.seal")) for row in rows)

    def chunks(self, where: Where, document: DocumentId) -> tuple[Chunk, ...]:
        covering = (*seals.OF_CHUNK, "d.rule_seal")  # in this order: `id` is the chunk's
        rows = self._rows(
            "read chunks",
            f"SELECT {records.sealed(*covering)}, c.fingerprint FROM chunks c JOIN documents d ON d.id = c.document_id "
            f"WHERE d.id = :id AND {_READABLE} ORDER BY c.position",
            {**_named(where), "id": document},
        )
        found = (records.chunk_of(seals.checked(row, where.scope, *covering), where.scope) for row in rows)
        return tuple(chunk for chunk in found if where.admits(chunk.labels, chunk.numbers))

    def count(self, scope: Scope) -> tuple[int, int]:
        # The log has one entry for each chunk, and is many times smaller than the chunks.
        statement = (
            f"SELECT (SELECT count(*) FROM documents WHERE scope = {_SCOPE}), "
            f"(SELECT count(*) FROM changes WHERE scope = {_SCOPE} AND is_put)"
        )
        ((documents, chunks),) = self._rows("count documents", statement, _values(scope))
        return documents, chunks

    def facets(self, where: Where) -> Mapping[str, Mapping[str, int]]:
        counted = {name: (f"d.{name}, count(*)", "documents d") for name in FACETS}
        counted["tags"] = ("t.value, count(DISTINCT d.id)", "documents d, json_each(d.tags) t")
        facets = {}
        for name, (columns, tables) in counted.items():
            statement = f"SELECT {columns} FROM {tables} WHERE {_READABLE} GROUP BY 1 ORDER BY 1"
            facets[name] = dict(self._rows("count documents", statement, _named(where)))
        return facets

    # CatalogWriter

    def stamps(self, scope: Scope, paths: Collection[str], *, verify: bool = True) -> Mapping[str, KnownDocument]:
        rows = self._rows(
            "read stamps",
            f"SELECT {records.sealed('d.rule_seal')}, d.mount, d.stamp, d.created_at, "
            f"(SELECT count(*) FROM chunks c WHERE c.document_id = d.id) AS chunks FROM {seals.OF_PATHS}",
            _paths(scope, paths),
        )
        damaged = self._damaged(scope, paths) if verify else ()
        known = {row["path"]: records.known_document(row, scope) for row in rows}
        return {path: replace(each, stamp=NO_STAMP) if path in damaged else each for path, each in known.items()}

    def texts(self, scope: Scope, paths: Collection[str]) -> Mapping[str, frozenset[Digest]]:
        statement = f"SELECT d.path, c.content_hash FROM {seals.OF_PATHS} JOIN chunks c ON c.document_id = d.id"
        found: dict[str, set[Digest]] = {}
        for path, content_hash in self._rows("read the hashes of chunks", statement, _paths(scope, paths)):
            found.setdefault(path, set()).add(Digest(content_hash.hex()))
        return {path: frozenset(hashes) for path, hashes in found.items()}

    def holders(self, scope: Scope, texts: Iterable[Digest], *, limit: int) -> Mapping[Digest, tuple[str, ...]]:
        statement = (
            "SELECT DISTINCT d.path FROM chunks c CROSS JOIN documents d ON d.id = c.document_id "
            f"WHERE c.content_hash = :hash AND d.scope = {_SCOPE} LIMIT :limit"
        )
        found = {}
        with self._connections.reading("look for the same text") as connection:
            for text in texts:
                values = {**_values(scope), "hash": bytes.fromhex(text), "limit": limit}
                if paths := tuple(path for (path,) in connection.execute(statement, values)):
                    found[text] = paths
        return found

    def _damaged(self, scope: Scope, paths: Collection[str], *, is_thorough: bool = False) -> set[str]:
        values = {**_paths(scope, paths), "model": self._model_name}
        with self._connections.reading("check documents") as connection:
            return seals.damaged(connection, values, scope, is_thorough=is_thorough)

    def paths(self, scope: Scope, *, under: str = "", mount: str | None = None) -> tuple[str, ...]:
        rows = self._rows(
            "list paths",
            f"SELECT path FROM documents WHERE scope = {_SCOPE} AND (:mount IS NULL OR mount = :mount) "
            "AND (:under = '' OR path = :under OR (path > :under || '/' AND path < :under || '0')) ORDER BY path",
            {**_values(scope), "mount": mount, "under": under},  # "0" comes after "/"
        )
        return tuple(path for (path,) in rows)

    def store(self, writes: Sequence[DocumentWrite]) -> ChunkCounts:
        total = ChunkCounts()
        with self._connections.writing("store documents") as connection:
            for write in writes:
                total += self._store_document(connection, write)
            for scope in {write.document.scope for write in writes}:
                writing.raise_version(connection, writing.scope_id(connection, scope))
        return total

    def remove(self, scope: Scope, paths: Collection[str]) -> int:
        count = 0
        with self._connections.writing("remove documents") as connection:
            (scope_id,) = connection.execute(f"SELECT {_SCOPE}", _values(scope)).fetchone()
            for path in paths:
                rows = connection.execute(
                    "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id "
                    "WHERE d.scope = ? AND d.path = ?",
                    (scope_id, path),
                )
                ids = [id_ for (id_,) in rows]
                removed.record(connection, scope_id, scope, removed.text_of(connection, scope_id, scope, path))
                connection.execute("DELETE FROM documents WHERE scope = ? AND path = ?", (scope_id, path))
                writing.log(connection, scope_id, ids, is_put=False)
                count += len(ids)
            writing.raise_version(connection, scope_id)
        return count

    def copies(self, scope: Scope) -> tuple[str, ...]:
        statement = f"SELECT path FROM documents WHERE scope = {_SCOPE} AND copied_from <> '[]' ORDER BY path"
        return tuple(path for (path,) in self._rows("list copies", statement, _values(scope)))

    def removed_texts(self, scope: Scope) -> tuple[RemovedText, ...]:
        statement = f"SELECT {', '.join(removed.COLUMNS)}, seal FROM removed_texts WHERE scope = {_SCOPE}"
        return removed.texts_of(self._rows("read what was removed", statement, _values(scope)), scope)

    def record_removed(self, scope: Scope, texts: Iterable[RemovedText]) -> None:
        with self._connections.writing("remember what was removed") as connection:
            scope_id = writing.scope_id(connection, scope)
            for text in texts:
                removed.record(connection, scope_id, scope, text)

    def mark_stale(self, scope: Scope, reasons: Mapping[str, str]) -> None:
        damaged = self._damaged(scope, reasons)
        with self._connections.writing("mark documents as stale") as connection:
            scope_id = writing.scope_id(connection, scope)
            for path, reason in reasons.items():
                marked = connection.execute(
                    "UPDATE documents SET stale = :reason, stamp = :none, shown = '' "
                    "WHERE scope = :scope AND path = :path AND stale <> :reason",
                    {"reason": reason, "none": NO_STAMP, "scope": scope_id, "path": path},
                )
                if marked.rowcount:
                    writing.raise_version(connection, scope_id)
                    if path not in damaged:  # else new seals would cover up the damage; so it is left out
                        seals.seal(connection, document_id(scope, path), scope)

    def request_reingest(self, ids: Collection[ChunkId]) -> None:
        with self._connections.writing("ask for documents to be ingested again") as connection:
            values = {"none": NO_STAMP, "ids": json.dumps(list(ids))}
            connection.execute(
                "UPDATE documents SET stamp = :none WHERE stamp <> :none AND id IN "
                "(SELECT c.document_id FROM json_each(:ids) AS wanted JOIN chunks c ON c.id = wanted.value)",
                values,
            )
            connection.execute(  # so that the indexes, too, are told when they are stored again
                "UPDATE chunks SET fingerprint = :none WHERE fingerprint <> :none AND id IN "
                "(SELECT value FROM json_each(:ids))",
                values,
            )

    def _store_document(self, connection: sqlite3.Connection, write: DocumentWrite) -> ChunkCounts:
        document = write.document
        scope_id = writing.scope_id(connection, document.scope)
        stored = connection.execute(
            f"SELECT {records.sealed('d.seal')} FROM documents d WHERE d.id = ?", (document.id,)
        ).fetchone()
        keeps_time = stored is not None and records.intact(stored, document.scope, "d.seal")
        writing.upsert(
            connection,
            "documents",
            [records.document_row(document, scope_id, now=self._now())],
            except_for="created_at" if keeps_time else "",
        )
        counts = writing.store_chunks(connection, scope_id, write)
        if write.replaced is not None:
            removed.record(connection, scope_id, document.scope, write.replaced)
        seals.seal(connection, document.id, document.scope)
        return counts

    # ChangeLog

    def scopes(self) -> tuple[Scope, ...]:
        rows = self._rows("list scopes", "SELECT tenant, project FROM scopes ORDER BY tenant, project")
        return tuple(Scope(tenant, project) for tenant, project in rows)

    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]:
        rows = self._rows(
            "read the change log",
            f"SELECT {records.sealed(*seals.OF_CHUNK)}, l.position AS log_position, l.chunk_id, l.is_put, e.vector, "
            "e.seal AS vector_seal FROM changes l LEFT JOIN chunks c ON c.id = l.chunk_id "
            f"LEFT JOIN documents d ON d.id = c.document_id {seals.VECTOR} "
            f"WHERE l.scope = {_SCOPE} AND l.position > :after ORDER BY l.position LIMIT :limit",
            {**_values(scope), "model": self._model_name, "after": after, "limit": limit},
        )
        changes = tuple(records.change_of(row, scope) for row in rows)
        puts = {row["chunk_id"] for row in rows if row["is_put"]}
        damaged = [change.chunk_id for change in changes if change.text is None and change.chunk_id in puts]
        if damaged:
            _logger.warning("damaged, and not indexed until their documents are ingested again: %s", ", ".join(damaged))
            self.request_reingest(damaged)
        return changes

    def last_position(self, scope: Scope) -> int:
        return self._of_scope(
            scope, "max(log_floor, coalesce((SELECT max(position) FROM changes c WHERE c.scope = scopes.id), 0))"
        )

    def floor(self, scope: Scope) -> int:
        return self._of_scope(scope, "log_floor")

    def trim(self, scope: Scope, *, up_to: int) -> None:
        with self._connections.writing("trim the change log") as connection:
            values = {**_values(scope), "up_to": up_to}
            trimmed = connection.execute(
                f"DELETE FROM changes WHERE scope = {_SCOPE} AND position <= :up_to AND NOT is_put", values
            )
            if trimmed.rowcount:
                connection.execute(f"UPDATE scopes SET log_floor = :up_to WHERE id = {_SCOPE}", values)

    def version(self, scope: Scope) -> int:
        return self._of_scope(scope, "version")

    def _of_scope(self, scope: Scope, expression: str) -> int:
        """A number of the scope's row, 0 where there is none."""
        rows = self._rows("read the change log", f"SELECT {expression} FROM scopes WHERE id = {_SCOPE}", _values(scope))
        return int(rows[0][0]) if rows else 0

    def projection(self, name: str, scope: Scope) -> ProjectionState | None:
        statement = f"SELECT generation, position FROM projections WHERE name = :name AND scope = {_SCOPE}"
        rows = self._rows("read the position of an index", statement, {**_values(scope), "name": name})
        return ProjectionState(*rows[0]) if rows else None

    def record_projection(self, name: str, scope: Scope, state: ProjectionState) -> None:
        with self._connections.writing("record the position of an index") as connection:
            scope_id = writing.scope_id(connection, scope)
            connection.execute(
                "INSERT OR REPLACE INTO projections (name, scope, generation, position) VALUES (?, ?, ?, ?)",
                (name, scope_id, state.generation, state.position),
            )
            writing.raise_version(connection, scope_id)

    # EmbeddingCache

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]:
        statement = "SELECT text_digest, vector, seal FROM embeddings WHERE model = ? AND text_digest IN ({})"
        return {key: Vector(found) for key, found in self._embeddings(statement, digests)}

    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]:
        statement = "SELECT text_digest, vectors, seal FROM word_vectors WHERE model = ? AND text_digest IN ({})"
        return {key: WordVectors(found) for key, found in self._embeddings(statement, digests)}

    def _embeddings(self, statement: str, digests: Collection[Digest]) -> Iterator[tuple[Digest, bytes]]:
        keys = [bytes.fromhex(digest) for digest in digests]
        with self._connections.reading("read embeddings") as connection:
            for start in range(0, len(keys), VALUES_PER_STATEMENT):
                group = keys[start : start + VALUES_PER_STATEMENT]
                marks = ",".join("?" * len(group))
                for key, found, seal in connection.execute(statement.format(marks), (self._model_name, *group)):
                    if records.seal_of((key, found)) == seal:
                        yield Digest(key.hex()), found

    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors]) -> None:
        known, known_words = self.vectors(vectors), self.word_vectors(words)
        with self._connections.writing("keep embeddings") as connection:
            for columns, kept, intact in (
                ("embeddings (text_digest, vector", vectors, known),
                ("word_vectors (text_digest, vectors", words, known_words),
            ):
                new = [(bytes.fromhex(key), value) for key, value in kept.items() if key not in intact]
                connection.executemany(  # replaces none but a damaged one
                    f"INSERT OR REPLACE INTO {columns}, model, seal) VALUES (?, ?, ?, ?)",
                    [(*pair, self._model_name, records.seal_of(pair)) for pair in new],
                )

    def lacks_word_vectors(self) -> bool:
        statement = (
            "SELECT c.text_digest, w.vectors, w.seal FROM chunks c LEFT JOIN word_vectors w "
            "ON w.text_digest = c.text_digest AND w.model = ?"
        )
        with self._connections.reading("look for missing embeddings") as connection:
            found = connection.execute(statement, (self._model_name,))
            return any(records.seal_of((digest, vectors)) != seal for digest, vectors, seal in found)

    # Catalog

    def sources(self, scope: Scope) -> tuple[SourceRef, ...]:
        columns = records.SOURCE_COLUMNS
        statement = f"SELECT {', '.join(columns)}, seal FROM sources WHERE scope = {_SCOPE} ORDER BY mount"
        rows = self._rows("list sources", statement, _values(scope))
        for row in rows:
            if records.seal_of(row[: len(columns)], scope) != row["seal"]:  # who may read what is in it?
                raise self._damage(f"the record of source {row['mount'] or '.'} in {scope}, with its access rules,")
        return tuple(map(records.source_of, rows))

    def register(self, scope: Scope, source: SourceRef) -> None:
        row = records.source_row(source, scope)
        with self._connections.writing("register a source") as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO sources (scope, {', '.join(row)}) VALUES (:scope, :{', :'.join(row)})",
                {**row, "scope": writing.scope_id(connection, scope)},
            )

    def facts(self) -> LibraryFacts | None:
        stored = self._fact("library")
        return LibraryFacts(**stored) if stored else None

    def record_facts(self, facts: LibraryFacts) -> None:
        self._record_fact("library", asdict(facts))

    def last_ingest(self) -> Mapping[str, Json] | None:
        return self._fact("last_ingest")

    def record_ingest(self, summary: Mapping[str, Json]) -> None:
        self._record_fact("last_ingest", summary)

    def _fact(self, name: str) -> dict[str, Any] | None:
        rows = self._rows(
            "read the facts of the library", "SELECT name, value, seal FROM facts WHERE name = ?", (name,)
        )
        if rows and records.seal_of(rows[0][:2]) != rows[0]["seal"]:
            raise self._damage(f"the record {name!r}")
        return json.loads(rows[0]["value"]) if rows else None

    def _record_fact(self, name: str, value: Mapping[str, object]) -> None:
        pair = (name, json.dumps(value))
        with self._connections.writing("record a fact of the library") as connection:
            connection.execute(
                "INSERT OR REPLACE INTO facts (name, value, seal) VALUES (?, ?, ?)", (*pair, records.seal_of(pair))
            )

    def check(self) -> None:
        ((found,),) = self._rows("check the catalog", "PRAGMA integrity_check(1)")
        if found != "ok":
            raise Misconfigured(f"the catalog {self._connections.file} is damaged: {found}")
        damaged: list[str] = []
        for scope in self.scopes():
            self.sources(scope)  # raises if one is damaged
            damaged += sorted(self._damaged(scope, self.paths(scope), is_thorough=True))
        if damaged:
            named = ", ".join([*damaged[:MAX_NAMED], *(["…"] if len(damaged) > MAX_NAMED else [])])
            count = "1 document is" if len(damaged) == 1 else f"{len(damaged):,} documents are"
            raise Misconfigured(f"{count} damaged ({named}): {seals.INGEST_AGAIN}")

    def _damage(self, what: str) -> Misconfigured:
        return Misconfigured(
            f"{what} is damaged in {self._connections.file}: restore the library from a backup, or move its folder "
            "away and ingest again"
        )

    def compact(self, *, keep_word_vectors: bool = True) -> bool:
        with self._connections.writing("remove unused vectors") as connection:
            unused = "text_digest NOT IN (SELECT text_digest FROM chunks)"
            connection.execute(f"DELETE FROM embeddings WHERE {unused}")
            connection.execute("DELETE FROM removed_texts")
            connection.execute(f"DELETE FROM word_vectors WHERE {unused if keep_word_vectors else 'TRUE'}")
        with self._connections.reading("compact the catalog", is_patient=True) as connection:
            connection.execute("VACUUM")
            connection.execute(f"PRAGMA busy_timeout = {READERS_END_MS}")
            (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    def size_bytes(self) -> int:
        return self._connections.size_bytes()

    def close(self) -> None:
        self._connections.close()

    def _rows(self, action: str, statement: str, values: Mapping[str, object] | Sequence[object] = ()) -> list[Any]:
        with self._connections.reading(action) as connection:
            return connection.execute(statement, values).fetchall()


def _values(scope: Scope) -> dict[str, object]:
    return {"tenant": scope.tenant, "project": scope.project}


def _paths(scope: Scope, paths: Collection[str]) -> dict[str, object]:
    return {**_values(scope), "paths": json.dumps(list(paths))}


def _named(where: Where) -> dict[str, object]:
    """The values of `where` that statements refer to."""
    readers = json.dumps(sorted(where.readers or ()))
    return {**_values(where.scope), "sees_all": where.readers is None, "readers": readers}
