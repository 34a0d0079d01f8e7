"""What came of questions, in this process's memory."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from sys import getsizeof
from typing import TypeAlias

from citewise.model.access import Scope
from citewise.model.answer import Answer, Citation
from citewise.model.ids import Digest
from citewise.model.ranking import Finding, SearchResult
from citewise.ports.stores import CacheKey, Entry

# Bytes.
ENTRY = 4_000  # key, query, timings, counts, and what the cache itself needs to find it again
FINDING = 2_000  # a passage's fields, its candidate's scores and ranks
BLOCK = 200  # of a passage: its kind and span
DROPPED = 1_000  # a candidate's scores and ranks
CITATION = 700


def bytes_of(entry: Entry) -> int:
    """An estimate that errs upward: what two entries share is counted twice."""
    value = entry.value
    size = ENTRY
    if entry.meaning is not None:
        size += len(entry.meaning.vector) + _texts(entry.meaning.saying)
    if isinstance(value, Answer):
        return size + _answer(value) + _result(value.result)
    return size + _result(value)


def _result(result: SearchResult) -> int:
    texts = _texts((result.query.text, result.next_cursor or "", *result.notes))
    return texts + sum(map(_finding, result.findings)) + DROPPED * len(result.dropped)


def _finding(finding: Finding) -> int:
    passage = finding.passage
    texts = _texts((passage.text, passage.document, passage.title, passage.section, passage.anchor, finding.url or ""))
    names = _texts((*passage.breadcrumb, *passage.tags))
    return FINDING + BLOCK * len(passage.blocks) + texts + names + 2 * getsizeof(str(passage.metadata))


def _answer(answer: Answer) -> int:
    texts = _texts((answer.text, *answer.unsupported_sentences, *answer.suggestions))
    return texts + sum(map(_citation, answer.citations))


def _citation(citation: Citation) -> int:
    return CITATION + _texts((citation.excerpt, citation.title, citation.section, *citation.breadcrumb))


def _texts(texts: Iterable[str]) -> int:
    return sum(map(getsizeof, texts))


MAX_SCOPES = 10_000  # whose version is known; one more, and everything is forgotten; 1: one scope at a time

_Name: TypeAlias = tuple[Scope, Digest, str]  # scope, bucket and question; the version is its scope's
_Said: TypeAlias = tuple[Scope, Digest, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Held:
    entry: Entry
    size: int  # bytes
    expires_at: float


@dataclass(slots=True)
class _Shelf:
    """A scope's version, as it was named last, and the entries of it."""

    version: str
    names: set[_Name] = field(default_factory=set)


class MemoryCache:
    """Bounded by bytes, least recently used first out."""

    def __init__(self, *, max_bytes: int, ttl_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._held: OrderedDict[_Name, _Held] = OrderedDict()  # least recently used first
        self._oldest: dict[_Name, None] = {}  # in the order in which they were kept, so of their expiry
        self._said: dict[_Said, dict[_Name, None]] = {}
        self._shelves: dict[Scope, _Shelf] = {}
        self._bytes = 0

    @property
    def size(self) -> int:
        """Bytes that are held now."""
        return self._bytes

    def same(self, key: CacheKey) -> Entry | None:
        with self._lock:
            self._swept(key)
            return self._used(_name(key))

    def alike(self, key: CacheKey, saying: tuple[str, ...]) -> tuple[Entry, ...]:
        with self._lock:
            self._swept(key)
            names = tuple(self._said.get((key.scope, key.bucket, saying), ()))
            found = [self._used(name) for name in reversed(names) if name != _name(key)]
            return tuple(entry for entry in found if entry is not None)

    def keep(self, key: CacheKey, entry: Entry) -> None:
        size = bytes_of(entry)
        with self._lock:
            shelf = self._shelves.get(key.scope)
            if size > self._max_bytes or shelf is None or shelf.version != key.version:
                return  # the scope has moved on since the key was made
            name = _name(key)
            self._drop(name)
            self._add(name, _Held(entry, size, self._clock() + self._ttl_seconds))
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._held)))

    def forget(self) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        for each in (self._held, self._oldest, self._said, self._shelves):
            each.clear()
        self._bytes = 0

    def _swept(self, key: CacheKey) -> None:
        """Without what has expired, and what was kept of another version of the scope."""
        now = self._clock()
        while self._oldest and self._held[next(iter(self._oldest))].expires_at <= now:
            self._drop(next(iter(self._oldest)))
        shelf = self._shelves.get(key.scope)
        if shelf is not None and shelf.version == key.version:
            return
        for name in tuple(shelf.names) if shelf is not None else ():
            self._drop(name)
        if shelf is None and len(self._shelves) >= MAX_SCOPES:
            self._clear()
        self._shelves[key.scope] = _Shelf(key.version)

    def _used(self, name: _Name) -> Entry | None:
        held = self._held.get(name)
        if held is None:
            return None
        self._held.move_to_end(name)
        return held.entry

    def _add(self, name: _Name, held: _Held) -> None:
        self._held[name] = held
        self._oldest[name] = None
        self._shelves[name[0]].names.add(name)
        if held.entry.meaning is not None:
            self._said.setdefault((*name[:2], held.entry.meaning.saying), {})[name] = None
        self._bytes += held.size

    def _drop(self, name: _Name) -> None:
        held = self._held.pop(name, None)
        if held is None:
            return
        del self._oldest[name]
        self._shelves[name[0]].names.discard(name)
        if held.entry.meaning is not None:
            said = (*name[:2], held.entry.meaning.saying)
            del self._said[said][name]
            if not self._said[said]:
                del self._said[said]
        self._bytes -= held.size


def _name(key: CacheKey) -> _Name:
    return key.scope, key.bucket, key.question
