"""Libraries that differ from a set's own by how they are cut or what is embedded; making them means embedding again."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.lab_sets import Arms, Asked, Corpus, asked_of, cases_of, index_asking, set_library
from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.errors import Misconfigured, Unavailable
from citewise.model.access import Scope
from citewise.model.chunk import EmbeddingModel, Point, Vector
from citewise.ports.indexes import IndexBatch
from citewise.ports.models import Embedder, Embedding
from citewise.settings import Settings
from citewise.text.analysis import terms
from citewise.wiring import stored_library

WIDE = 100_000  # tokens: a window that no chunk fills


@dataclass(frozen=True, slots=True)
class Widened:
    """A model that is said to see any text at once, so that chunks are not lowered to its window.

    It still looks through the window that it has, and pools what it sees: every token counts, as embedders promise.
    """

    embedder: Embedder

    @property
    def model(self) -> EmbeddingModel:
        return replace(self.embedder.model, window_tokens=WIDE)

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        return self.embedder.documents(texts)

    def query(self, text: str) -> Vector:
        return self.embedder.query(text)


def asked_in_chunks(name: str, sizes: tuple[int, int], embedding: Embedding, *, kept: Path) -> Asked:
    """The set's questions, asked of its documents cut to a target and a ceiling, whatever the model's window."""
    target, ceiling = sizes
    folder = kept / f"chunks-{target}" / name / "library"
    settings = Settings(library=folder).changed(chunks={"target_tokens": target, "ceiling_tokens": ceiling})
    widened = Embedding(Widened(embedding.embedder), embedding.counter)
    if not folder.exists():
        with set_library(name, embedding, kept=kept):  # made if it is not there
            _copy(kept / name / "library", folder)
    if not _is_ready(settings, widened):
        for _ in stored_library(settings, widened).reembed():
            pass
    with stored_library(settings, widened).reading() as library:
        return asked_of(name, library, cases_of(name), widened)


def _copy(source: Path, folder: Path) -> None:
    """Whole or not at all. A copy brings the texts, and the vectors of those that are cut as before."""
    beside = folder.with_name("library~")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(source, beside)
    beside.rename(folder)


def _is_ready(settings: Settings, embedding: Embedding) -> bool:
    try:
        with stored_library(settings, embedding).reading():
            return True
    except Misconfigured:  # a copy that has not been cut anew, or not to its end
        return False


def bare_arms(asked: Asked, embedding: Embedding) -> Mapping[str, Arms]:
    """What the arms find, by question, where no chunk knows its headings."""
    with _bare_index(asked.corpus, embedding) as (vectors, texts):
        asking = index_asking(vectors, texts, asked.vectors)
        return {question: asking(question) for question in asked.vectors}


@contextmanager
def _bare_index(corpus: Corpus, embedding: Embedding) -> Iterator[tuple[LocalVectorIndex, LocalTextIndex]]:
    texts = [held.piece.text for held in corpus.values()]
    vectors = map(_made, embedding.embedder.documents(texts))
    points = [
        Point(id_, vector, terms(text), frozenset(), {})
        for id_, text, vector in zip(corpus, texts, vectors, strict=True)
    ]
    with tempfile.TemporaryDirectory(prefix="citewise-lab-") as folder:
        root = Path(folder)
        indexes = (
            LocalVectorIndex(root / "vectors", dimensions=embedding.embedder.model.dimensions),
            LocalTextIndex(root / "texts"),
        )
        for index in indexes:
            index.write(Scope(), 1, IndexBatch(points, (), 1))
            index.activate(Scope(), 1)
        yield indexes


def _made(vector: Vector | Unavailable) -> Vector:
    if isinstance(vector, Unavailable):
        raise Unavailable(f"a chunk could not be embedded: {vector}")
    return vector
