"""Between our values and the catalog's rows."""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple
from typing import Any

from citewise.errors import Misconfigured
from citewise.model.access import Access, Reader, Scope
from citewise.model.chunk import Change, Chunk, IndexRecord, Piece, Vector, searchable_text
from citewise.model.document import (
    Block,
    BlockKind,
    BlockSpan,
    Document,
    Heading,
    Lines,
    Location,
    Messages,
    Pages,
    Stamp,
)
from citewise.model.filters import Label
from citewise.model.ids import ChunkId, Digest, DocumentId

Row = Mapping[str, object]
NOTHING = "[]"


def document_row(document: Document, scope_id: int, *, now: float) -> Row:
    return {
        "id": document.id,
        "scope": scope_id,
        "path": document.path,
        "mount": document.mount,
        "stamp": stamp_text(document.stamp),
        "title": document.title,
        "description": document.description,
        "tags": _json(document.tags),
        "module": document.module,
        "chapter": document.chapter,
        "chapter_number": document.chapter_number,
        "chapter_title": document.chapter_title,
        "corpus_type": document.corpus_type,
        "content_type": document.content_type,
        "source_uri": document.source_uri,
        "created_at": now if document.created_at is None else document.created_at,
        "updated_at": now,
        "metadata": _json(document.metadata),
        "text": document.text,
        "blocks": zlib.compress(_json([_block_json(block) for block in document.blocks]).encode(), 1),
        "media_type": document.media_type,
        "is_titled": document.is_titled,
    }


def chunk_row(chunk: Chunk) -> Row:
    piece = chunk.piece
    return {
        "id": chunk.id,
        "document_id": chunk.document_id,
        "position": chunk.position,
        "anchor": piece.anchor,
        "ordinal": piece.ordinal,
        "section": piece.section,
        "breadcrumb": _json(piece.breadcrumb),
        "text": piece.text,
        "location": _json(_location_json(piece.location)),
        "tokens": piece.tokens,
        "word_count": chunk.word_count,
        "content_hash": bytes.fromhex(chunk.content_hash),
        "kind": piece.kind,
        "has_code": piece.has_code,
        "has_equations": piece.has_equations,
        "language": piece.language,
        "content_type": chunk.content_type,
        "blocks": _json(piece.blocks) if piece.blocks else NOTHING,
        "labels": _json(sorted(chunk.labels)),
        "numbers": _json(chunk.numbers),
        "text_digest": bytes.fromhex(chunk.text_digest),
        "fingerprint": chunk.fingerprint,
    }


def upsert(table: str, rows: Iterable[Row], *, kept: Collection[str] = ()) -> tuple[str, list[Row]]:
    """The statement and its rows; an existing row keeps its values in the `kept` columns.

    Names come from the functions above, never from input.
    """
    listed = list(rows)
    names = list(listed[0]) if listed else []
    columns = ", ".join(names)
    values = ", ".join(f":{name}" for name in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in ("id", *kept))
    return (
        f"INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changes}",
        listed,
    )


def document_of(row: sqlite3.Row, scope: Scope, readers: Iterable[str]) -> Document:
    return Document(
        id=DocumentId(row["id"]),
        scope=scope,
        path=row["path"],
        mount=row["mount"],
        title=row["title"],
        description=row["description"],
        tags=tuple(json.loads(row["tags"])),
        module=row["module"],
        chapter=row["chapter"],
        chapter_number=row["chapter_number"],
        chapter_title=row["chapter_title"],
        source_uri=row["source_uri"],
        created_at=row["created_at"],
        corpus_type=row["corpus_type"],
        content_type=row["content_type"],
        metadata=json.loads(row["metadata"]),
        access=Access(frozenset(Reader(reader) for reader in readers)),
        stamp=stamp_of(row["stamp"]),
        text=row["text"],
        blocks=tuple(_block_of(block) for block in json.loads(zlib.decompress(row["blocks"]))),
        media_type=row["media_type"],
        is_titled=bool(row["is_titled"]),
    )


def chunk_of(row: sqlite3.Row, scope: Scope) -> Chunk:
    piece = Piece(
        anchor=row["anchor"],
        ordinal=row["ordinal"],
        section=row["section"],
        breadcrumb=tuple(json.loads(row["breadcrumb"])),
        text=row["text"],
        location=location_of(row["location"]),
        tokens=row["tokens"],
        kind=row["kind"],
        has_code=bool(row["has_code"]),
        has_equations=bool(row["has_equations"]),
        language=row["language"],
        blocks=blocks_of(row["blocks"]),
    )
    return Chunk(
        id=ChunkId(row["id"]),
        document_id=DocumentId(row["document_id"]),
        scope=scope,
        position=row["position"],
        piece=piece,
        content_type=row["content_type"],
        word_count=row["word_count"],
        content_hash=Digest(row["content_hash"].hex()),
        labels=_labels(row["labels"]),
        numbers=json.loads(row["numbers"]),
        embedded_text=searchable_text(piece.breadcrumb, piece.text),
        text_digest=Digest(row["text_digest"].hex()),
        fingerprint=Digest(row["fingerprint"]),
    )


def change_of(row: sqlite3.Row) -> Change:
    record = None
    if row["is_put"]:
        if row["vector"] is None:
            raise Misconfigured(
                f"chunk {row['chunk_id']} has no vector of the library's model: run `citewise reindex` to embed anew"
            )
        record = IndexRecord(
            text=searchable_text(tuple(json.loads(row["breadcrumb"])), row["text"]),
            vector=Vector(row["vector"]),
            labels=_labels(row["labels"]),
            numbers=json.loads(row["numbers"]),
        )
    return Change(row["position"], ChunkId(row["chunk_id"]), record)


def stamp_text(stamp: Stamp) -> str:
    return f"{stamp.source} {stamp.recipe} {stamp.origin}"


def stamp_of(stored: str) -> Stamp:
    return Stamp(*(Digest(part) for part in stored.split(" ")))


def blocks_of(stored: str) -> tuple[BlockSpan, ...]:
    """The blocks of a chunk as `chunk_row` stores them."""
    if stored == NOTHING:
        return ()
    return tuple([BlockSpan(_BLOCK_KINDS[kind], *rest) for kind, *rest in json.loads(stored)])


_BLOCK_KINDS = {kind.value: kind for kind in BlockKind}
_LOCATIONS: Mapping[str, type[Location]] = {"lines": Lines, "pages": Pages, "messages": Messages}
_LOCATION_NAMES = {kind: name for name, kind in _LOCATIONS.items()}


def _location_json(location: Location) -> list[object]:
    return [_LOCATION_NAMES[type(location)], *astuple(location)]


def location_of(stored: str) -> Location:
    return _location(json.loads(stored))


def _location(stored: list[Any]) -> Location:
    name, *values = stored
    return _LOCATIONS[name](*values)


def _block_json(block: Block) -> list[object]:
    return [
        block.kind,
        block.text,
        _location_json(block.location),
        [_block_json(child) for child in block.children],
        astuple(block.heading) if block.heading else None,
        block.language,
    ]


def _block_of(stored: list[Any]) -> Block:
    kind, text, location, children, heading, language = stored
    return Block(
        kind=_BLOCK_KINDS[kind],
        text=text,
        location=_location(location),
        children=tuple(_block_of(child) for child in children),
        heading=Heading(*heading) if heading else None,
        language=language,
    )


def _labels(stored: str) -> frozenset[Label]:
    return frozenset(Label(item) for item in json.loads(stored))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
