"""The catalog's tables, and how an older file becomes a newer one."""

import sqlite3

from citewise.adapters.sqlite.transactions import transaction
from citewise.errors import Misconfigured

APPLICATION_ID = 0x63697465  # "cite": says that a SQLite file is ours

# One script per version, applied in order; a published one is never edited. No semicolon but between statements.
MIGRATIONS = (
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE scopes (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        project TEXT NOT NULL,
        log_floor INTEGER NOT NULL DEFAULT 0,
        UNIQUE (tenant, project)
    );
    CREATE TABLE sources (
        scope INTEGER NOT NULL REFERENCES scopes,
        mount TEXT NOT NULL,
        root TEXT NOT NULL,
        access TEXT NOT NULL,
        PRIMARY KEY (scope, mount)
    ) WITHOUT ROWID;
    CREATE TABLE documents (
        id TEXT PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scopes,
        path TEXT NOT NULL,
        mount TEXT NOT NULL,
        stamp TEXT NOT NULL,
        title TEXT NOT NULL,
        description TEXT NOT NULL,
        tags TEXT NOT NULL,
        module TEXT NOT NULL,
        chapter TEXT NOT NULL,
        corpus_type TEXT NOT NULL,
        content_type TEXT NOT NULL,
        metadata TEXT NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (scope, path)
    );
    CREATE INDEX documents_by_mount ON documents (scope, mount, path, stamp);
    CREATE TABLE access (
        document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
        reader TEXT NOT NULL,
        PRIMARY KEY (document_id, reader)
    ) WITHOUT ROWID;
    CREATE TABLE chunks (
        id TEXT PRIMARY KEY,
        document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
        position INTEGER NOT NULL,
        anchor TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        section TEXT NOT NULL,
        breadcrumb TEXT NOT NULL,
        text TEXT NOT NULL,
        first_line INTEGER NOT NULL,
        last_line INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        kind TEXT,
        has_code INTEGER NOT NULL,
        has_equations INTEGER NOT NULL,
        language TEXT,
        content_type TEXT NOT NULL,
        labels TEXT NOT NULL,
        numbers TEXT NOT NULL,
        text_digest BLOB NOT NULL,
        fingerprint TEXT NOT NULL
    );
    CREATE INDEX chunks_by_document ON chunks (document_id, position);
    CREATE TABLE embeddings (
        text_digest BLOB NOT NULL,
        model TEXT NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (text_digest, model)
    );
    CREATE TABLE changes (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        scope INTEGER NOT NULL REFERENCES scopes,
        chunk_id TEXT NOT NULL UNIQUE,
        is_put INTEGER NOT NULL
    );
    CREATE INDEX changes_by_scope ON changes (scope, position);
    CREATE INDEX drops_by_scope ON changes (scope, position) WHERE NOT is_put;
    """,
    # Not a column of embeddings: whatever reads all vectors would have to step over five times their bytes.
    """
    CREATE TABLE word_vectors (
        text_digest BLOB NOT NULL,
        model TEXT NOT NULL,
        vectors BLOB NOT NULL,
        PRIMARY KEY (text_digest, model)
    );
    """,
)


def is_newest(connection: sqlite3.Connection, migrations: tuple[str, ...] = MIGRATIONS) -> bool:
    """Whether the file has the newest schema that we know; one that is newer still is refused."""
    version = _version(connection)
    if version > len(migrations):
        raise Misconfigured(
            f"this library was written by a newer citewise (schema {version}, this one knows {len(migrations)}): "
            "upgrade citewise, or use another library folder with --library"
        )
    return version == len(migrations)


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file has no schema at all yet."""
    return _version(connection) == 0


def migrate(connection: sqlite3.Connection, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Bring the file to the newest schema, each step whole or not at all; a newer file is refused."""
    if is_newest(connection, migrations):
        return
    for number in range(_version(connection), len(migrations)):
        with transaction(connection):
            if _version(connection) == number:  # another process may have been quicker
                for statement in migrations[number].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number + 1}")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
