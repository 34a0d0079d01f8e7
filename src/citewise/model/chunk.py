"""Chunks: their pieces, vectors, terms and labels, and the log of their changes."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from operator import add, mul, neg
from typing import Literal, NamedTuple, NewType, TypeAlias

from citewise.model.access import Access, Scope
from citewise.model.document import BlockSpan, Document, Location
from citewise.model.filters import ACCESS_FIELD, Label, label, number_of
from citewise.model.ids import ChunkId, Digest, DocumentId, chunk_id, digest

Vector = NewType("Vector", bytes)

# A text's words as vectors, two neighbors in one, in few bits. Only the model that computed them can read them.
WordVectors = NewType("WordVectors", bytes)


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model that computes vectors: two models of equal name give equal vectors for equal texts."""

    name: str
    dimensions: int
    window_tokens: int  # tokens it sees at once, special ones included
    reads_cjk: bool = True  # False: its cosines say nothing of Chinese, Japanese and Korean, and words rank alone


TermField: TypeAlias = Literal["words", "code"]  # the two BM25 rankings: stemmed natural language, and code tokens


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a text, in order, with repetitions."""

    words: tuple[str, ...]
    code: tuple[str, ...]

    @property
    def stems(self) -> frozenset[str]:
        """The different words, stemmed, without stop words."""
        return frozenset(self.words)


NO_SECTION = "N/A"
LABELING = "labels-4"  # changes when the same piece may get other labels
MAX_LABEL_CHARACTERS = 200  # a longer metadata value is no filter value; it stays in the catalog


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document as a chunker cuts it, before it has an id."""

    anchor: str  # of the section; empty before the first heading
    ordinal: int  # within the section
    section: str
    breadcrumb: tuple[str, ...]
    text: str
    location: Location
    tokens: int
    kind: str | None  # "code" or "table" where that is most of it, or a role such as "exercise"; None: content
    has_code: bool
    has_equations: bool
    language: str | None
    blocks: tuple[BlockSpan, ...] = ()  # in the order of the text


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece with its id, labels and digests, ready to be stored."""

    id: ChunkId
    document_id: DocumentId
    scope: Scope
    position: int  # in the document, from 0
    piece: Piece
    content_type: str
    labels: frozenset[Label]
    numbers: Mapping[str, float]
    embedded_text: str  # what is embedded and indexed: the breadcrumb, so that code knows its heading, then the text
    text_digest: Digest  # of the embedded text, the key of the embedding cache: equal texts are embedded once
    content_hash: Digest  # SHA-256 of the text in UTF-8
    fingerprint: Digest  # changes when the index must be updated; a moved chunk is no reason
    word_count: int

    @staticmethod
    def of_document(document: Document, pieces: Iterable[Piece]) -> "tuple[Chunk, ...]":
        """Each piece with its id, its labels and its place in the document."""
        shared = _document_labels(document)
        numbers = _document_numbers(document)
        return tuple(
            _chunk(document, piece, position=position, labels=shared | _piece_labels(piece), numbers=numbers)
            for position, piece in enumerate(pieces)
        )

    def with_access(self, access: Access) -> "Chunk":
        """The same chunk, for other readers."""
        others = frozenset(each for each in self.labels if not each.startswith(f"{ACCESS_FIELD}="))
        labels = others | {label(ACCESS_FIELD, reader) for reader in access.readers}
        fingerprint = _fingerprint(self.embedded_text, self.content_type, labels, self.numbers)
        return replace(self, labels=labels, fingerprint=fingerprint)


def _fingerprint(text: str, content_type: str, labels: Iterable[Label], numbers: Mapping[str, float]) -> Digest:
    named = (f"{name}={value!r}" for name, value in sorted(numbers.items()))
    return digest(text, content_type, *sorted(labels), *named)


def content_hash(text: str) -> Digest:
    return Digest(sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def searchable_text(breadcrumb: tuple[str, ...], text: str) -> str:
    """A chunk's text behind the headings it stands under."""
    return f"{' > '.join(breadcrumb)}\n\n{text}" if breadcrumb else text


def _chunk(
    document: Document, piece: Piece, *, position: int, labels: frozenset[Label], numbers: Mapping[str, float]
) -> Chunk:
    if piece.location.sent_at is not None:
        numbers = {**numbers, "timestamp": piece.location.sent_at}
    content_type = piece.kind or document.content_type
    embedded_text = searchable_text(piece.breadcrumb, piece.text)
    return Chunk(
        id=chunk_id(document.scope, document.path, anchor=piece.anchor, ordinal=piece.ordinal),
        document_id=document.id,
        scope=document.scope,
        position=position,
        piece=piece,
        content_type=content_type,
        labels=labels,
        numbers=numbers,
        embedded_text=embedded_text,
        text_digest=digest(embedded_text),
        content_hash=content_hash(piece.text),
        fingerprint=_fingerprint(embedded_text, content_type, labels, numbers),
        word_count=len(piece.text.split()),
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
            if isinstance(item, str | bool | int | float) and len(str(item)) <= MAX_LABEL_CHARACTERS:
                labels.add(label(f"metadata.{name}", item))
    return frozenset(labels)


def _document_numbers(document: Document) -> dict[str, float]:
    values = {name: value for name, value in document.metadata.items() if isinstance(value, str | int | float)}
    numbers = {name: number_of(value) for name, value in values.items() if not isinstance(value, bool)}
    return {
        f"metadata.{name}": number for name, number in numbers.items() if number is not None and abs(number) < 2**53
    }


def _piece_labels(piece: Piece) -> frozenset[Label]:
    values = {
        "content_type": piece.kind,  # beside the document's: a lab's code is both
        "language": piece.language,
        "author": piece.location.author,
        "channel": piece.location.channel,
        "has_code": piece.has_code,
        "has_equations": piece.has_equations,
    }
    return frozenset(label(name, value) for name, value in values.items() if value not in (None, ""))


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk as an index sees it."""

    id: ChunkId
    vector: Vector
    terms: Terms
    labels: frozenset[Label]
    numbers: Mapping[str, float]


class Hit(NamedTuple):  # nearly two hundred for a question: a tuple costs a quarter of a dataclass
    """A chunk that a ranking found, with that ranking's own score."""

    id: ChunkId
    score: float

    @classmethod
    def best(cls, ids: Iterable[ChunkId], scores: Iterable[float], limit: int) -> tuple["Hit", ...]:
        """Highest score first, equal scores by id, so that the same query gives the same order."""
        ordered = sorted(zip(map(neg, scores), ids, strict=True))
        return tuple([cls(id_, -score) for score, id_ in ordered[:limit]])


@dataclass(frozen=True, slots=True)
class Change:
    """A chunk was put or dropped at this position of the log, with what an index needs to know of it."""

    position: int
    chunk_id: ChunkId
    text: str | None  # what is searched: breadcrumb and text; None: the chunk was dropped
    vector: Vector = Vector(b"")
    labels: frozenset[Label] = frozenset()
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """What storing did to chunks."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0

    @property
    def total(self) -> int:
        """Chunks that are there now."""
        return self.created + self.updated + self.unchanged

    def __add__(self, other: "ChunkCounts") -> "ChunkCounts":
        return ChunkCounts(*map(add, astuple(self), astuple(other)))


def cosine(left: Vector, right: Vector) -> float:
    """The cosine of two vectors of unit length; for some tens of them a numeric library would be no faster."""
    return math.fsum(map(mul, memoryview(left).cast("f"), memoryview(right).cast("f")))
