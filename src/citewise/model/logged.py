"""What is remembered of a question that was asked: numbers, ids and, where the settings allow it, its words."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from citewise.model.access import Principal, Scope
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.query import Query

RequestKind: TypeAlias = Literal["search", "ask"]

_NOBODY = ""  # a name that no user has


@dataclass(frozen=True, slots=True)
class Logged:
    """One question, as the log keeps it."""

    at: float  # seconds since 1970
    request_id: str
    scope: Scope
    kind: RequestKind
    user: str | None  # who asked, if they have a name
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
    # What was shown, best first; an answer shows what it cites. Ids alone: texts stay in the catalog, under its rules.
    shown: tuple[tuple[ChunkId, DocumentId], ...] = ()
    conversation: str | None = None

    @classmethod
    def of(cls, query: Query, kind: RequestKind, seconds: float) -> Self:
        """What a query itself says."""
        user = query.principal.user
        return cls(query.asked_at, query.request_id, query.scope, kind, user, query.text, 1000 * seconds)

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
    """Rows of one scope: those of a user, or everybody's. `admits` is the meaning."""

    scope: Scope
    user: str | None = None  # None: everybody's

    @classmethod
    def of(cls, scope: Scope, principal: Principal) -> Self:
        """What a principal may read of the log: the owner everything.

        Somebody with a name sees what was asked in that name, whatever they could see then. Callers without a name
        see no rows: which of them are their own cannot be told, even where they name the same groups.
        """
        return cls(scope, None if principal.owns_library else principal.user or _NOBODY)

    def admits(self, row: Logged) -> bool:
        return row.scope == self.scope and self.user in (None, row.user)
