-- The catalog of citewise 0.1, schema 2.
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
CREATE TABLE word_vectors (
    text_digest BLOB NOT NULL,
    model TEXT NOT NULL,
    vectors BLOB NOT NULL,
    PRIMARY KEY (text_digest, model)
);
PRAGMA application_id = 1667855461;
PRAGMA user_version = 2;
