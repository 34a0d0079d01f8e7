"""Passages: chunks as a reader meets them, with their text and place in a document."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from citewise.model.block import Json
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.quick import quickly


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with the document it stands in. What a corpus does not have is None."""

    chunk_id: ChunkId
    document_id: DocumentId
    document: str  # its path
    title: str
    section: str
    breadcrumb: tuple[str, ...]
    anchor: str  # of the section; empty before the first heading
    position: int  # in the document, from 0
    first_line: int
    last_line: int
    corpus_type: str
    content_type: str
    module: str
    chapter: str
    text: str
    tokens: int
    text_digest: Digest
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)  # of the document: slug, id, …
    language: str | None = None
    page: int | None = None
    symbol: str | None = None
    signature: str | None = None
    service: str | None = None
    repo: str | None = None
    author: str | None = None
    channel: str | None = None
    said_at: float | None = None  # seconds since 1970, of a conversation

    @property
    def is_conversation(self) -> bool:
        return self.corpus_type.startswith("CONVO_")


passage_of = quickly(Passage)
