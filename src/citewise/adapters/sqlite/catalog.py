"""The catalog in one SQLite file."""

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from citewise.adapters.sqlite import rows as records
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.schema import APPLICATION_ID, OLD_APPLICATION_ID, TABLES, VERSION
from citewise.errors import CitewiseError, Misconfigured
from citewise.model.access import Access, Scope
from citewise.model.chunk import Change, Chunk, ChunkCounts, Vector, WordVectors
from citewise.model.document import Document, Json, KnownDocument, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.ranking import Passage
from citewise.model.report import LibraryFacts
from citewise.ports.catalog import DocumentSummary, DocumentWrite, ProjectionState

READERS_END_MS = 2_000  # how long compaction waits for readers that began before it; searches take milliseconds
VALUES_PER_STATEMENT = 500  # well under SQLite's limit on the number of values
NO_STAMP = "-"  # equals no stamp that ingestion computes
FACETS = ("module", "chapter", "corpus_type", "content_type")
_SCOPE = "(SELECT id FROM scopes WHERE tenant = :tenant AND project = :project)"  # NULL, which no row has, if unknown
_ACCESS = "(SELECT json_group_array(a.reader) FROM access a WHERE a.document_id = d.id) AS access"
_READABLE = f"""d.scope = {_SCOPE} AND (:sees_all OR EXISTS (
    SELECT 1 FROM access a WHERE a.document_id = d.id AND a.reader IN (SELECT value FROM json_each(:readers))
))"""


