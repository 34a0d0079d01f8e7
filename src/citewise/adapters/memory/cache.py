"""Results of earlier requests, in the memory of this process."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from sys import getsizeof

from cachetools import TTLCache

from citewise.model.answer import Answer
from citewise.model.chunk import Vector, cosine
from citewise.model.ranking import SearchResult
from citewise.ports.stores import CachedResult, CacheKey

# Bytes, measured with some room: what the fields of each take beside their texts.
ENTRY_BYTES, FINDING_BYTES, DROPPED_BYTES, CITATION_BYTES = 4_000, 2_500, 1_000, 1_500


@dataclass(frozen=True, slots=True)
class _Entry:
    value: CachedResult
    vector: Vector | None


class MemoryCache:
    """The port `QueryCache` over a `cachetools.TTLCache`, bounded by bytes."""

    def __init__(self, *, max_bytes: int, ttl_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries: TTLCache[CacheKey, _Entry] = TTLCache(
            max_bytes, ttl_seconds, timer=clock, getsizeof=lambda entry: size_of(entry.value)
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
        return None if entry is None else entry.value

    def nearest(self, key: CacheKey, vector: Vector, *, min_cosine: float) -> CachedResult | None:
        with self._lock:
            entries = [self._entries.get(other) for other in list(self._entries) if other.differs_in_words(key)]
        near = [(cosine(vector, entry.vector), entry) for entry in entries if entry is not None and entry.vector]
        best, entry = max(near, key=lambda pair: pair[0], default=(-1.0, None))
        return entry.value if entry is not None and best >= min_cosine else None

    def put(self, key: CacheKey, value: CachedResult, vector: Vector | None = None) -> None:
        with self._lock:
            self._entries.pop(key, None)
            if size_of(value) <= self._entries.maxsize:
                self._entries[key] = _Entry(value, vector)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


def size_of(value: CachedResult) -> int:
    """Bytes that a result takes, by an estimate that errs upward."""
    result, size = (value, 0) if isinstance(value, SearchResult) else (value.result, _answer_size(value))
    texts = sum(getsizeof(finding.passage.text) + 2 * len(str(finding.passage.metadata)) for finding in result.findings)
    return ENTRY_BYTES + size + texts + FINDING_BYTES * len(result.findings) + DROPPED_BYTES * len(result.dropped)


def _answer_size(answer: Answer) -> int:
    texts = (answer.text, *answer.unsupported_sentences, *answer.suggestions, *(c.excerpt for c in answer.citations))
    return sum(map(getsizeof, texts)) + CITATION_BYTES * len(answer.citations)
