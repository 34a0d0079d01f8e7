"""The query log in one SQLite file beside the catalog."""

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from citewise.adapters.sqlite.connections import PrivateFile
from citewise.errors import Unavailable
from citewise.model.access import Scope
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.logged import Logged, LogScope

# No semicolon but between statements.
TABLES = """
    CREATE TABLE queries (
        id INTEGER PRIMARY KEY,
        at REAL NOT NULL, request_id TEXT NOT NULL, tenant TEXT NOT NULL, project TEXT NOT NULL,
        kind TEXT NOT NULL, user TEXT, text TEXT, conversation TEXT,
        latency_ms REAL NOT NULL, candidates INTEGER NOT NULL, hits INTEGER NOT NULL, is_cache_hit INTEGER NOT NULL,
        degraded TEXT NOT NULL, error TEXT,
        quality REAL, confidence REAL, has_warning INTEGER NOT NULL, sufficient_context INTEGER,
        tokens_in INTEGER, tokens_out INTEGER, embedding_tokens INTEGER NOT NULL,
        shown TEXT NOT NULL
    );
    CREATE INDEX queries_by_scope ON queries (tenant, project, at);
    CREATE INDEX queries_by_age ON queries (at);
    CREATE TABLE lost (at REAL NOT NULL, tenant TEXT NOT NULL, project TEXT NOT NULL, count INTEGER NOT NULL);
    CREATE INDEX queries_by_user ON queries (tenant, project, user, at) WHERE user IS NOT NULL
"""
VERSION = 4  # 1 and 2 were those of citewise 0.1
DAY_SECONDS = 86_400.0
# For how long a clock may be wrong before a write believes it; 0: one wrong minute empties the log; more: rows that
# nobody is shown any more stay in the file for as long.
DOUBT_SECONDS = 2 * DAY_SECONDS
# How long a use waits for another process's. Those last milliseconds, but for the sweep of a large log.
READ_SECONDS = 2.0  # short: a search that has lost its rankings reads what is popular
WRITE_SECONDS = 30.0  # long: it is a thread of its own that waits
MAX_ROWS = 500_000  # kept: see the setting query_log.rows
# Rows that a write removes besides as many as it brings, where there are too many; 0: a log that is too large stays so
# until it is swept; more: a program's end waits for it. So many take some tenths of a second.
SURPLUS_A_WRITE = 10_000
NONE = "[]"

# Columns that hold the field of the same name as it is, then the others.
_PLAIN = (
    *("at", "request_id", "text", "latency_ms", "candidates", "hits", "error", "quality", "confidence"),
    *("tokens_in", "tokens_out", "embedding_tokens", "conversation", "kind", "user"),
)
_OTHERS = ("tenant", "project", "degraded", "shown", "is_cache_hit", "has_warning", "sufficient_context")
_COLUMNS = ", ".join((*_PLAIN, *_OTHERS))
_INSERT = f"INSERT INTO queries ({_COLUMNS}) VALUES ({', '.join('?' * len((*_PLAIN, *_OTHERS)))})"
_plain = attrgetter(*_PLAIN)


