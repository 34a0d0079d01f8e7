"""Prepared documents -> embedded, stored and projected, in batches; shared by ingestion and re-embedding."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citewise.errors import Unavailable
from citewise.ingest.prepare import Prepared
from citewise.ingest.project import Project
from citewise.model.access import Scope
from citewise.model.chunk import ChunkCounts, Vector, WordVectors
from citewise.model.ids import Digest
from citewise.model.report import Embedded
from citewise.ports.catalog import Catalog, EmbeddingCache
from citewise.ports.models import Embedder, WordEmbedder

# What is embedded and stored together: enough texts to sort by length, few enough that a document is safe on
# disk seconds after it was read.
TEXTS_AT_ONCE = 128
DOCUMENTS_AT_ONCE = 64
CHUNKS_BEFORE_PROJECTING = 512  # a projection has a price of its own (a commit), so not after every batch

_Outcome = tuple[Vector, WordVectors] | Unavailable  # of a text and of its words
_NO_WORDS = WordVectors(b"")  # of a text whose word vectors are not wanted


@dataclass(frozen=True, slots=True)
class DocumentWriter:
    """Everything it takes to get a prepared document into a library."""

    embedder: Embedder
    catalog: Catalog
    caches: tuple[EmbeddingCache, ...]  # the library's own first; the others are read before anything is embedded
    project: Project
    words: WordEmbedder | None = None  # the same model, where word vectors are stored as well

    def embed(self, texts: Sequence[str]) -> tuple[_Outcome, ...]:
        if self.words is not None:
            return self.words.embedded(texts)
        vectors = self.embedder.documents(texts)
        return tuple(each if isinstance(each, Unavailable) else (each, _NO_WORDS) for each in vectors)

    def cached(self, cache: EmbeddingCache, digests: Collection[Digest]) -> dict[Digest, tuple[Vector, WordVectors]]:
        """What a cache has. A text whose word vectors are wanted and missing counts as unknown."""
        vectors = cache.vectors(digests)
        if self.words is None:
            return {key: (vector, _NO_WORDS) for key, vector in vectors.items()}
        words = cache.word_vectors(digests)
        return {key: (vectors[key], words[key]) for key in vectors.keys() & words.keys()}

    def keep(self, outcomes: Mapping[Digest, _Outcome]) -> int:
        """Store vectors in the library's own cache; returns how many there were."""
        embedded = {key: pair for key, pair in outcomes.items() if not isinstance(pair, Unavailable)}
        vectors = {key: vector for key, (vector, _) in embedded.items()}
        self.caches[0].keep(vectors, {key: words for key, (_, words) in embedded.items() if words is not _NO_WORDS})
        return len(vectors)


@dataclass(frozen=True, slots=True)
class Written:
    """An item was stored, or not, because one of its texts could not be embedded."""

    prepared: Prepared
    failure: Unavailable | None


class WriteBatch:
    """Items that wait to be stored together, and the totals of what was stored so far."""

    def __init__(self, writer: DocumentWriter, scope: Scope) -> None:
        self._writer = writer
        self._scope = scope
        self._waiting: list[Prepared] = []
        self._unprojected = 0
        self.embedded = 0
        self.chunks = ChunkCounts()

    def add(self, prepared: Prepared) -> Iterator[Embedded | Written]:
        """Take an item in; a full batch is written."""
        self._waiting.append(prepared)
        writes = [write for each in self._waiting for write in each.writes]
        if sum(len(write.chunks) for write in writes) >= TEXTS_AT_ONCE or len(writes) >= DOCUMENTS_AT_ONCE:
            yield from self.write()

    def write(self) -> Iterator[Embedded | Written]:
        """Embed and store what waits. Every item is stored with all its documents, or not at all."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        outcomes: dict[Digest, _Outcome] = {}
        yield from self._embed(waiting, outcomes)
        written = [Written(prepared, _failure(prepared, outcomes)) for prepared in waiting]
        writes = [write for each in written if not each.failure for write in each.prepared.writes]
        self.chunks += self._writer.catalog.store(writes)
        yield from written
        self._unprojected += sum(len(write.chunks) for write in writes)
        if self._unprojected >= CHUNKS_BEFORE_PROJECTING:
            self._writer.project(self._scope)
            self._unprojected = 0

    def _embed(self, waiting: Sequence[Prepared], outcomes: dict[Digest, _Outcome]) -> Iterator[Embedded]:
        """Fill in what the library does not have yet. Equal texts are embedded once, and vectors are kept at once:
        neither a refused neighbor nor an interruption makes anyone pay for them again."""
        writer = self._writer
        chunks = [chunk for each in waiting for write in each.writes for chunk in write.chunks]
        texts = {chunk.text_digest: chunk.embedded_text for chunk in chunks}
        own, *others = writer.caches
        missing = texts.keys() - writer.cached(own, texts.keys()).keys()
        for cache in others:
            outcomes |= writer.cached(cache, missing - outcomes.keys())
        writer.keep(outcomes)
        new = [key for key in texts if key in missing and key not in outcomes]
        for start in range(0, len(new), TEXTS_AT_ONCE):
            keys = new[start : start + TEXTS_AT_ONCE]
            embedded = dict(zip(keys, writer.embed([texts[key] for key in keys]), strict=True))
            self.embedded += writer.keep(embedded)
            outcomes |= embedded
            yield Embedded(len(keys))


def _failure(prepared: Prepared, outcomes: Mapping[Digest, _Outcome]) -> Unavailable | None:
    of_chunks = (outcomes.get(chunk.text_digest) for write in prepared.writes for chunk in write.chunks)
    return next((outcome for outcome in of_chunks if isinstance(outcome, Unavailable)), None)
