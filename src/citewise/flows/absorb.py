"""Prepared documents -> embedded, stored and projected, in groups; shared by ingestion and re-embedding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from citewise.flows.prepare import Prepared
from citewise.flows.project import Project
from citewise.model.change import ChunkCounts
from citewise.model.ids import Digest
from citewise.model.scope import Scope
from citewise.model.vector import EmbeddingFailure, Vector
from citewise.ports.catalog import Catalog, DocumentWrite
from citewise.ports.embedder import Embedder
from citewise.ports.embedding_cache import EmbeddingCache

# What is embedded and stored together: enough texts to sort by length, few enough that a document is safe on
# disk seconds after it was read.
TEXTS_AT_ONCE = 128
DOCUMENTS_AT_ONCE = 64
CHUNKS_BEFORE_PROJECTING = 512  # a projection has a price of its own (a commit), so not after every group

Vectors = Mapping[Digest, Vector | EmbeddingFailure]


@dataclass(frozen=True, slots=True)
class Absorb:
    """Everything it takes to get a prepared document into a library."""

    embedder: Embedder
    catalog: Catalog
    caches: tuple[EmbeddingCache, ...]  # the library's own first; others are looked at before embedding
    project: Project


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
        vectors = self._vectors(waiting)
        failures = {prepared.document.id: _failure(prepared, vectors) for prepared in waiting}
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

    def _vectors(self, waiting: Sequence[Prepared]) -> Vectors:
        """Vectors that the library did not hold yet. Equal texts are embedded once, and what was embedded is kept
        at once: neither a refused neighbor nor an interruption makes anyone pay for it again."""
        texts = {chunk.text_digest: chunk.embedded_text for item in waiting for chunk in item.chunks}
        own, *others = self._absorb.caches
        missing = texts.keys() - own.vectors(texts.keys()).keys()
        found: dict[Digest, Vector | EmbeddingFailure] = {}
        for cache in others:
            found |= cache.vectors(missing - found.keys())
        own.keep(_made(found))
        new = [key for key in texts if key in missing and key not in found]
        for start in range(0, len(new), TEXTS_AT_ONCE):
            keys = new[start : start + TEXTS_AT_ONCE]
            made = self._absorb.embedder.documents([texts[key] for key in keys])
            outcomes = dict(zip(keys, made, strict=True))
            own.keep(_made(outcomes))
            found |= outcomes
            self.embedded += len(_made(outcomes))
            self._on_embedded(len(keys))
        return found


def _failure(prepared: Prepared, vectors: Vectors) -> EmbeddingFailure | None:
    outcomes = (vectors.get(chunk.text_digest) for chunk in prepared.chunks)
    return next((outcome for outcome in outcomes if isinstance(outcome, EmbeddingFailure)), None)


def _made(outcomes: Vectors) -> dict[Digest, Vector]:
    return {key: vector for key, vector in outcomes.items() if not isinstance(vector, EmbeddingFailure)}
