"""The tables of the query log, and how an older file becomes a newer one."""

import sqlite3
from pathlib import Path

from citewise.model.errors import Misconfigured

# One script per version, applied in order; a published one is never edited. No semicolon but between statements.
MIGRATIONS = (
    """
    CREATE TABLE queries (
        id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        request_id TEXT NOT NULL,
        tenant TEXT NOT NULL,
        project TEXT NOT NULL,
        way TEXT NOT NULL,
        asker TEXT,
        readers TEXT NOT NULL,
        text TEXT,
        latency_ms REAL NOT NULL,
        candidates INTEGER NOT NULL,
        hits INTEGER NOT NULL,
        is_cache_hit INTEGER NOT NULL,
        degraded TEXT NOT NULL,
        error TEXT,
        quality REAL,
        confidence REAL,
        has_warning INTEGER NOT NULL,
        sufficient_context INTEGER,
        tokens INTEGER,
        shown TEXT NOT NULL,
        conversation TEXT
    );
    CREATE INDEX queries_by_scope ON queries (tenant, project, at);
    CREATE INDEX queries_by_age ON queries (at);
    CREATE TABLE lost (at REAL NOT NULL, tenant TEXT NOT NULL, project TEXT NOT NULL, count INTEGER NOT NULL)
    """,
    # Each row is in one of these two: by name, or by the groups of those who gave none. `rows` reads along them.
    """
    CREATE INDEX queries_by_name ON queries (tenant, project, asker, at) WHERE asker IS NOT NULL;
    CREATE INDEX queries_by_readers ON queries (tenant, project, readers, at) WHERE asker IS NULL
    """,
)
VERSION = len(MIGRATIONS)


def checked_version(connection: sqlite3.Connection, file: Path) -> int:
    """Which tables are there, 0 for none; Misconfigured where they are not those that we know."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise Misconfigured(
            f"the query log {file} was written by a newer citewise (version {version}, this one knows {VERSION}): "
            "upgrade citewise, or move the file away"
        )
    return int(version)


def migrate(connection: sqlite3.Connection, file: Path) -> None:
    """Make the tables, or bring old ones up to date, as part of the transaction that is open."""
    version = checked_version(connection, file)
    if version == VERSION:
        return
    for script in MIGRATIONS[version:]:
        for statement in script.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
