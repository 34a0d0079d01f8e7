"""What this process remembers: results of requests, and vectors of questions."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from sys import getsizeof

from cachetools import TTLCache

from citewise.errors import Unavailable
from citewise.model.answer import Answer
from citewise.model.chunk import EmbeddingModel, Vector, cosine
from citewise.model.ranking import SearchResult
from citewise.ports.models import Embedder
from citewise.ports.stores import CachedResult, CacheKey

# Bytes, measured with some room: what the fields of each take beside their texts.
ENTRY_BYTES, FINDING_BYTES, DROPPED_BYTES, CITATION_BYTES = 4_000, 2_500, 1_000, 1_500
MAX_QUESTIONS = 256  # half a megabyte at 384 components; 1: threads that ask at once make each other forget

_Entry = tuple[CachedResult, Vector | None]  # and the question's vector


class MemoryCache:
    """The port `QueryCache` over a `cachetools.TTLCache`, bounded by bytes."""

    def __init__(self, *, max_bytes: int, ttl_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries: TTLCache[CacheKey, _Entry] = TTLCache(
            max_bytes, ttl_seconds, timer=clock, getsizeof=lambda entry: MemoryCache.size_of(entry[0])
        )
        self._lock = threading.Lock()

    @property
    def size(self) -> float:
        """Bytes that are held now, by estimate."""
        with self._lock:
            self._entries.expire()
            return self._entries.currsize

    def get(self, key: CacheKey) -> CachedResult | None:
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def nearest(self, key: CacheKey, vector: Vector, *, min_cosine: float) -> CachedResult | None:
        with self._lock:
            entries = [self._entries.get(other) for other in list(self._entries) if other.differs_in_words(key)]
        near = [(cosine(vector, entry[1]), entry[0]) for entry in entries if entry is not None and entry[1]]
        best, value = max(near, key=lambda pair: pair[0], default=(-1.0, None))
        return value if best >= min_cosine else None

    def put(self, key: CacheKey, value: CachedResult, vector: Vector | None = None) -> None:
        with self._lock:
            self._entries.pop(key, None)
            if self.size_of(value) <= self._entries.maxsize:
                self._entries[key] = (value, vector)

    @staticmethod
    def size_of(value: CachedResult) -> int:
        """Bytes that a result takes, by an estimate that errs upward."""
        size, result = ENTRY_BYTES, value if isinstance(value, SearchResult) else value.result
        if isinstance(value, Answer):
            texts = (
                value.text,
                *value.unsupported_sentences,
                *(place for each in value.suggestions for place in (each.title, each.document, each.url or "")),
                *(c.excerpt for c in value.citations),
            )
            size += sum(map(getsizeof, texts)) + CITATION_BYTES * len(value.citations)
        for finding in result.findings:
            size += FINDING_BYTES + getsizeof(finding.passage.text) + 2 * len(str(finding.passage.metadata))
        return size + DROPPED_BYTES * len(result.dropped)


class RememberingEmbedder:
    """The port `Embedder` over another one: a search and its cache embed a question once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # By name at each call: to ask for the method now would wait until the model is loaded.
        self._vector_of = lru_cache(maxsize=MAX_QUESTIONS)(lambda text: embedder.query(text))

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]:
        return self._embedder.documents(texts)

    def query(self, text: str) -> Vector:
        return self._vector_of(text)
