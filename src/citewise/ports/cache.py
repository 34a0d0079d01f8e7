"""QueryCache: what came of questions, for those who ask the same again."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from citewise.model.answer import Answer
from citewise.model.ids import Digest
from citewise.model.result import SearchResult
from citewise.model.scope import Scope
from citewise.model.vector import Vector

Kept: TypeAlias = SearchResult | Answer


@dataclass(frozen=True, slots=True)
class CacheKey:
    """A question, and everything that decides what comes of it."""

    scope: Scope
    version: str  # of what the scope holds; entries of another version are worthless
    bucket: Digest  # of all that changes the result besides the words: who asks, filters, options, settings
    question: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a question says, for those that ask it in other words."""

    saying: tuple[str, ...]
    vector: Vector


@dataclass(frozen=True, slots=True)
class Entry:
    """What came of a question; without a meaning, only the very same words find it."""

    value: Kept
    meaning: Meaning | None = None


class QueryCache(Protocol):
    """Remembers what came of questions, for a while.

    Promises: `same` gives what was kept under an equal key and nothing else; `alike` gives the entries that differ
    from the key in the question alone and whose saying is equal, newest first; nothing that is older than its time to
    live; as soon as a key names another version of a scope than the one before, everything that was kept of that scope
    is gone for good, and `keep` under an older key does nothing. It holds no more than its bound: what was asked for
    longest ago goes first, and what is larger than the bound is not kept. `forget` leaves nothing. Threads may share
    it. One that cannot be reached raises Unavailable.
    """

    def same(self, key: CacheKey) -> Entry | None: ...
    def alike(self, key: CacheKey, saying: tuple[str, ...]) -> tuple[Entry, ...]: ...
    def keep(self, key: CacheKey, entry: Entry) -> None: ...
    def forget(self) -> None: ...
