"""Between our values and the rows of the catalog."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache
from typing import Any

from citewise.errors import Misconfigured
from citewise.model.access import Access, Scope
from citewise.model.chunk import Change, Chunk, Piece, Vector, searchable_text
from citewise.model.document import Block, BlockKind, BlockSpan, Document, Heading, Json, Location
from citewise.model.filters import Label
from citewise.model.ids import ChunkId, Digest
from citewise.model.ranking import Passage

Row = Mapping[str, object]

# Columns that hold the field of the same name as it is.
_OF_DOCUMENT = (
    *("id", "path", "mount", "title", "description", "module", "chapter", "chapter_number", "chapter_title"),
    *("corpus_type", "content_type", "source_uri", "created_at", "text", "media_type", "stamp"),
)
_OF_CHUNK = ("id", "document_id", "position", "content_type", "word_count", "fingerprint")
_OF_PIECE = ("anchor", "ordinal", "section", "text", "tokens", "kind", "language")

_BLOCK_KINDS = {kind.value: kind for kind in BlockKind}


def document_row(document: Document, scope_id: int, *, now: float) -> Row:
    return {
        **{name: getattr(document, name) for name in _OF_DOCUMENT},
        "scope": scope_id,
        "tags": _json(document.tags),
        "metadata": _json(document.metadata),
        "blocks": zlib.compress(_json([_block_json(block) for block in document.blocks]).encode(), 1),
        "is_titled": document.is_titled,
        "created_at": now if document.created_at is None else document.created_at,
        "updated_at": now,
    }


def document_of(row: sqlite3.Row, scope: Scope) -> Document:
    return Document(
        **{name: row[name] for name in _OF_DOCUMENT},
        scope=scope,
        tags=_texts(row["tags"]),
        metadata=json.loads(row["metadata"]),
        blocks=tuple(_block_of(block) for block in json.loads(zlib.decompress(row["blocks"]))),
        is_titled=bool(row["is_titled"]),
        access=Access(frozenset(json.loads(row["access"]))),
    )


def chunk_row(chunk: Chunk) -> Row:
    piece = chunk.piece
    return {
        **{name: getattr(chunk, name) for name in _OF_CHUNK},
        **{name: getattr(piece, name) for name in _OF_PIECE},
        "breadcrumb": _json(piece.breadcrumb),
        "location": _json(_location_json(piece.location)),
        "has_code": piece.has_code,
        "has_equations": piece.has_equations,
        "blocks": _json(piece.blocks),
        "labels": _json(sorted(chunk.labels)),
        "numbers": _json(chunk.numbers),
        "text_digest": bytes.fromhex(chunk.text_digest),
        "content_hash": bytes.fromhex(chunk.content_hash),
    }


def chunk_of(row: sqlite3.Row, scope: Scope) -> Chunk:
    piece = Piece(
        **{name: row[name] for name in _OF_PIECE},
        breadcrumb=_texts(row["breadcrumb"]),
        location=_location(row["location"]),
        has_code=bool(row["has_code"]),
        has_equations=bool(row["has_equations"]),
        blocks=_spans(row["blocks"]),
    )
    return Chunk(
        **{name: row[name] for name in _OF_CHUNK},
        scope=scope,
        piece=piece,
        labels=_labels(row["labels"]),
        numbers=json.loads(row["numbers"]),
        embedded_text=searchable_text(piece.breadcrumb, piece.text),
        text_digest=Digest(row["text_digest"].hex()),
        content_hash=Digest(row["content_hash"].hex()),
    )


def change_of(row: sqlite3.Row) -> Change:
    if not row["is_put"]:
        return Change(row["position"], ChunkId(row["chunk_id"]), None)
    if row["vector"] is None:
        raise Misconfigured(
            f"chunk {row['chunk_id']} has no vector of the library's model: run `citewise reindex` to embed it again"
        )
    return Change(
        row["position"],
        ChunkId(row["chunk_id"]),
        text=searchable_text(_texts(row["breadcrumb"]), row["text"]),
        vector=Vector(row["vector"]),
        labels=_labels(row["labels"]),
        numbers=json.loads(row["numbers"]),
    )


def _labels(stored: str) -> frozenset[Label]:
    return frozenset(map(Label, json.loads(stored)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _location_json(location: Location) -> list[object]:
    if location.unit == "messages":  # only they have more
        return [*astuple(location)]
    return [location.unit, location.first, location.last]


def _block_json(block: Block) -> list[object]:
    children = [_block_json(child) for child in block.children]
    heading = astuple(block.heading) if block.heading else None
    return [block.kind, block.text, _location_json(block.location), children, heading, block.language]


def _block_of(stored: list[Any]) -> Block:
    kind, text, location, children, heading, language = stored
    return Block(
        kind=_BLOCK_KINDS[kind],
        text=text,
        location=Location(*location),
        children=tuple(map(_block_of, children)),
        heading=Heading(*heading) if heading else None,
        language=language,
    )


# Questions find the same chunks again, and chunks of one section or document repeat these: decoding them each time
# would cost as much as the rest of reading a passage. The largest, the blocks, take about 500 bytes each.
@lru_cache(maxsize=10_000)
def _spans(stored: str) -> tuple[BlockSpan, ...]:
    spans = json.loads(stored)
    return tuple([BlockSpan(_BLOCK_KINDS[kind], start, end, code, depth) for kind, start, end, code, depth in spans])


@lru_cache(maxsize=10_000)
def _location(stored: str) -> Location:
    return Location(*json.loads(stored))


@lru_cache(maxsize=10_000)
def _texts(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


@lru_cache(maxsize=1_000)
def _metadata(stored: str) -> Mapping[str, Json]:
    return dict(json.loads(stored))


# Passages: the columns in the order of the fields of `Passage`, and how some of them are read.
_COLUMNS = (
    *("c.id", "c.document_id", "d.path", "d.title", "c.section", "c.breadcrumb", "c.anchor", "c.position"),
    *("c.location", "d.corpus_type", "c.content_type", "d.module", "d.chapter", "c.text", "c.tokens"),
    *("c.text_digest", "d.tags", "d.metadata", "c.language", "d.source_uri", "d.created_at", "d.chapter_number"),
    *("d.chapter_title", "c.word_count", "c.content_hash", "c.has_code", "c.has_equations", "c.blocks"),
)
_READ_BY: Mapping[str, Callable[[Any], object]] = {
    "c.breadcrumb": _texts,
    "c.location": _location,
    "c.text_digest": bytes.hex,
    "d.tags": _texts,
    "d.metadata": _metadata,
    "c.content_hash": bytes.hex,
    "c.has_code": bool,
    "c.has_equations": bool,
    "c.blocks": _spans,
}
_READ_AT = tuple((_COLUMNS.index(name), read) for name, read in _READ_BY.items())

# CROSS JOIN is SQLite's word for "in this order": its planner would begin with every document of the scope.
READ_PASSAGES = f"""
    SELECT {", ".join(_COLUMNS)}
    FROM json_each(:ids) AS wanted
    CROSS JOIN chunks c ON c.id = wanted.value
    CROSS JOIN documents d ON d.id = c.document_id
    CROSS JOIN scopes s ON s.id = d.scope
    WHERE s.tenant = :tenant AND s.project = :project AND (:sees_all OR EXISTS (
        SELECT 1 FROM access a WHERE a.document_id = d.id AND +a.reader IN (SELECT value FROM json_each(:readers))
    ))
"""


def hydrated(rows: Iterable[Sequence[Any]], ids: Sequence[ChunkId]) -> dict[ChunkId, Passage | None]:
    """The passages of the rows of READ_PASSAGES, in the order of `ids`; None for a row that cannot be understood."""
    read: dict[ChunkId, Passage | None] = {}
    for row in rows:
        try:
            values = list(row)
            for place, read_value in _READ_AT:
                values[place] = read_value(values[place])
            passage = Passage(*values)  # by place: names would cost as much as the rest
            if not passage.text.strip() or not 1 <= passage.location.first <= passage.location.last:
                raise ValueError("a chunk has text and a location")
            read[passage.chunk_id] = passage
        except (ValueError, TypeError, AttributeError, KeyError):
            read[ChunkId(row[0])] = None
    return {id_: read[id_] for id_ in ids if id_ in read}
