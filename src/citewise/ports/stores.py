"""What is kept beside the catalog: the query log and the cache."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from citewise.model.access import Scope
from citewise.model.answer import Answer
from citewise.model.chunk import Vector
from citewise.model.filters import Where
from citewise.model.ids import Digest, DocumentId
from citewise.model.logged import Logged, Whose
from citewise.model.ranking import Passage, SearchResult


class QueryLog(Protocol):
    """Takes one row for each question.

    Promises: `add` never waits for a disk and never raises; what cannot be kept is dropped and counted. After `flush`,
    what was added before is written, or counted as lost; it waits for a bounded time. `close` flushes and lets go of
    everything; a later `add` begins anew.
    """

    def add(self, row: Logged) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class LogStore(Protocol):
    """Keeps rows for as long as its retention says, and no more of them than it may; the oldest go first.

    Promises: rows and counts of one `write` are there together or not at all; `rows` gives exactly what `Whose.admits`
    at or after `since`, newest first, never more than `limit`, and nothing that is older than the retention, swept or
    not; writing removes what is too old; after `sweep` the bytes of removed rows are no longer in the file, nor any row
    if nothing is to be kept. `shown` names every document of any row; after `forget` no row names these. A store that
    is not there yet is empty; one that cannot be used raises Unavailable or Misconfigured.
    """

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None: ...
    def rows(self, whose: Whose, *, since: float, limit: int) -> tuple[Logged, ...]: ...
    def lost(self, scope: Scope, *, since: float) -> int: ...  # rows that were dropped instead of written
    def shown(self) -> frozenset[DocumentId]: ...
    def forget(self, documents: Collection[DocumentId]) -> None: ...
    def sweep(self) -> None: ...


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


class Popular(Protocol):
    """Knows which passages are often found, and shows them to whoever may read them.

    Promises: most popular first, none twice, never more than `limit`; read from the catalog at the time of the call, so
    that nothing comes back which is gone, in another scope, or not for this reader by now, whatever was popular with
    others; nor anything that the conditions of `where` might not admit. Nothing known gives (). A catalog that cannot
    be read leaves nothing that may be shown: (), or Unavailable.
    """

    def passages(self, where: Where, limit: int) -> tuple[Passage, ...]: ...
