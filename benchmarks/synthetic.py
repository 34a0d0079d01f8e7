"""Synthetic libraries with ready vectors: Zipf text, clustered vectors. Nothing is embedded.

The most common words are English function words, as in real text: BM25 over words leaves them out, BM25 over code
tokens does not. The others are made of syllables, so that each is one token.
"""

import random
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from citewise.model.chunk import Piece, chunks_of
from citewise.model.document import Document, Stamp
from citewise.model.ids import Digest, digest, document_id
from citewise.model.scope import Access, Scope
from citewise.model.vector import Vector
from citewise.ports.catalog import DocumentWrite

CHUNKS_A_DOCUMENT = 20
WORDS_A_CHUNK = 120
VOCABULARY = 50_000
CLUSTERS = 200
FUNCTION_WORDS = [
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "that",
    "for",
    "it",
    "as",
    "was",
    "with",
    "be",
    "by",
    "on",
    "not",
    "he",
    "his",
    "but",
    "at",
    "are",
    "this",
    "have",
    "from",
]
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


Ready = tuple[DocumentWrite, dict[Digest, Vector]]


def writes(chunks: int, dimensions: int, *, seed: int = 1) -> Iterator[Ready]:
    """Documents of twenty chunks each with their vectors, until there are that many chunks."""
    draw = np.random.default_rng(seed)
    centers = draw.standard_normal((CLUSTERS, dimensions)).astype(np.float32)
    for number in range(chunks // CHUNKS_A_DOCUMENT):
        words = np.minimum(draw.zipf(1.3, (CHUNKS_A_DOCUMENT, WORDS_A_CHUNK)), VOCABULARY)
        vectors = centers[draw.integers(CLUSTERS)] + draw.standard_normal((CHUNKS_A_DOCUMENT, dimensions))
        yield _write(number, words, vectors.astype(np.float32))


def word_of(rank: int) -> str:
    """The word of this rank, from 1 for the most common one."""
    if rank <= len(FUNCTION_WORDS):
        return FUNCTION_WORDS[rank - 1]
    word, left = "", int(rank)
    while left:
        left, place = divmod(left, len(SYLLABLES))
        word += SYLLABLES[place]
    return word


def questions(count: int, *, seed: int = 7) -> list[str]:
    """Like "how is the X of the Y in Z": six telling words, common and rare ones mixed, among five function words."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        telling = (int(draw.paretovariate(0.4)) % 20_000 + len(FUNCTION_WORDS) + 1 for _ in range(6))
        words = [*map(word_of, telling), *draw.sample(FUNCTION_WORDS, 5)]
        draw.shuffle(words)
        made.append(" ".join(words))
    return made


def query_vector(dimensions: int, *, seed: int) -> Vector:
    return _unit(np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32))


def _write(number: int, words: npt.NDArray[np.int64], vectors: npt.NDArray[np.float32]) -> Ready:
    document = _document(f"part-{number % 50}/page-{number}.md")
    pieces = tuple(_piece(" ".join(map(word_of, row)), ordinal) for ordinal, row in enumerate(words))
    chunks = chunks_of(document, pieces)
    ready = {chunk.text_digest: _unit(vector) for chunk, vector in zip(chunks, vectors, strict=True)}
    return DocumentWrite(document, chunks), ready


def _document(path: str) -> Document:
    who = random.Random(path).choice(["public", "project", "group:ops", "owner:ann"])
    return Document(
        id=document_id(Scope(), path),
        scope=Scope(),
        path=path,
        mount="",
        title=path,
        description="",
        tags=("synthetic",),
        module=path.split("/")[0],
        chapter="Unknown",
        corpus_type="DOC_PAGE",
        content_type="prose",
        metadata={},
        access=Access.of([who]),
        stamp=Stamp(digest(path), digest("recipe"), digest("origin")),
        text="",
    )


def _piece(text: str, ordinal: int) -> Piece:
    return Piece(
        anchor=f"section-{ordinal}",
        ordinal=0,
        section=f"Section {ordinal}",
        breadcrumb=(f"Section {ordinal}",),
        text=text,
        first_line=ordinal * 10 + 1,
        last_line=ordinal * 10 + 9,
        tokens=WORDS_A_CHUNK * 2,
        kind=None,
        has_code=False,
        has_equations=False,
        language=None,
    )


def _unit(vector: npt.NDArray[np.float32]) -> Vector:
    return Vector((vector / np.linalg.norm(vector)).astype("<f4").tobytes())
