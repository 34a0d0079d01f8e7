"""Chunks: the unit that is indexed, found and cited."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from citewise.model.document import Document
from citewise.model.ids import ChunkId, Digest, DocumentId, chunk_id, digest
from citewise.model.scope import Scope
from citewise.model.where import ACCESS_FIELD, Label, label, label_text

NO_SECTION = "N/A"
LABELING = "labels-3"  # changes when the same piece may get other labels
MOST_LABEL_CHARACTERS = 200  # a longer metadata value is no filter value; it stays in the catalog


@dataclass(frozen=True, slots=True)
class Piece:
    """What a chunker cuts: text with its place in the document, before it has an id."""

    anchor: str  # of the section; empty before the first heading
    ordinal: int  # within the section
    section: str
    breadcrumb: tuple[str, ...]
    text: str
    first_line: int
    last_line: int
    tokens: int
    kind: str | None  # "code" or "table" where that is most of it
    has_code: bool
    has_equations: bool
    language: str | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, named, labeled and ready to be stored."""

    id: ChunkId
    document_id: DocumentId
    scope: Scope
    position: int  # in the document, from 0
    piece: Piece
    content_type: str
    labels: frozenset[Label]
    numbers: Mapping[str, float]

    @property
    def embedded_text(self) -> str:
        """What is embedded and indexed: the breadcrumb, so that code knows its heading, then the text."""
        return searchable_text(self.piece.breadcrumb, self.piece.text)

    @property
    def text_digest(self) -> Digest:
        """The key of the embedding cache: equal texts are embedded once, wherever they stand."""
        return digest(self.embedded_text)

    @property
    def fingerprint(self) -> Digest:
        """Changes when the index must hear of it; line numbers alone are no reason."""
        numbers = (f"{name}={value!r}" for name, value in sorted(self.numbers.items()))
        return digest(self.embedded_text, self.content_type, *sorted(self.labels), *numbers)


def searchable_text(breadcrumb: tuple[str, ...], text: str) -> str:
    """A chunk's text behind the headings it stands under."""
    return f"{' > '.join(breadcrumb)}\n\n{text}" if breadcrumb else text


def chunks_of(document: Document, pieces: Iterator[Piece] | tuple[Piece, ...]) -> tuple[Chunk, ...]:
    """Give each piece its id, its labels and its place in the document."""
    shared = _document_labels(document)
    numbers = _document_numbers(document)
    return tuple(
        Chunk(
            id=chunk_id(document.scope, document.path, anchor=piece.anchor, ordinal=piece.ordinal),
            document_id=document.id,
            scope=document.scope,
            position=position,
            piece=piece,
            content_type=piece.kind or document.content_type,
            labels=shared | _piece_labels(piece),
            numbers=numbers,
        )
        for position, piece in enumerate(pieces)
    )


def _document_labels(document: Document) -> frozenset[Label]:
    plain = {
        "document": document.path,
        "module": document.module,
        "chapter": document.chapter,
        "corpus_type": document.corpus_type,
        "content_type": document.content_type,
    }
    labels = {label(name, value) for name, value in plain.items()}
    labels |= {label("tags", tag) for tag in document.tags}
    labels |= {label(ACCESS_FIELD, reader) for reader in document.access.readers}
    for name, value in document.metadata.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, str | bool | int | float) and len(str(item)) <= MOST_LABEL_CHARACTERS:
                labels.add(label(f"metadata.{name}", label_text(item)))
    return frozenset(labels)


def _document_numbers(document: Document) -> dict[str, float]:
    return {
        f"metadata.{name}": float(value)
        for name, value in document.metadata.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53
    }


def _piece_labels(piece: Piece) -> frozenset[Label]:
    labels = {
        label("has_code", "true" if piece.has_code else "false"),
        label("has_equations", "true" if piece.has_equations else "false"),
    }
    if piece.kind:
        labels.add(label("content_type", piece.kind))  # beside the document's: a lab's code is both
    if piece.language:
        labels.add(label("language", piece.language))
    return frozenset(labels)