class SqliteLog:
    """The port `LogStore` over one file, which the first row makes."""

    def __init__(
        self,
        file: Path,
        *,
        retention_days: float,
        max_rows: int = MAX_ROWS,
        now: Callable[[], float] = time.time,
        read_seconds: float = READ_SECONDS,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        self.file = PrivateFile(
            file, tables=TABLES, version=VERSION, read_seconds=read_seconds, write_seconds=write_seconds
        )
        self._retention_days = retention_days
        self._max_rows = max_rows
        self._now = now

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None:
        now = self._now()
        with self.file.writing("write the query log") as connection:
            connection.executemany(_INSERT, map(_values, rows))
            connection.executemany(
                "INSERT INTO lost (at, tenant, project, count) VALUES (?, ?, ?, ?)",
                [(now, scope.tenant, scope.project, count) for scope, count in lost.items()],
            )
            self._trim(connection, self._oldest_undoubted(connection), max_removed=len(rows) + SURPLUS_A_WRITE)

    def rows(self, log_scope: LogScope, *, since: float, limit: int) -> tuple[Logged, ...]:
        """The rows that `log_scope` admits; those of a user have an index of their own."""
        scope, user = log_scope.scope, log_scope.user
        theirs, reader = ("", ()) if user is None else ("AND user = ?", (user,))
        statement = (
            f"SELECT {_COLUMNS} FROM queries WHERE tenant = ? AND project = ? AND at >= ? {theirs} "
            "ORDER BY at DESC, id DESC LIMIT ?"
        )
        values = (scope.tenant, scope.project, max(since, self._oldest()), *reader, limit)
        with self.file.reading("read the query log") as connection:
            found = connection.execute(statement, values).fetchall() if connection else ()
            return tuple(_logged(scope, row) for row in found)

    def lost(self, scope: Scope, *, since: float) -> int:
        statement = "SELECT coalesce(sum(count), 0) FROM lost WHERE tenant = ? AND project = ? AND at >= ?"
        values = (scope.tenant, scope.project, max(since, self._oldest()))
        with self.file.reading("read the query log") as connection:
            return int(connection.execute(statement, values).fetchone()[0]) if connection else 0

    def shown(self) -> frozenset[DocumentId]:
        with self.file.reading("read the query log") as connection:
            rows = connection.execute("SELECT shown FROM queries WHERE shown <> ''") if connection else ()
            return frozenset(document for (stored,) in rows for document in _documents(stored))

    def forget(self, documents: Collection[DocumentId]) -> None:
        gone = frozenset(documents)
        if not gone or not self.file.path.exists():
            return
        with self.file.writing("remove documents from the query log") as connection:
            rows = connection.execute("SELECT id, shown FROM queries WHERE shown <> ''")
            changed = [
                (_stored([pair for pair in _shown(stored) if pair[1] not in gone]), id_)
                for id_, stored in rows
                if not gone.isdisjoint(_documents(stored))
            ]
            connection.executemany("UPDATE queries SET shown = ? WHERE id = ?", changed)

    def sweep(self) -> None:
        """Remove what is too old or too much, and every trace of what was removed from the file."""
        if not self._retention_days:
            try:
                self.file.path.unlink(missing_ok=True)
            except OSError as error:
                raise Unavailable(f"cannot remove the query log {self.file.path}: {error.strerror}") from error
        if not self.file.path.exists():
            return
        with self.file.writing("sweep the query log") as connection:
            self._trim(connection, self._oldest(), max_removed=2**62)  # no row has such a number
        self.file.vacuum("sweep the query log")

    def _oldest(self) -> float:
        return self._now() - self._retention_days * DAY_SECONDS

    def _oldest_undoubted(self, connection: sqlite3.Connection) -> float:
        """As `_oldest`, counted from the newest row that was written while the clock has been as it is for long."""
        now = self._now()
        statement = "SELECT coalesce(max(at), ?) FROM queries WHERE at <= ?"
        (sure,) = connection.execute(statement, (now, now - DOUBT_SECONDS)).fetchone()
        return float(sure) - self._retention_days * DAY_SECONDS

    def _trim(self, connection: sqlite3.Connection, oldest: float, *, max_removed: int) -> None:
        """Remove what is too old, and of too many rows some of those that were written first.

        Rows are numbered as they are written, so that nothing need be counted: those with the last `max_rows` numbers
        are so many at most, and a row from the future is too old once a later one is.
        """
        future = self._now() + DOUBT_SECONDS
        for table in ("queries", "lost"):
            connection.execute(
                f"DELETE FROM {table} WHERE at > ? AND rowid < (SELECT max(rowid) FROM {table} WHERE at < ?)",
                (future, oldest),
            )
            connection.execute(f"DELETE FROM {table} WHERE at < ?", (oldest,))
            connection.execute(
                f"DELETE FROM {table} WHERE rowid <= min((SELECT max(rowid) FROM {table}) - ?, "
                f"(SELECT min(rowid) - 1 FROM {table}) + ?)",
                (self._max_rows, max_removed),
            )


def _values(row: Logged) -> tuple[object, ...]:
    degraded = json.dumps(row.degraded) if row.degraded else NONE
    others = (row.scope.tenant, row.scope.project, degraded, _stored(row.shown))
    return (*_plain(row), *others, row.is_cache_hit, row.has_warning, row.sufficient_context)


def _logged(scope: Scope, row: Sequence[Any]) -> Logged:
    _, _, degraded, shown, is_cache_hit, has_warning, sufficient = row[len(_PLAIN) :]
    return Logged(
        **dict(zip(_PLAIN, row, strict=False)),
        scope=scope,
        degraded=tuple(json.loads(degraded)) if degraded != NONE else (),
        shown=_shown(shown),
        is_cache_hit=bool(is_cache_hit),
        has_warning=bool(has_warning),
        sufficient_context=None if sufficient is None else bool(sufficient),
    )


def _stored(shown: Iterable[tuple[ChunkId, DocumentId]]) -> str:
    return " ".join(f"{chunk}:{document}" for chunk, document in shown)


def _shown(stored: str) -> tuple[tuple[ChunkId, DocumentId], ...]:
    return tuple(map(_pair, stored.split(" "))) if stored else ()


def _documents(stored: str) -> set[DocumentId]:
    return {DocumentId(pair.partition(":")[2]) for pair in stored.split(" ")}


@lru_cache(maxsize=100_000)  # rows name the same chunks again and again: a tenth of the time, and of the memory
def _pair(stored: str) -> tuple[ChunkId, DocumentId]:
    chunk, document = stored.split(":")
    return ChunkId(chunk), DocumentId(document)
