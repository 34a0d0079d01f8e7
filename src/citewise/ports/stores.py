"""What is stored beside the catalog: the query log, cached results and the rankings behind cursors."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from citewise.model.access import Scope
from citewise.model.answer import Answer
from citewise.model.chunk import Vector
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.logged import Logged, LogScope
from citewise.model.ranking import Candidate, SearchResult


class QueryLog(Protocol):
    """Takes a row for each question.

    Promises: `add` never waits for a disk and never raises; what cannot be stored is dropped and counted. After
    `flush`, what was added before is written, or counted as lost; it waits for a bounded time.
    """

    def add(self, row: Logged) -> None: ...
    def flush(self) -> None: ...


class LogStore(Protocol):
    """Keeps rows for as long as its retention says, and no more of them than it may; the oldest go first.

    Promises: rows and counts of one `write` are there together or not at all; `rows` gives exactly what
    `LogScope.admits` at or after `since`, newest first, never more than `limit`, and nothing older than the retention,
    swept or not; writing removes what is too old, and nothing else while the clock is wrong for a day; after `sweep`
    the bytes of removed rows are no longer in the file, nor any row if nothing is to be kept. `shown` names every
    document of any row; after `forget` no row names these. A store that does not exist yet is empty; one that cannot be
    used raises Unavailable or Misconfigured. One in a file has an attribute `file`, with `path` and `can_write()`:
    where it cannot be written, questions are not logged.
    """

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None: ...
    def rows(self, log_scope: LogScope, *, since: float, limit: int) -> tuple[Logged, ...]: ...
    def lost(self, scope: Scope, *, since: float) -> int: ...  # rows that were dropped instead of written
    def shown(self) -> frozenset[DocumentId]: ...
    def forget(self, documents: Collection[DocumentId]) -> None: ...
    def sweep(self) -> None: ...


CachedResult: TypeAlias = SearchResult | Answer


@dataclass(frozen=True, slots=True)
class CacheKey:
    """A question, and everything that its result depends on."""

    scope: Scope
    version: str  # of what the scope holds
    bucket: Digest  # of the reader, the filters, the options and the settings
    question: str

    def differs_in_words(self, other: "CacheKey") -> bool:
        """Whether nothing but the words of the question differs."""
        ours, theirs = ((key.bucket, key.version, key.scope) for key in (self, other))
        return self.question != other.question and ours == theirs


class QueryCache(Protocol):
    """Keeps results for a while.

    Promises: `get` gives what was put under an equal key; `nearest` gives the result of the question whose vector is
    nearest, among those that were put with a vector and whose keys differ in the words alone, if its cosine reaches
    `min_cosine`; nothing is older than the time to live. The cache is bounded: what was used longest ago goes first,
    and what is larger than the bound is not kept. Threads may share it. One that cannot be reached raises Unavailable.
    """

    def get(self, key: CacheKey) -> CachedResult | None: ...
    def nearest(self, key: CacheKey, vector: Vector, *, min_cosine: float) -> CachedResult | None: ...
    def put(self, key: CacheKey, value: CachedResult, vector: Vector | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class SavedRanking:
    """What the pages behind a cursor need: ids and scores, best first. Neither texts nor the question are in it.

    `known` is only needed while the ranking is not complete: deeper rankings must not bring back what came before.
    """

    purpose: str  # a digest of the search and the reader that the cursor was given to
    candidates: Sequence[Candidate]  # the first begins the page
    total_candidates: int
    place: int = 0  # of the first candidate, from 0
    is_complete: bool = True  # else deeper rankings may find more behind the last candidate
    known: tuple[ChunkId, ...] = ()  # what is on earlier pages, or was dropped by the search
    shown: frozenset[str] = frozenset()  # digests of the texts that were shown before
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def after(self, count: int) -> "SavedRanking":
        """The ranking without its first candidates."""
        passed = [] if self.is_complete else [*self.known, *(candidate.id for candidate in self.candidates[:count])]
        return replace(self, candidates=self.candidates[count:], place=self.place + count, known=tuple(passed))


class RankingStore(Protocol):
    """Saves rankings by cursor until they expire.

    Promises: a ranking is loaded as it was saved, to the last bit of a score; a cursor that is unknown or has expired
    is None, as is one that was saved later than it is now. `renew` makes a cursor that has not expired last until
    `expires_at` at least, or returns False. The store is bounded: each `save` removes what has expired, then the oldest
    until there is room. `clear` erases everything; False if another use kept it from finishing. Threads may share a
    store; one that cannot be used raises Unavailable.
    """

    @property
    def is_shared(self) -> bool: ...  # whether another process finds what is saved here
    def save(self, cursor: str, ranking: SavedRanking, *, now: float, expires_at: float) -> None: ...
    def load(self, cursor: str, *, now: float) -> SavedRanking | None: ...
    def renew(self, cursor: str, *, now: float, expires_at: float) -> bool: ...
    def clear(self) -> bool: ...
