"""Synthetic libraries with ready vectors: Zipf text, clustered vectors, access rules. Nothing is embedded.

Everything is drawn by the number of its document, so a smaller library is the beginning of a larger one (from 20,000
chunks on) and a question can be asked near a page that exists. The most common words are English function words, as
in real text: BM25 over words leaves them out, BM25 over code tokens does not. The others are made of syllables.

    python -m benchmarks.synthetic 1000000      (makes .bench/speed-1000000, in about 15 minutes)
"""

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from benchmarks.judged import KEPT
from citewise.errors import Unavailable
from citewise.library import OpenLibrary
from citewise.model.access import Access, Principal, Scope
from citewise.model.chunk import Chunk, EmbeddingModel, Piece, Vector
from citewise.model.document import Document, Location
from citewise.model.ids import ChunkId, Digest, chunk_id, digest, document_id
from citewise.ports.catalog import DocumentWrite
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring import stored_library

LARGEST_DOCUMENT = 20  # chunks
MIN_DOCUMENTS = 1000  # so that a thousandth of them is a whole number
WORDS_A_CHUNK = 120
VOCABULARY = 200_000
TOPICS = 200
PAGE, CHUNK, ASKED = 1.0, 1.0, 0.7  # how far a page lies from its topic, a chunk and a question from their page
DIMENSIONS = 384
GROUP = 200  # documents written at once
FUNCTION_WORDS: Sequence[str] = (
    *("the", "of", "and", "to", "a", "in", "is", "that", "for", "it", "as", "was", "with"),
    *("be", "by", "on", "not", "he", "his", "but", "at", "are", "this", "have", "from"),
)
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
SHARES: Mapping[str, int] = MappingProxyType({"100": 1, "50": 2, "10": 10, "1": 100, "0.1": 1000})
"""Per cent of the documents that a group may read -> it reads one in so many."""

Floats = npt.NDArray[np.float32]
Ready = tuple[DocumentWrite, dict[Digest, Vector]]


