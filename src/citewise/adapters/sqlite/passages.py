"""Chunks with their documents, read for a search: by id, in one statement, under the reader's own access rule."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from citewise.adapters.sqlite.rows import blocks_of, location_of
from citewise.model.document import Json
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.ranking import Passage
from citewise.ports.catalog import Hydrated

# CROSS JOIN is SQLite's word for "in this order": its planner would begin with every document of the scope.
_READ = """
    SELECT c.id, c.document_id, d.path, d.title, c.section, c.breadcrumb, c.anchor, c.position, c.location,
        d.corpus_type, c.content_type, d.module, d.chapter, c.text, c.tokens, c.text_digest, d.tags,
        d.metadata, c.language, d.source_uri, d.created_at, d.chapter_number, d.chapter_title, c.word_count,
        c.content_hash, c.has_code, c.has_equations, c.blocks
    FROM json_each(:ids) AS wanted
    CROSS JOIN chunks c ON c.id = wanted.value
    CROSS JOIN documents d ON d.id = c.document_id
    CROSS JOIN scopes s ON s.id = d.scope
    WHERE s.tenant = :tenant AND s.project = :project AND (:sees_all OR EXISTS (
        SELECT 1 FROM access a WHERE a.document_id = d.id AND +a.reader IN (SELECT value FROM json_each(:readers))
    ))
"""

Row: TypeAlias = tuple[Any, ...]  # in the order of _READ's columns, which is that of Passage


def hydrated(connection: sqlite3.Connection, ids: Sequence[ChunkId], values: Mapping[str, object]) -> Hydrated:
    """The passages of these ids; `values` are those that _READ names."""
    cursor = connection.cursor()
    cursor.row_factory = None  # plain tuples: names would cost more than the reading
    read: dict[str, Passage] = {}
    malformed = []
    for row in cursor.execute(_READ, values).fetchall():
        try:
            read[row[0]] = _passage(row)
        except (ValueError, TypeError, AttributeError):
            malformed.append(ChunkId(row[0]))
    return Hydrated(tuple([read[id_] for id_ in ids if id_ in read]), tuple(malformed))


def _passage(row: Row) -> Passage:
    id_, document_id, path, title, section, breadcrumb, anchor, position, stored_location = row[:9]
    corpus_type, content_type, module, chapter, text, tokens, text_digest, tags, metadata, language = row[9:19]
    source_uri, created_at, number, chapter_title, words, content_hash, has_code, has_equations, blocks = row[19:]
    location = location_of(stored_location)
    if not text.strip() or not 1 <= location.first <= location.last:
        raise ValueError("a chunk has text and a location")
    return Passage(  # by place: names would cost as much as the rest
        ChunkId(id_),
        DocumentId(document_id),
        path,
        title,
        section,
        _names(breadcrumb),
        anchor,
        position,
        location,
        corpus_type,
        content_type,
        module,
        chapter,
        text,
        tokens,
        Digest(text_digest.hex()),
        _names(tags),
        _metadata(metadata),
        language,
        source_uri,
        created_at,
        number,
        chapter_title,
        words,
        Digest(content_hash.hex()),
        bool(has_code),
        bool(has_equations),
        blocks_of(blocks),
    )


# Chunks of one section and documents of one kind repeat these: reading them again would cost as much as the rest.
@lru_cache(maxsize=10_000)
def _names(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


@lru_cache(maxsize=1_000)
def _metadata(stored: str) -> Mapping[str, Json]:
    return dict(json.loads(stored))
