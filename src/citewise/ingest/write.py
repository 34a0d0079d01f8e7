"""Prepared documents -> embedded, stored and projected, in groups; shared by ingestion and re-embedding."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from citewise.ingest.prepare import Prepared
from citewise.ingest.project import Project
from citewise.model.access import Scope
from citewise.model.chunk import ChunkCounts, EmbeddedText, EmbeddingFailure, WordVectors
from citewise.model.ids import Digest
from citewise.ports.catalog import Catalog, DocumentWrite, EmbeddingCache
from citewise.ports.models import Embedder, WordEmbedder

# What is embedded and stored together: enough texts to sort by length, few enough that a document is safe on
# disk seconds after it was read.
TEXTS_AT_ONCE = 128
DOCUMENTS_AT_ONCE = 64
CHUNKS_BEFORE_PROJECTING = 512  # a projection has a price of its own (a commit), so not after every group

Outcomes = Mapping[Digest, EmbeddedText | EmbeddingFailure]
UNASKED = WordVectors(b"")  # of a text whose words nobody wants


@dataclass(frozen=True, slots=True)
class Absorb:
    """Everything it takes to get a prepared document into a library."""

    embedder: Embedder
    catalog: Catalog
    caches: tuple[EmbeddingCache, ...]  # the library's own first; others are looked at before embedding
    project: Project
    words: WordEmbedder | None = None  # the same model, where the vectors of words are kept as well

    def embedded(self, texts: Sequence[str]) -> tuple[EmbeddedText | EmbeddingFailure, ...]:
        if self.words is not None:
            return self.words.embedded(texts)
        made = self.embedder.documents(texts)
        return tuple(one if isinstance(one, EmbeddingFailure) else EmbeddedText(one, UNASKED) for one in made)

    def held(self, cache: EmbeddingCache, digests: Collection[Digest]) -> dict[Digest, EmbeddedText]:
        """What the cache has whole: a text whose words are wanted and missing is as good as unknown."""
        vectors = cache.vectors(digests)
        if self.words is None:
            return {key: EmbeddedText(vector, UNASKED) for key, vector in vectors.items()}
        words = cache.word_vectors(digests)
        return {key: EmbeddedText(vectors[key], words[key]) for key in vectors.keys() & words.keys()}

    def keep(self, outcomes: Outcomes) -> int:
        """Into the library's own cache; how many there were."""
        made = {key: one for key, one in outcomes.items() if not isinstance(one, EmbeddingFailure)}
        words = {key: one.words for key, one in made.items() if one.words is not UNASKED}
        self.caches[0].keep({key: one.vector for key, one in made.items()}, words)
        return len(made)


class Group:
    """Documents that wait to be stored together, and the tally of what was stored so far."""

    def __init__(
        self,
        absorb: Absorb,
        scope: Scope,
        *,
        on_settled: Callable[[Prepared, EmbeddingFailure | None], None],
        on_embedded: Callable[[int], None],
    ) -> None:
        self._absorb = absorb
        self._scope = scope
        self._on_settled = on_settled
        self._on_embedded = on_embedded
        self._waiting: list[Prepared] = []
        self._texts = 0
        self._unprojected = 0
        self.embedded = 0
        self.chunks = ChunkCounts()

    def add(self, prepared: Prepared) -> None:
        """Take a document in; a full group is flushed."""
        self._waiting.append(prepared)
        self._texts += len(prepared.chunks)
        if self._texts >= TEXTS_AT_ONCE or len(self._waiting) >= DOCUMENTS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Embed and store what waits, then say of each document how it went."""
        waiting, self._waiting, self._texts = self._waiting, [], 0
        if not waiting:
            return
        outcomes = self._embed(waiting)
        failures = {prepared.document.id: _failure(prepared, outcomes) for prepared in waiting}
        writes = [
            DocumentWrite(prepared.document, prepared.chunks)
            for prepared in waiting
            if not failures[prepared.document.id]
        ]
        self.chunks += self._absorb.catalog.store(writes)
        for prepared in waiting:
            self._on_settled(prepared, failures[prepared.document.id])
        self._unprojected += sum(len(write.chunks) for write in writes)
        if self._unprojected >= CHUNKS_BEFORE_PROJECTING:
            self._absorb.project(self._scope)
            self._unprojected = 0

    def _embed(self, waiting: Sequence[Prepared]) -> Outcomes:
        """What the library did not hold yet. Equal texts are embedded once, and what was embedded is kept at once:
        neither a refused neighbor nor an interruption makes anyone pay for it again."""
        texts = {chunk.text_digest: chunk.embedded_text for item in waiting for chunk in item.chunks}
        own, *others = self._absorb.caches
        missing = texts.keys() - self._absorb.held(own, texts.keys()).keys()
        found: dict[Digest, EmbeddedText | EmbeddingFailure] = {}
        for cache in others:
            found |= self._absorb.held(cache, missing - found.keys())
        self._absorb.keep(found)
        new = [key for key in texts if key in missing and key not in found]
        for start in range(0, len(new), TEXTS_AT_ONCE):
            keys = new[start : start + TEXTS_AT_ONCE]
            outcomes = dict(zip(keys, self._absorb.embedded([texts[key] for key in keys]), strict=True))
            self.embedded += self._absorb.keep(outcomes)
            found |= outcomes
            self._on_embedded(len(keys))
        return found


def _failure(prepared: Prepared, outcomes: Outcomes) -> EmbeddingFailure | None:
    found = (outcomes.get(chunk.text_digest) for chunk in prepared.chunks)
    return next((outcome for outcome in found if isinstance(outcome, EmbeddingFailure)), None)
