"""The catalog's tables."""

import sqlite3
from pathlib import Path

from citewise.errors import Misconfigured

APPLICATION_ID = 0x63697432  # "cit2": marks a SQLite file as a catalog of citewise 0.2 or later
OLD_APPLICATION_ID = 0x63697465  # "cite": the catalogs of citewise 0.1

# Once a release has written a version, it is never edited: a later one gets a script of its own.
# No semicolon but between statements.
TABLES = """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, seal INTEGER NOT NULL) WITHOUT ROWID;

    CREATE TABLE scopes (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        project TEXT NOT NULL,
        log_floor INTEGER NOT NULL DEFAULT 0,
        version INTEGER NOT NULL DEFAULT (abs(random() % 1000000000000)),
        UNIQUE (tenant, project)
    );

    CREATE TABLE sources (
        scope INTEGER NOT NULL REFERENCES scopes,
        mount TEXT NOT NULL, root TEXT NOT NULL, access TEXT NOT NULL, kind TEXT NOT NULL, place TEXT NOT NULL,
        seal INTEGER NOT NULL,
        PRIMARY KEY (scope, mount)
    ) WITHOUT ROWID;

    CREATE TABLE documents (
        id TEXT PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scopes,
        path TEXT NOT NULL, mount TEXT NOT NULL, stamp TEXT NOT NULL, source_uri TEXT, media_type TEXT NOT NULL,
        title TEXT NOT NULL, is_titled INTEGER NOT NULL, description TEXT NOT NULL, tags TEXT NOT NULL,
        module TEXT NOT NULL, chapter TEXT NOT NULL, chapter_number INTEGER, chapter_title TEXT,
        corpus_type TEXT NOT NULL, content_type TEXT NOT NULL, metadata TEXT NOT NULL,
        own_access TEXT NOT NULL, aliases TEXT NOT NULL, copied_from TEXT NOT NULL, access_reason TEXT NOT NULL,
        created_at REAL NOT NULL, updated_at REAL NOT NULL,
        access TEXT NOT NULL, -- each reader between commas
        stale TEXT NOT NULL,
        shown TEXT NOT NULL DEFAULT '', -- what hits show of it, as JSON
        text TEXT NOT NULL, blocks BLOB NOT NULL,
        rule_seal INTEGER NOT NULL DEFAULT 0, seal INTEGER NOT NULL DEFAULT 0, text_seal INTEGER NOT NULL DEFAULT 0,
        UNIQUE (scope, path)
    );
    CREATE INDEX documents_by_mount ON documents (scope, mount, path, stamp);
    CREATE INDEX copies ON documents (scope, path) WHERE copied_from <> '[]';

    CREATE TABLE chunks (
        id TEXT PRIMARY KEY,
        document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
        position INTEGER NOT NULL, location TEXT NOT NULL,
        anchor TEXT NOT NULL, ordinal INTEGER NOT NULL, section TEXT NOT NULL, breadcrumb TEXT NOT NULL,
        text TEXT NOT NULL, blocks TEXT NOT NULL, tokens INTEGER NOT NULL, word_count INTEGER NOT NULL,
        kind TEXT, content_type TEXT NOT NULL, language TEXT,
        has_code INTEGER NOT NULL, has_equations INTEGER NOT NULL,
        labels TEXT NOT NULL, numbers TEXT NOT NULL,
        text_digest BLOB NOT NULL, content_hash BLOB NOT NULL, fingerprint TEXT NOT NULL,
        seal INTEGER NOT NULL DEFAULT 0, rest_seal INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX chunks_by_document ON chunks (document_id, position);
    CREATE INDEX chunks_by_content ON chunks (content_hash);

    CREATE TABLE removed_texts (
        scope INTEGER NOT NULL REFERENCES scopes,
        path TEXT NOT NULL, readers TEXT NOT NULL, content_hash BLOB NOT NULL, seal INTEGER NOT NULL,
        PRIMARY KEY (scope, path, readers, content_hash)
    ) WITHOUT ROWID;

    CREATE TABLE embeddings (
        text_digest BLOB NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL, seal INTEGER NOT NULL,
        PRIMARY KEY (text_digest, model)
    );
    CREATE TABLE word_vectors (
        text_digest BLOB NOT NULL, model TEXT NOT NULL, vectors BLOB NOT NULL, seal INTEGER NOT NULL,
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

    CREATE TABLE projections (
        name TEXT NOT NULL,
        scope INTEGER NOT NULL REFERENCES scopes,
        generation INTEGER NOT NULL, position INTEGER NOT NULL,
        PRIMARY KEY (name, scope)
    ) WITHOUT ROWID
"""
VERSION = 4


def has_tables(connection: sqlite3.Connection, file: Path) -> bool:
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