class SqliteCatalog:
    """The port `Catalog` over one file: one transaction covers all of it."""

    engine = "sqlite"

    def __init__(self, connections: Connections, *, model_name: str, now: Callable[[], float] = time.time) -> None:
        self._connections = connections
        self._model_name = model_name
        self._now = now
        try:
            with connections.reading("open the catalog") as connection:
                is_ready = _has_tables(connection, connections.file)
            if not is_ready:
                with connections.writing("create the catalog") as connection:
                    if not _has_tables(connection, connections.file):  # another process may just have created them
                        connections.create_tables(connection, TABLES, VERSION)
                        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        except CitewiseError:
            connections.close()
            raise

    # CatalogReader

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Mapping[ChunkId, Passage | None]:
        with self._connections.reading("read passages") as connection:
            cursor = connection.cursor()
            cursor.row_factory = None  # plain tuples: names would cost more than the reading
            rows = cursor.execute(records.READ_PASSAGES, {**_named(where), "ids": json.dumps(ids)}).fetchall()
        return records.hydrated(rows, ids)

    def document(self, where: Where, id_: DocumentId) -> Document | None:
        statement = f"SELECT d.*, {_ACCESS} FROM documents d WHERE d.id = :id AND {_READABLE}"
        rows = self._rows("read a document", statement, {**_named(where), "id": id_})
        return records.document_of(rows[0], where.scope) if rows else None

    def documents(self, where: Where, *, after: str = "", limit: int) -> tuple[DocumentSummary, ...]:
        rows = self._rows(
            "list documents",
            "SELECT d.id, d.path, d.title, d.mount, d.corpus_type, d.updated_at, "
            f"(SELECT count(*) FROM chunks c WHERE c.document_id = d.id) AS chunks, {_ACCESS} "
            f"FROM documents d WHERE d.path > :after AND {_READABLE} ORDER BY d.path LIMIT :limit",
            {**_named(where), "after": after, "limit": limit},
        )
        return tuple(DocumentSummary(**{**row, "access": Access(frozenset(json.loads(row["access"])))}) for row in rows)

    def chunks(self, where: Where, document: DocumentId) -> tuple[Chunk, ...]:
        rows = self._rows(
            "read chunks",
            "SELECT c.* FROM chunks c JOIN documents d ON d.id = c.document_id "
            f"WHERE d.id = :id AND {_READABLE} ORDER BY c.position",
            {**_named(where), "id": document},
        )
        found = (records.chunk_of(row, where.scope) for row in rows)
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

    def stamps(self, scope: Scope, paths: Collection[str]) -> Mapping[str, KnownDocument]:
        rows = self._rows(
            "read stamps",
            "SELECT d.path, d.mount, d.stamp, (SELECT count(*) FROM chunks c WHERE c.document_id = d.id) FROM "
            f"json_each(:paths) AS wanted CROSS JOIN documents d ON d.scope = {_SCOPE} AND d.path = wanted.value",
            {**_values(scope), "paths": json.dumps(list(paths))},
        )
        return {path: KnownDocument(mount, Digest(stamp), chunks) for path, mount, stamp, chunks in rows}

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
                _raise_version(connection, _scope_id(connection, scope))
        return total

    def remove(self, scope: Scope, paths: Collection[str]) -> int:
        removed = 0
        with self._connections.writing("remove documents") as connection:
            (scope_id,) = connection.execute(f"SELECT {_SCOPE}", _values(scope)).fetchone()
            for path in paths:
                rows = connection.execute(
                    "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id "
                    "WHERE d.scope = ? AND d.path = ?",
                    (scope_id, path),
                )
                ids = [id_ for (id_,) in rows]
                connection.execute("DELETE FROM documents WHERE scope = ? AND path = ?", (scope_id, path))
                _log(connection, scope_id, ids, is_put=False)
                removed += len(ids)
            _raise_version(connection, scope_id)
        return removed

    def request_reingest(self, ids: Collection[ChunkId]) -> None:
        with self._connections.writing("ask for documents to be ingested again") as connection:
            connection.execute(
                "UPDATE documents SET stamp = :none WHERE stamp <> :none AND id IN "
                "(SELECT c.document_id FROM json_each(:ids) AS wanted JOIN chunks c ON c.id = wanted.value)",
                {"none": NO_STAMP, "ids": json.dumps(list(ids))},
            )

    def _store_document(self, connection: sqlite3.Connection, write: DocumentWrite) -> ChunkCounts:
        document = write.document
        scope_id = _scope_id(connection, document.scope)
        _upsert(
            connection,
            "documents",
            [records.document_row(document, scope_id, now=self._now())],
            except_for="created_at",
        )
        connection.execute("DELETE FROM access WHERE document_id = ?", (document.id,))
        connection.executemany(
            "INSERT INTO access (document_id, reader) VALUES (?, ?)",
            [(document.id, reader) for reader in sorted(document.access.readers)],
        )
        return _store_chunks(connection, scope_id, write)

    # ChangeLog

    def scopes(self) -> tuple[Scope, ...]:
        rows = self._rows("list scopes", "SELECT tenant, project FROM scopes ORDER BY tenant, project")
        return tuple(Scope(tenant, project) for tenant, project in rows)

    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]:
        rows = self._rows(
            "read the change log",
            "SELECT l.position, l.chunk_id, l.is_put, c.breadcrumb, c.text, c.labels, c.numbers, e.vector "
            "FROM changes l LEFT JOIN chunks c ON c.id = l.chunk_id "
            "LEFT JOIN embeddings e ON e.text_digest = c.text_digest AND e.model = :model "
            f"WHERE l.scope = {_SCOPE} AND l.position > :after ORDER BY l.position LIMIT :limit",
            {**_values(scope), "model": self._model_name, "after": after, "limit": limit},
        )
        return tuple(map(records.change_of, rows))

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
            scope_id = _scope_id(connection, scope)
            connection.execute(
                "INSERT OR REPLACE INTO projections (name, scope, generation, position) VALUES (?, ?, ?, ?)",
                (name, scope_id, state.generation, state.position),
            )
            _raise_version(connection, scope_id)

    # EmbeddingCache

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]:
        statement = "SELECT text_digest, vector FROM embeddings WHERE model = ? AND text_digest IN ({})"
        return {key: Vector(found) for key, found in self._embeddings(statement, digests)}

    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]:
        statement = "SELECT text_digest, vectors FROM word_vectors WHERE model = ? AND text_digest IN ({})"
        return {key: WordVectors(found) for key, found in self._embeddings(statement, digests)}

    def _embeddings(self, statement: str, digests: Collection[Digest]) -> Iterator[tuple[Digest, bytes]]:
        keys = [bytes.fromhex(digest) for digest in digests]
        with self._connections.reading("read embeddings") as connection:
            for start in range(0, len(keys), VALUES_PER_STATEMENT):
                group = keys[start : start + VALUES_PER_STATEMENT]
                marks = ",".join("?" * len(group))
                for key, found in connection.execute(statement.format(marks), (self._model_name, *group)):
                    yield Digest(key.hex()), found

    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors]) -> None:
        with self._connections.writing("keep embeddings") as connection:
            for columns, kept in (("embeddings (vector", vectors), ("word_vectors (vectors", words)):
                connection.executemany(
                    f"INSERT OR IGNORE INTO {columns}, text_digest, model) VALUES (?, ?, ?)",
                    [(value, bytes.fromhex(key), self._model_name) for key, value in kept.items()],
                )

    def lacks_word_vectors(self) -> bool:
        statement = (
            "SELECT 1 FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM word_vectors w "
            "WHERE w.text_digest = c.text_digest AND w.model = ?) LIMIT 1"
        )
        return bool(self._rows("look for missing embeddings", statement, (self._model_name,)))

    # Catalog

    def sources(self, scope: Scope) -> tuple[SourceRef, ...]:
        statement = f"SELECT mount, root, access, kind FROM sources WHERE scope = {_SCOPE} ORDER BY mount"
        return tuple(
            SourceRef(mount, root, tuple((part, tuple(rule)) for part, rule in json.loads(access)), kind)
            for mount, root, access, kind in self._rows("list sources", statement, _values(scope))
        )

    def register(self, scope: Scope, source: SourceRef) -> None:
        with self._connections.writing("register a source") as connection:
            scope_id = _scope_id(connection, scope)
            connection.execute(
                "INSERT OR REPLACE INTO sources (scope, mount, root, access, kind) VALUES (?, ?, ?, ?, ?)",
                (scope_id, source.mount, source.root, json.dumps(source.access), source.kind),
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
        rows = self._rows("read the facts of the library", "SELECT value FROM facts WHERE name = ?", (name,))
        return json.loads(rows[0]["value"]) if rows else None

    def _record_fact(self, name: str, value: Mapping[str, object]) -> None:
        with self._connections.writing("record a fact of the library") as connection:
            connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", (name, json.dumps(value)))

    def check(self) -> None:
        ((found,),) = self._rows("check the catalog", "PRAGMA quick_check(1)")
        if found != "ok":
            raise Misconfigured(f"the catalog {self._connections.file} is damaged: {found}")

    def compact(self, *, keep_word_vectors: bool = True) -> bool:
        with self._connections.writing("remove unused vectors") as connection:
            unused = "text_digest NOT IN (SELECT text_digest FROM chunks)"
            connection.execute(f"DELETE FROM embeddings WHERE {unused}")
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


def _has_tables(connection: sqlite3.Connection, file: Path) -> bool:
    """Whether the tables are there. Raises Misconfigured for a file of another version of citewise."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == OLD_APPLICATION_ID or 0 < version < VERSION:
        raise Misconfigured(
            f"{file} was made by an older citewise, such as 0.1, and cannot be read by this one: move the library's "
            "folder away, then rebuild it with `citewise ingest PATH`"
        )
    if version > VERSION:
        raise Misconfigured(
            f"{file} was made by a newer citewise (schema {version}, this version knows {VERSION}): upgrade "
            "citewise, or use another library folder with --library"
        )
    return bool(version)


def _upsert(connection: sqlite3.Connection, table: str, rows: Sequence[records.Row], *, except_for: str = "") -> None:
    """Insert rows, or replace those with the same id, but for the column `except_for`. No name comes from input."""
    if not rows:
        return
    columns, values = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
    changes = ", ".join(f"{name} = excluded.{name}" for name in rows[0] if name not in ("id", except_for))
    connection.executemany(
        f"INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changes}", rows
    )


def _store_chunks(connection: sqlite3.Connection, scope_id: int, write: DocumentWrite) -> ChunkCounts:
    before = dict(
        connection.execute("SELECT id, fingerprint FROM chunks WHERE document_id = ?", (write.document.id,)).fetchall()
    )
    now = {chunk.id: chunk.fingerprint for chunk in write.chunks}
    gone = [ChunkId(id_) for id_ in before if id_ not in now]
    created = [id_ for id_ in now if id_ not in before]
    updated = [id_ for id_, fingerprint in now.items() if id_ in before and before[id_] != fingerprint]
    connection.executemany("DELETE FROM chunks WHERE id = ?", [(id_,) for id_ in gone])
    _upsert(connection, "chunks", list(map(records.chunk_row, write.chunks)))
    _log(connection, scope_id, gone, is_put=False)
    _log(connection, scope_id, [*created, *updated], is_put=True)
    return ChunkCounts(len(created), len(updated), len(gone), len(now) - len(created) - len(updated))


def _log(connection: sqlite3.Connection, scope_id: int, ids: Iterable[str], *, is_put: bool) -> None:
    """A chunk is in the log once, at its latest change: REPLACE gives it a new position."""
    connection.executemany(
        "INSERT OR REPLACE INTO changes (scope, chunk_id, is_put) VALUES (?, ?, ?)",
        [(scope_id, id_, is_put) for id_ in ids],
    )


def _raise_version(connection: sqlite3.Connection, scope_id: int) -> None:
    connection.execute("UPDATE scopes SET version = version + 1 WHERE id = ?", (scope_id,))


def _scope_id(connection: sqlite3.Connection, scope: Scope) -> int:
    """The scope's number; a new one for a new scope."""
    connection.execute("INSERT OR IGNORE INTO scopes (tenant, project) VALUES (:tenant, :project)", _values(scope))
    (number,) = connection.execute(f"SELECT {_SCOPE}", _values(scope)).fetchone()
    return int(number)


def _values(scope: Scope) -> dict[str, object]:
    return {"tenant": scope.tenant, "project": scope.project}


def _named(where: Where) -> dict[str, object]:
    """The values of `where` that statements refer to."""
    readers = json.dumps(sorted(where.readers or ()))
    return {**_values(where.scope), "sees_all": where.readers is None, "readers": readers}
