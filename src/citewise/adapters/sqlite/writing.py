"""Documents and chunks into their tables and the change log, inside a transaction that the catalog has begun."""

import sqlite3
from collections.abc import Iterable, Sequence

from citewise.adapters.sqlite import rows as records
from citewise.adapters.sqlite import seals
from citewise.model.access import Scope
from citewise.model.chunk import ChunkCounts
from citewise.model.ids import ChunkId
from citewise.ports.catalog import DocumentWrite


def upsert(connection: sqlite3.Connection, table: str, rows: Sequence[records.Row], *, except_for: str = "") -> None:
    """Insert rows, or replace those with the same id, but for the column `except_for`. No name comes from input."""
    if not rows:
        return
    columns, values = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
    changes = ", ".join(f"{name} = excluded.{name}" for name in rows[0] if name not in ("id", except_for))
    connection.executemany(
        f"INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changes}", rows
    )


def store_chunks(connection: sqlite3.Connection, scope: int, write: DocumentWrite) -> ChunkCounts:
    before = dict(
        connection.execute("SELECT id, fingerprint FROM chunks WHERE document_id = ?", (write.document.id,)).fetchall()
    )
    now = {chunk.id: chunk.fingerprint for chunk in write.chunks}
    gone = [ChunkId(id_) for id_ in before if id_ not in now]
    created = [id_ for id_ in now if id_ not in before]
    updated = [id_ for id_, fingerprint in now.items() if id_ in before and before[id_] != fingerprint]
    connection.executemany("DELETE FROM chunks WHERE id = ?", [(id_,) for id_ in gone])
    upsert(connection, "chunks", list(map(records.chunk_row, write.chunks)))
    log(connection, scope, gone, is_put=False)
    log(connection, scope, [*created, *updated], is_put=True)
    return ChunkCounts(len(created), len(updated), len(gone), len(now) - len(created) - len(updated))


def log(connection: sqlite3.Connection, scope: int, ids: Iterable[str], *, is_put: bool) -> None:
    """A chunk is in the log once, at its latest change: REPLACE gives it a new position."""
    connection.executemany(
        "INSERT OR REPLACE INTO changes (scope, chunk_id, is_put) VALUES (?, ?, ?)",
        [(scope, id_, is_put) for id_ in ids],
    )


def raise_version(connection: sqlite3.Connection, scope: int) -> None:
    connection.execute("UPDATE scopes SET version = version + 1 WHERE id = ?", (scope,))


def scope_id(connection: sqlite3.Connection, scope: Scope) -> int:
    """The scope's number; a new one for a new scope."""
    values = {"tenant": scope.tenant, "project": scope.project}
    connection.execute("INSERT OR IGNORE INTO scopes (tenant, project) VALUES (:tenant, :project)", values)
    (number,) = connection.execute(f"SELECT {seals.SCOPE}", values).fetchone()
    return int(number)
