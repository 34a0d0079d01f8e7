"""Values for tests, with everything that does not matter filled in: documents, chunks, passages, queries, log rows."""

import math
import random
import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from citewise.model.access import OWNER, Access, Principal, Scope
from citewise.model.chunk import Chunk, Piece, Point, Terms, Vector
from citewise.model.document import Document, Json, Location
from citewise.model.filters import Label, label
from citewise.model.ids import ChunkId, Digest, DocumentId, digest, document_id
from citewise.model.logged import Logged, RequestKind
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Finding, Passage, Shortlist
from citewise.ports.catalog import DocumentWrite

SCOPE = Scope("acme", "handbook")
DIMENSIONS = 32


def an_id(name: object) -> ChunkId:
    return ChunkId(digest(str(name))[:16])


def a_vector(seed: object, dimensions: int = DIMENSIONS) -> Vector:
    """A unit vector that depends on the seed alone."""
    draw = random.Random(str(seed))
    return unit_vector(draw.gauss(0, 1) for _ in range(dimensions))


def unit_vector(components: Iterable[float]) -> Vector:
    values = list(components)
    length = math.sqrt(math.fsum(value * value for value in values)) or 1.0
    return Vector(struct.pack(f"<{len(values)}f", *(value / length for value in values)))


def a_point(
    name: object,
    *,
    vector: Vector | None = None,
    words: str = "",
    code: str = "",
    labels: Iterable[str] = (),
    readers: Iterable[str] = ("public",),
    numbers: Mapping[str, float] | None = None,
) -> Point:
    return Point(
        id=an_id(name),
        vector=vector or a_vector(name),
        terms=Terms(tuple(words.split()), tuple(code.split())),
        labels=frozenset({*(Label(item) for item in labels), *(label("access", reader) for reader in readers)}),
        numbers=numbers or {},
    )


def a_document(path: str, *, scope: Scope = SCOPE, access: Access | None = None) -> Document:
    return Document(
        id=document_id(scope, path),
        scope=scope,
        path=path,
        mount="",
        title=path,
        description="",
        tags=("tide",),
        module="Unknown",
        chapter="Unknown",
        corpus_type="DOC_PAGE",
        content_type="prose",
        metadata={"sidebar_position": 2, "draft": False},
        access=access or Access(),
        stamp=digest(path),
        text="",
        created_at=1.7e9,
    )


def a_piece(text: str, *, ordinal: int = 0) -> Piece:
    return Piece(
        anchor="",
        ordinal=ordinal,
        section="N/A",
        breadcrumb=(),
        text=text,
        location=Location("lines", ordinal + 1, ordinal + 1),
        tokens=len(text.split()),
        kind=None,
        has_code=False,
        has_equations=False,
        language=None,
    )


def a_write(path: str, texts: Iterable[str], *, scope: Scope = SCOPE, access: Access | None = None) -> DocumentWrite:
    document = a_document(path, scope=scope, access=access)
    chunks = Chunk.of_document(document, tuple(a_piece(text, ordinal=n) for n, text in enumerate(texts)))
    return DocumentWrite(document, chunks)


def vectors_of(write: DocumentWrite) -> dict[Digest, Vector]:
    return {chunk.text_digest: a_vector(chunk.piece.text) for chunk in write.chunks}


def a_passage(
    text: str = "The gauge is read at noon.",
    *,
    document: str = "tides.md",
    anchor: str = "reading",
    position: int = 0,
    lines: tuple[int, int] | None = None,
    title: str = "Tides",
    section: str = "Reading",
    breadcrumb: tuple[str, ...] | None = None,
    corpus_type: str = "DOC_PAGE",
    metadata: Mapping[str, Json] | None = None,
    page: int | None = None,
) -> Passage:
    first, last = lines or (1 + 100 * position, 1 + 100 * position + text.count("\n"))
    return Passage(
        chunk_id=an_id((document, anchor, position)),
        document_id=document_id(SCOPE, document),
        document=document,
        title=title,
        section=section,
        breadcrumb=(title, section) if breadcrumb is None else breadcrumb,
        anchor=anchor,
        position=position,
        location=Location("lines", first, last) if page is None else Location("pages", page, page),
        corpus_type=corpus_type,
        content_type="prose",
        module="Unknown",
        chapter="Unknown",
        text=text,
        tokens=len(text.split()),
        text_digest=digest(text),
        metadata=metadata or {},
    )


def a_finding(passage: Passage | None = None, *, score: float = 0.5) -> Finding:
    found = passage or a_passage()
    return Finding(found, Candidate(found.chunk_id, score, scores={}, ranks={}))


def passage_of(chunk: Chunk, document: Document) -> Passage:
    """A chunk as a search would hand it out."""
    piece = chunk.piece
    return Passage(
        chunk_id=chunk.id,
        document_id=document.id,
        document=document.path,
        title=document.title,
        section=piece.section,
        breadcrumb=piece.breadcrumb,
        anchor=piece.anchor,
        position=chunk.position,
        location=piece.location,
        corpus_type=document.corpus_type,
        content_type=chunk.content_type,
        module=document.module,
        chapter=document.chapter,
        text=piece.text,
        tokens=piece.tokens,
        text_digest=chunk.text_digest,
        tags=document.tags,
        metadata=document.metadata,
        blocks=piece.blocks,
        language=piece.language,
        created_at=document.created_at,
        chapter_number=document.chapter_number,
        chapter_title=document.chapter_title,
        source_uri=document.source_uri,
        word_count=chunk.word_count,
        content_hash=chunk.content_hash,
        has_code=piece.has_code,
        has_equations=piece.has_equations,
        stale=document.stale,
    )


ASKED_AT = 1_700_000_000.0


def a_query(text: str = "When does the ferry leave?", **changes: Any) -> Query:
    return Query(
        **{"text": text, "request_id": "r-1", "asked_at": ASKED_AT, "principal": OWNER, "scope": SCOPE, **changes}
    )


def a_named_finding(name: object, score: float = 0.5, text: str = "The ferry leaves.", **changes: Any) -> Finding:
    """A finding in a document of its own, named after it."""
    passage = replace(a_passage(text, document=f"{name}.md"), chunk_id=an_id(name), **changes)
    return Finding(passage, Candidate(passage.chunk_id, score, {"fused": score}, {}))


def a_shortlist(*findings: Finding, query: Query | None = None) -> Shortlist:
    return Shortlist(query or a_query(), findings)


NOON = 1_767_268_800.0  # 2026-01-01 12:00 UTC
DAY = 86_400.0


def a_row(
    text: str | None = "When is the gauge read?",
    *,
    at: float = NOON,
    who: Principal = OWNER,
    scope: Scope = SCOPE,
    kind: RequestKind = "search",
    shown: Iterable[tuple[str, str]] = (),
    **changes: Any,
) -> Logged:
    row = Logged.of(Query("?", f"r-{text}-{at}", at, who, scope), kind, 0.0125)
    pairs = tuple((ChunkId(chunk), DocumentId(document)) for chunk, document in shown)
    return replace(row, **{"text": text, "candidates": 9, "hits": 3, "shown": pairs, **changes})


def a_document_id(name: str) -> DocumentId:
    return DocumentId(an_id(name))
