"""Passages and findings for tests, with everything that does not matter filled in."""

from collections.abc import Mapping

from citewise.model.chunk import Chunk
from citewise.model.document import Document, Json, Location
from citewise.model.ids import digest, document_id
from citewise.model.ranking import Candidate, Finding, Passage
from tests.builders import SCOPE, an_id


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
    )