def writes(chunks: int, dimensions: int = DIMENSIONS, *, seed: int = 1) -> Iterator[Ready]:
    """Documents with their vectors, until there are that many chunks."""
    size = document_size(chunks)
    for number in range(chunks // size):
        yield write_of(number, chunks=size, dimensions=dimensions, seed=seed)


def write_of(number: int, *, chunks: int, dimensions: int = DIMENSIONS, seed: int = 1) -> Ready:
    """One document of so many chunks, with its vectors."""
    draw = np.random.default_rng([seed, number])
    vectors = _vectors(draw, chunks, dimensions, seed)
    return _write(number, _ranks(draw, (chunks, WORDS_A_CHUNK)), vectors)


def document_vectors(number: int, chunks: int, *, seed: int = 1) -> Floats:
    """The vectors of the chunks of one document, in their order, of unit length."""
    vectors = _vectors(np.random.default_rng([seed, number]), document_size(chunks), DIMENSIONS, seed)
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def document_chunks(number: int, chunks: int) -> list[ChunkId]:
    """The ids of the same."""
    path = path_of(number)
    return [chunk_id(Scope(), path, anchor=anchor_of(at), ordinal=0) for at in range(document_size(chunks))]


def path_of(number: int) -> str:
    return f"part-{number % 50}/page-{number}.md"


def anchor_of(place: int) -> str:
    return f"section-{place}"


def document_size(chunks: int) -> int:
    """Chunks a document: small libraries have small documents, so that every share has its reader."""
    return max(1, min(LARGEST_DOCUMENT, chunks // MIN_DOCUMENTS))


def reader(share: str) -> Principal:
    """Who sees that many per cent of the documents, neither more nor fewer."""
    return Principal(groups=frozenset({f"sees-{share}"}))


@lru_cache(maxsize=VOCABULARY)
def word_of(rank: int) -> str:
    """The word of this rank, from 1 for the most common one."""
    if rank <= len(FUNCTION_WORDS):
        return FUNCTION_WORDS[rank - 1]
    word, left = "", rank + len(SYLLABLES) ** 2  # three syllables at least: shorter ones are English words
    while left:
        left, place = divmod(left, len(SYLLABLES))
        word += SYLLABLES[place]
    return word


def questions(count: int, *, seed: int = 7) -> list[str]:
    """Like "how is the X of the Y in Z": six telling words, drawn as the text draws them, among five function words."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        telling = _ranks(draw, (6,), first=len(FUNCTION_WORDS) + 1)
        common = draw.choice(len(FUNCTION_WORDS), 5, replace=False) + 1
        words = [word_of(rank) for rank in draw.permutation([*telling, *common]).tolist()]
        made.append(" ".join(words))
    return made


def query_vector(dimensions: int = DIMENSIONS, *, near: int = 0, seed: int = 1) -> Vector:
    """The vector of a question about the document of this number."""
    page = _page(np.random.default_rng([seed, near]), dimensions, seed)
    drawn = np.random.default_rng([seed, near, 1]).standard_normal(dimensions, dtype=np.float32)
    return _unit(page + ASKED * drawn)


class SyntheticEmbedder:
    """Gives each question the vector of one about some document of the library, in no time worth counting."""

    model = EmbeddingModel("synthetic", DIMENSIONS, 256)

    def __init__(self, chunks: int) -> None:
        self._documents = chunks // document_size(chunks)
        self._known: dict[str, Vector] = {}

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        raise AssertionError("a synthetic library has its vectors ready")

    def query(self, text: str) -> Vector:
        if text not in self._known:
            self._known[text] = query_vector(near=int(digest(text)[:12], 16) % self._documents)
        return self._known[text]


class WordCounter:
    """As many tokens as words."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def synthetic_embedding(chunks: int) -> Embedding:
    return Embedding(SyntheticEmbedder(chunks), WordCounter())


def library_folder(chunks: int, *, kept: Path = KEPT) -> Path:
    """The library of this size, made on first use; `made.json` in it says how long that took."""
    folder = kept / f"speed-{chunks}"
    done = folder / "made.json"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was stopped
        with stored_library(Settings(library=folder), synthetic_embedding(chunks)).writing() as library:
            seconds = _filled(library, chunks)
        done.write_text(json.dumps(seconds))
    with stored_library(Settings(library=folder)).inspecting() as library:
        # No chunker has cut any of it, so a newer one is no reason to refuse it, or to make it anew for minutes.
        facts = library.catalog.facts()
        assert facts is not None
        library.catalog.record_facts(replace(facts, chunkers=library.stored.facts.chunkers))
    return folder


def _filled(library: OpenLibrary, chunks: int) -> dict[str, float]:
    made = writes(chunks)
    stored = 0.0
    while group := list(islice(made, GROUP)):
        started = time.perf_counter()
        library.catalog.keep({digest: vector for _, ready in group for digest, vector in ready.items()}, {})
        library.catalog.store([write for write, _ in group])
        stored += time.perf_counter() - started
    started = time.perf_counter()
    library.project(Scope())
    return {"catalog": stored, "index": time.perf_counter() - started}


def _ranks(draw: np.random.Generator, shape: tuple[int, ...], *, first: int = 1) -> npt.NDArray[np.int64]:
    """Ranks by Zipf's law: one in proportion to 1 / rank."""
    ranks: npt.NDArray[np.int64] = (first * (VOCABULARY / first) ** draw.random(shape)).astype(np.int64)
    return ranks


def _vectors(draw: np.random.Generator, size: int, dimensions: int, seed: int) -> Floats:
    page = _page(draw, dimensions, seed)
    vectors: Floats = page + CHUNK * draw.standard_normal((size, dimensions), dtype=np.float32)
    return vectors


def _page(draw: np.random.Generator, dimensions: int, seed: int) -> Floats:
    """The first thing that is drawn for a document: its topic, and where it lies in that."""
    topic = _topics(dimensions, seed)[draw.integers(TOPICS)]
    page: Floats = topic + PAGE * draw.standard_normal(dimensions, dtype=np.float32)
    return page


@lru_cache(maxsize=2)
def _topics(dimensions: int, seed: int) -> Floats:
    return np.random.default_rng([seed]).standard_normal((TOPICS, dimensions), dtype=np.float32)


def _write(number: int, ranks: npt.NDArray[np.int64], vectors: Floats) -> Ready:
    document = _document(number)
    pieces = tuple(_piece(" ".join(map(word_of, row)), ordinal) for ordinal, row in enumerate(ranks.tolist()))
    chunks = Chunk.of_document(document, pieces)
    ready = {chunk.text_digest: _unit(vector) for chunk, vector in zip(chunks, vectors, strict=True)}
    return DocumentWrite(document, chunks), ready


def _document(number: int) -> Document:
    path = path_of(number)
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
        access=Access.of(f"group:sees-{share}" for share, one_in in SHARES.items() if number % one_in == 0),
        stamp=digest(path),
        text="",
    )


def _piece(text: str, ordinal: int) -> Piece:
    return Piece(
        anchor=anchor_of(ordinal),
        ordinal=0,
        section=f"Section {ordinal}",
        breadcrumb=(f"Section {ordinal}",),
        text=text,
        location=Location("lines", ordinal * 10 + 1, ordinal * 10 + 9),
        tokens=WORDS_A_CHUNK * 2,
        kind=None,
        has_code=False,
        has_equations=False,
        language=None,
    )


def _unit(vector: Floats) -> Vector:
    return Vector((vector / np.linalg.norm(vector)).astype("<f4").tobytes())


if __name__ == "__main__":
    print(library_folder(int(sys.argv[1])))
