"""The catalog's tables."""

APPLICATION_ID = 0x63697432  # "cit2": marks a SQLite file as a catalog of citewise 0.2 or later
OLD_APPLICATION_ID = 0x63697465  # "cite": the catalogs of citewise 0.1

# Once a release has written a version, it is never edited: a later one gets a script of its own.
# No semicolon but between statements.
TABLES = """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

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
        mount TEXT NOT NULL, root TEXT NOT NULL, access TEXT NOT NULL, kind TEXT NOT NULL,
        PRIMARY KEY (scope, mount)
    ) WITHOUT ROWID;

    CREATE TABLE documents (
        id TEXT PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scopes,
        path TEXT NOT NULL, mount TEXT NOT NULL, stamp TEXT NOT NULL, source_uri TEXT, media_type TEXT NOT NULL,
        title TEXT NOT NULL, is_titled INTEGER NOT NULL, description TEXT NOT NULL, tags TEXT NOT NULL,
        module TEXT NOT NULL, chapter TEXT NOT NULL, chapter_number INTEGER, chapter_title TEXT,
        corpus_type TEXT NOT NULL, content_type TEXT NOT NULL, metadata TEXT NOT NULL,
        created_at REAL NOT NULL, updated_at REAL NOT NULL,
        text TEXT NOT NULL, blocks BLOB NOT NULL,
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
        position INTEGER NOT NULL, location TEXT NOT NULL,
        anchor TEXT NOT NULL, ordinal INTEGER NOT NULL, section TEXT NOT NULL, breadcrumb TEXT NOT NULL,
        text TEXT NOT NULL, blocks TEXT NOT NULL, tokens INTEGER NOT NULL, word_count INTEGER NOT NULL,
        kind TEXT, content_type TEXT NOT NULL, language TEXT,
        has_code INTEGER NOT NULL, has_equations INTEGER NOT NULL,
        labels TEXT NOT NULL, numbers TEXT NOT NULL,
        text_digest BLOB NOT NULL, content_hash BLOB NOT NULL, fingerprint TEXT NOT NULL
    );
    CREATE INDEX chunks_by_document ON chunks (document_id, position);

    CREATE TABLE embeddings (
        text_digest BLOB NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY (text_digest, model)
    );
    CREATE TABLE word_vectors (
        text_digest BLOB NOT NULL, model TEXT NOT NULL, vectors BLOB NOT NULL,
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
VERSION = 2
