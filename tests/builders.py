"""Values for tests, with everything that does not matter filled in."""

import math
import random
import struct
from collections.abc import Iterable, Mapping

from citewise.model.access import Access, Scope
from citewise.model.chunk import Chunk, Piece, Point, Terms, Vector
from citewise.model.document import Document, Location
from citewise.model.filters import Label, label
from citewise.model.ids import ChunkId, Digest, digest, document_id
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
