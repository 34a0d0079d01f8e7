"""The catalog in one SQLite file: documents, chunks, access rules, embedding cache, change log."""

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.rows import (
    change_of,
    chunk_of,
    chunk_row,
    document_of,
    document_row,
    stamp_of,
    upsert,
)
from citewise.adapters.sqlite.schema import create_tables, has_tables
from citewise.errors import CitewiseError, Misconfigured
from citewise.model.access import Scope
from citewise.model.chunk import Change, Chunk, ChunkCounts, Vector, WordVectors
from citewise.model.document import Document, KnownDocument, SourceRef
from citewise.model.ids import ChunkId, Digest
from citewise.ports.catalog import NO_WORDS, DocumentWrite, ProjectionState, ScopeCensus

READERS_END_MS = 2_000  # how long compaction waits for readings that began before it; searches take milliseconds
VALUES_A_STATEMENT = 500  # well under SQLite's limit on the number of values


class SqliteCatalog:
    """Catalog, Outbox, Projections, EmbeddingCache and Registry over one file: one transaction covers them all."""

    def __init__(self, connections: Connections, *, model_name: str, now: Callable[[], float] = time.time) -> None:
        self._connections = connections
        self._model_name = model_name
        self._now = now
        try:
            with connections.reading("open the catalog") as connection:
                is_ready = has_tables(connection)
            if not is_ready:
                with connections.patient("create the catalog") as connection:
                    create_tables(connection)
        except CitewiseError:
            connections.close()
            raise

    def close(self) -> None:
        self._connections.close()

    def check(self) -> None:
        """Raise Misconfigured if the file is damaged."""
        with self._connections.reading("check the catalog") as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise Misconfigured(f"the catalog {self._connections.file} is damaged: {found}")

    def compact(self, *, keeps_words: bool = True) -> bool:
        """Remove vectors of texts that are no longer here, and every trace of what was deleted from the file.

        Without `keeps_words`, the vectors of all words go with them: nobody looks at them any more.
        False if another connection's reading kept the log beside the file from being emptied.
        """
        with self._connections.writing("remove unused vectors") as connection:
            for table, keeps_some in (("embeddings", True), ("word_vectors", keeps_words)):
                unused = "text_digest NOT IN (SELECT text_digest FROM chunks)" if keeps_some else "TRUE"
                connection.execute(f"DELETE FROM {table} WHERE {unused}")
        with self._connections.patient("compact the catalog") as connection:
            connection.execute("VACUUM")
            connection.execute(f"PRAGMA busy_timeout = {READERS_END_MS}")
            (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    # Catalog

    def known(self, scope: Scope) -> Mapping[str, KnownDocument]:
        with self._connections.reading("list documents") as connection:
            rows = connection.execute(
                "SELECT path, mount, stamp, "
                "(SELECT count(*) FROM chunks c WHERE c.document_id = d.id) AS chunks "
                "FROM documents d WHERE scope = ?",
                (_scope_id(connection, scope),),
            )
            return {row["path"]: KnownDocument(row["mount"], stamp_of(row["stamp"]), row["chunks"]) for row in rows}

    def store(self, writes: Sequence[DocumentWrite]) -> ChunkCounts:
        total = ChunkCounts()
        with self._connections.writing("store documents") as connection:
            for write in writes:
                total += self._store_one(connection, write)
            for scope in {write.document.scope for write in writes}:
                _raise_version(connection, _scope_id(connection, scope))
        return total

    def remove(self, scope: Scope, paths: Collection[str]) -> int:
        removed = 0
        with self._connections.writing("remove documents") as connection:
            scope_id = _scope_id(connection, scope)
            for path in paths:
                ids = [
                    row["id"]
                    for row in connection.execute(
                        "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id "
                        "WHERE d.scope = ? AND d.path = ?",
                        (scope_id, path),
                    )
                ]
                connection.execute("DELETE FROM documents WHERE scope = ? AND path = ?", (scope_id, path))
                _log(connection, scope_id, ids, is_put=False)
                removed += len(ids)
            _raise_version(connection, scope_id)
        return removed

    def documents(self, scope: Scope) -> Iterator[Document]:
        with self._connections.reading("read documents") as connection:
            scope_id = _scope_id(connection, scope)
            ids = connection.execute("SELECT id FROM documents WHERE scope = ? ORDER BY path", (scope_id,)).fetchall()
            for (id_,) in ids:  # one by one: a library's texts need not fit into memory together
                row = connection.execute("SELECT * FROM documents WHERE id = ?", (id_,)).fetchone()
                readers = connection.execute("SELECT reader FROM access WHERE document_id = ?", (id_,))
                if row is not None:
                    yield document_of(row, scope, [reader for (reader,) in readers])

    def chunks(self, scope: Scope, path: str) -> tuple[Chunk, ...]:
        with self._connections.reading("read chunks") as connection:
            rows = connection.execute(
                "SELECT c.* FROM chunks c JOIN documents d ON d.id = c.document_id "
                "WHERE d.scope = ? AND d.path = ? ORDER BY c.position",
                (_scope_id(connection, scope), path),
            )
            return tuple(chunk_of(row, scope) for row in rows)

    def census(self) -> tuple[ScopeCensus, ...]:
        with self._connections.reading("count documents") as connection:
            rows = connection.execute(
                "SELECT s.tenant, s.project, "
                "(SELECT count(*) FROM documents d WHERE d.scope = s.id) AS documents, "
                "(SELECT count(*) FROM changes c WHERE c.scope = s.id AND c.is_put) AS chunks, "
                "max(s.log_floor, coalesce((SELECT max(position) FROM changes c WHERE c.scope = s.id), 0)) "
                "AS last_position "
                "FROM scopes s ORDER BY s.tenant, s.project"
            )
            return tuple(
                ScopeCensus(
                    Scope(row["tenant"], row["project"]),
                    row["documents"],
                    row["chunks"],
                    row["last_position"],
                )
                for row in rows
            )

    # Outbox

    def scopes(self) -> tuple[Scope, ...]:
        with self._connections.reading("list scopes") as connection:
            rows = connection.execute("SELECT tenant, project FROM scopes ORDER BY tenant, project")
            return tuple(Scope(row["tenant"], row["project"]) for row in rows)

    def floor(self, scope: Scope) -> int:
        with self._connections.reading("read the change log") as connection:
            row = connection.execute(
                "SELECT log_floor FROM scopes WHERE tenant = ? AND project = ?", (scope.tenant, scope.project)
            ).fetchone()
            return int(row["log_floor"]) if row else 0

    def last_position(self, scope: Scope) -> int:
        with self._connections.reading("read the change log") as connection:
            row = connection.execute(
                "SELECT max(position) AS last FROM changes WHERE scope = ?", (_scope_id(connection, scope),)
            ).fetchone()
        return max(int(row["last"] or 0), self.floor(scope))

    def written_since(self, scope: Scope, position: int) -> frozenset[ChunkId]:
        """The living chunks that were put behind this position of the log."""
        with self._connections.reading("read the change log") as connection:
            rows = connection.execute(
                "SELECT chunk_id FROM changes WHERE scope = ? AND position > ? AND is_put",
                (_scope_id(connection, scope), position),
            )
            return frozenset(ChunkId(id_) for (id_,) in rows)

    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]:
        with self._connections.reading("read the change log") as connection:
            rows = connection.execute(
                "SELECT l.position, l.chunk_id, l.is_put, c.breadcrumb, c.text, c.labels, c.numbers, e.vector "
                "FROM changes l LEFT JOIN chunks c ON c.id = l.chunk_id "
                "LEFT JOIN embeddings e ON e.text_digest = c.text_digest AND e.model = ? "
                "WHERE l.scope = ? AND l.position > ? ORDER BY l.position LIMIT ?",
                (self._model_name, _scope_id(connection, scope), after, limit),
            )
            return tuple(change_of(row) for row in rows)

    def forget_drops(self, scope: Scope, *, up_to: int) -> None:
        with self._connections.writing("trim the change log") as connection:
            scope_id = _scope_id(connection, scope)
            gone = connection.execute(
                "DELETE FROM changes WHERE scope = ? AND position <= ? AND NOT is_put", (scope_id, up_to)
            )
            if gone.rowcount:
                connection.execute("UPDATE scopes SET log_floor = ? WHERE id = ?", (up_to, scope_id))

    def version(self, scope: Scope) -> int:
        with self._connections.reading("look for changes") as connection:
            row = connection.execute(
                "SELECT version FROM scopes WHERE tenant = ? AND project = ?", (scope.tenant, scope.project)
            ).fetchone()
            return int(row["version"]) if row else 0

    # Projections

    def projection(self, name: str, scope: Scope) -> ProjectionState | None:
        with self._connections.reading("read the position of an index") as connection:
            row = connection.execute(
                "SELECT generation, position FROM projections WHERE name = ? AND scope = ?",
                (name, _scope_id(connection, scope)),
            ).fetchone()
            return ProjectionState(row["generation"], row["position"]) if row else None

    def record_projection(self, name: str, scope: Scope, state: ProjectionState) -> None:
        with self._connections.writing("record the position of an index") as connection:
            scope_id = _made_scope_id(connection, scope)
            connection.execute(
                "INSERT OR REPLACE INTO projections (name, scope, generation, position) VALUES (?, ?, ?, ?)",
                (name, scope_id, state.generation, state.position),
            )
            _raise_version(connection, scope_id)

    # EmbeddingCache

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]:
        statement = "SELECT text_digest, vector FROM embeddings WHERE model = ? AND text_digest IN ({})"
        return {key: Vector(found) for key, found in self._kept(statement, digests)}

    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]:
        statement = "SELECT text_digest, vectors FROM word_vectors WHERE model = ? AND text_digest IN ({})"
        return {key: WordVectors(found) for key, found in self._kept(statement, digests)}

    def lacks_word_vectors(self) -> bool:
        """Whether a chunk's text is here whose words are not."""
        with self._connections.reading("look for missing embeddings") as connection:
            (found,) = connection.execute(
                "SELECT EXISTS (SELECT 1 FROM chunks c WHERE NOT EXISTS "
                "(SELECT 1 FROM word_vectors w WHERE w.text_digest = c.text_digest AND w.model = ?))",
                (self._model_name,),
            ).fetchone()
        return bool(found)

    def _kept(self, statement: str, digests: Collection[Digest]) -> Iterator[tuple[Digest, bytes]]:
        with self._connections.reading("read embeddings") as connection:
            for group in _groups([bytes.fromhex(digest) for digest in digests]):
                marks = ",".join("?" * len(group))
                for key, found in connection.execute(statement.format(marks), (self._model_name, *group)):
                    yield Digest(key.hex()), found

    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors] = NO_WORDS) -> None:
        with self._connections.writing("keep embeddings") as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO embeddings (text_digest, model, vector) VALUES (?, ?, ?)",
                [(bytes.fromhex(key), self._model_name, vector) for key, vector in vectors.items()],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO word_vectors (text_digest, model, vectors) VALUES (?, ?, ?)",
                [(bytes.fromhex(key), self._model_name, of_words) for key, of_words in words.items()],
            )

    # Registry

    def sources(self, scope: Scope) -> tuple[SourceRef, ...]:
        with self._connections.reading("list sources") as connection:
            rows = connection.execute(
                "SELECT mount, root, access FROM sources WHERE scope = ? ORDER BY mount",
                (_scope_id(connection, scope),),
            )
            return tuple(
                SourceRef(
                    row["mount"],
                    row["root"],
                    tuple((part, tuple(rule)) for part, rule in json.loads(row["access"])),
                )
                for row in rows
            )

    def register(self, scope: Scope, source: SourceRef) -> None:
        with self._connections.writing("register a source") as connection:
            connection.execute(
                "INSERT INTO sources (scope, mount, root, access) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (scope, mount) DO UPDATE SET root = excluded.root, access = excluded.access",
                (_made_scope_id(connection, scope), source.mount, source.root, json.dumps(source.access)),
            )

    def facts(self) -> Mapping[str, str]:
        with self._connections.reading("read the library's facts") as connection:
            return {row["name"]: row["value"] for row in connection.execute("SELECT name, value FROM facts")}

    def remember(self, facts: Mapping[str, str]) -> None:
        with self._connections.writing("write the library's facts") as connection:
            connection.executemany(
                "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                facts.items(),
            )

    def _store_one(self, connection: sqlite3.Connection, write: DocumentWrite) -> ChunkCounts:
        document = write.document
        scope_id = _made_scope_id(connection, document.scope)
        connection.executemany(
            *upsert("documents", [document_row(document, scope_id, now=self._now())], kept=("created_at",))
        )
        connection.execute("DELETE FROM access WHERE document_id = ?", (document.id,))
        connection.executemany(
            "INSERT INTO access (document_id, reader) VALUES (?, ?)",
            [(document.id, reader) for reader in sorted(document.access.readers)],
        )
        return _store_chunks(connection, scope_id, write)


