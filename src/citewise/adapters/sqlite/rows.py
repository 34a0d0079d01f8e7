"""Between our values and the catalog's rows."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping

from citewise.errors import Misconfigured
from citewise.model.access import Access, Reader, Scope
from citewise.model.chunk import Change, Chunk, IndexRecord, Piece, Vector, searchable_text
from citewise.model.document import BlockKind, BlockSpan, Document, Stamp
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
        "first_line": piece.first_line,
        "last_line": piece.last_line,
        "page": piece.page,
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
    )


def chunk_of(row: sqlite3.Row, scope: Scope) -> Chunk:
    piece = Piece(
        anchor=row["anchor"],
        ordinal=row["ordinal"],
        section=row["section"],
        breadcrumb=tuple(json.loads(row["breadcrumb"])),
        text=row["text"],
        first_line=row["first_line"],
        last_line=row["last_line"],
        tokens=row["tokens"],
        kind=row["kind"],
        has_code=bool(row["has_code"]),
        has_equations=bool(row["has_equations"]),
        language=row["language"],
        page=row["page"],
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
    return tuple(BlockSpan(BlockKind(kind), start, end) for kind, start, end in json.loads(stored))


def _labels(stored: str) -> frozenset[Label]:
    return frozenset(Label(item) for item in json.loads(stored))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
