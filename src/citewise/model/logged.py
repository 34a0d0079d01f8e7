"""What is remembered of a question that was asked: numbers, ids and, where the settings allow it, its words."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Self

from citewise.model.access import Principal, Scope
from citewise.model.ids import ChunkId, DocumentId, digest

MAX_ROWS_ASKED = 1_000
MAX_SHOWN = 20  # ids kept of one question: a default search, or the largest page
NOBODY = ""  # what no row says of its asker
ABANDONED = "abandoned"  # instead of an error's name: whoever asked went away before the answer was there


class RequestKind(StrEnum):
    """How it was asked."""

    SEARCH = "search"
    ASK = "ask"


class ShownChunk(NamedTuple):
    """What was shown, by id: the text stays in the catalog, under its own rules."""

    chunk: ChunkId
    document: DocumentId


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asked: a name if there was one, and a digest of whom they counted as then."""

    user: str | None
    readers: str

    @classmethod
    def of(cls, principal: Principal) -> Self:
        return cls(principal.user, _readers(principal))


@lru_cache(maxsize=1_000)
def _readers(principal: Principal) -> str:
    """The same people ask again and again, and hashing the names of twenty groups costs as much as all the rest."""
    readers = principal.readers
    return digest("owner") if readers is None else digest("readers", *sorted(readers))


@dataclass(frozen=True, slots=True)
class Logged:
    """One question, as the log keeps it."""

    at: float  # seconds since 1970
    request_id: str
    scope: Scope
    kind: RequestKind
    asker: Asker
    text: str | None  # None: the settings keep no words
    latency_ms: float
    candidates: int = 0  # different chunks that any ranking found
    hits: int = 0
    is_cache_hit: bool = False
    degraded: tuple[str, ...] = ()  # names of the parts that should have worked and did not
    error: str | None = None  # its kind, if there was no result at all
    quality: float | None = None  # of an answer, in 0..1
    confidence: float | None = None  # that what was found holds an answer, in 0..1
    has_warning: bool = False  # the answer came with one
    sufficient_context: bool | None = None  # None: it was a search
    tokens_in: int | None = None  # of the prompt and of the answer; None: it was a search; 0: from the cache
    tokens_out: int | None = None
    embedding_tokens: int = 0  # of the question, where it was embedded
    shown: tuple[ShownChunk, ...] = ()  # best first; an answer shows what it cites
    conversation: str | None = None

    @property
    def is_unanswered(self) -> bool:
        """Nothing was found, or what was found did not suffice."""
        if self.error is not None:
            return False
        return self.hits == 0 or self.sufficient_context is False

    @property
    def is_poor(self) -> bool:
        """It was answered, with a warning."""
        return self.has_warning and not self.is_unanswered


@dataclass(frozen=True, slots=True)
class LogScope:
    """Rows of one scope: everybody's for the library's owner, otherwise those of one asker. `admits` is the meaning."""

    scope: Scope
    asker: Asker | None  # None: everybody's

    @classmethod
    def of(cls, scope: Scope, principal: Principal) -> Self:
        """What a principal may read of the log.

        Somebody with a name sees what was asked in that name, whatever they could see then. Those who are known by
        their groups alone share what was asked by exactly these groups. Strangers, whom nobody can tell apart, see
        nothing.
        """
        if principal.owns_library:
            return cls(scope, None)
        if principal.user is None and not principal.groups:
            return cls(scope, Asker(None, NOBODY))
        return cls(scope, Asker.of(principal))

    def admits(self, row: Logged) -> bool:
        if row.scope != self.scope:
            return False
        if self.asker is None:
            return True
        if self.asker.user is not None:
            return row.asker.user == self.asker.user
        return row.asker == self.asker