def _store_chunks(connection: sqlite3.Connection, scope_id: int, write: DocumentWrite) -> ChunkCounts:
    before = dict(
        connection.execute("SELECT id, fingerprint FROM chunks WHERE document_id = ?", (write.document.id,)).fetchall()
    )
    now = {chunk.id: chunk.fingerprint for chunk in write.chunks}
    gone = [ChunkId(id_) for id_ in before if id_ not in now]
    created = [id_ for id_ in now if id_ not in before]
    updated = [id_ for id_, print_ in now.items() if id_ in before and before[id_] != print_]
    connection.executemany("DELETE FROM chunks WHERE id = ?", [(id_,) for id_ in gone])
    if write.chunks:
        connection.executemany(*upsert("chunks", map(chunk_row, write.chunks)))
    _log(connection, scope_id, gone, is_put=False)
    _log(connection, scope_id, [*created, *updated], is_put=True)
    return ChunkCounts(len(created), len(updated), len(gone), len(now) - len(created) - len(updated))


def _log(connection: sqlite3.Connection, scope_id: int, ids: Iterable[str], *, is_put: bool) -> None:
    """A chunk stands in the log once, at its latest change: REPLACE gives it a new position."""
    connection.executemany(
        "INSERT OR REPLACE INTO changes (scope, chunk_id, is_put) VALUES (?, ?, ?)",
        [(scope_id, id_, is_put) for id_ in ids],
    )


def _raise_version(connection: sqlite3.Connection, scope_id: int) -> None:
    connection.execute("UPDATE scopes SET version = version + 1 WHERE id = ?", (scope_id,))


def _scope_id(connection: sqlite3.Connection, scope: Scope) -> int:
    """The scope's number, or -1, which no row has."""
    row = connection.execute(
        "SELECT id FROM scopes WHERE tenant = ? AND project = ?", (scope.tenant, scope.project)
    ).fetchone()
    return int(row["id"]) if row else -1


def _made_scope_id(connection: sqlite3.Connection, scope: Scope) -> int:
    connection.execute("INSERT OR IGNORE INTO scopes (tenant, project) VALUES (?, ?)", (scope.tenant, scope.project))
    return _scope_id(connection, scope)


def _groups(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(values), VALUES_A_STATEMENT):
        yield values[start : start + VALUES_A_STATEMENT]
