"""Question -> what came of it before, if nothing has changed since; else fresh, and kept for the next one.

Equal versions before and after a run mean that nothing was committed meanwhile: only then is its result kept, and it is
given again only under that version. So a hit shows what a fresh run would show to this reader now, or nothing.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields, is_dataclass, replace

from citewise.errors import CitewiseError
from citewise.model.access import Principal, Scope
from citewise.model.answer import Answer, AnswerEvents, Cited, Done, Message, Sources, Token
from citewise.model.chunk import cosine
from citewise.model.ids import digest
from citewise.model.paging import PageRequest
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.ports.models import Embedder
from citewise.ports.stores import CacheKey, Entry, Kept, Meaning, QueryCache
from citewise.search.adjust import DAY, Freshness
from citewise.search.sameness import Sameness

SEARCH, ASK, CACHE = "search", "ask", "cache"
OWN = frozenset({"text", "request_id", "asked_at", "principal"})  # of a query; of the principal, the readers count
_DECIDING = tuple(one.name for one in fields(Query) if one.name not in OWN)
MAX_AGING = 1e-4  # that a score may move by age while it is kept; 0: nothing that ages is kept; 1: everything is


@dataclass(frozen=True, slots=True)
class Cached:
    """Searches and asks through a memory of what came of questions. Nothing that it needs can fail a query."""

    cache: QueryCache
    version: Callable[[Scope], str]  # of all that a search looks at, as one word
    embedder: Embedder
    sameness: Sameness
    freshness: Freshness
    recipe: str  # the settings that change what comes of a question
    ttl_seconds: float
    min_cosine: float  # of two questions in other words; 1: only the very same words count
    # A cursor that lives as long as a new one, in place of one that was given before; None if its hits are gone.
    # Without it, pages that others follow are not kept.
    renewed: Callable[[str], str | None] | None = None

    def search(
        self, query: Query, fresh: Callable[[Query], SearchResult], *, page: PageRequest | None = None
    ) -> SearchResult:
        """The search's result, or what it gave before. What stands behind a cursor is held elsewhere, and not here."""
        if page is not None and page.cursor is not None:
            return fresh(query)
        started = time.perf_counter()
        key = self._key(query, SEARCH, _spelled(page))
        found = self._found(key)
        if isinstance(found, SearchResult):
            return _again(found, query, started)
        result = fresh(query)
        self._keep(key, result, result)
        return result

    def ask(
        self,
        query: Query,
        fresh: Callable[[Query], AnswerEvents],
        *,
        generator: str,
        history: Sequence[Message] = (),
    ) -> AnswerEvents:
        """The answer's events, or those of the answer that was given before."""
        started = time.perf_counter()
        said = [part for message in history for part in (message.role, message.content)]
        key = self._key(query, ASK, generator, *said)
        found = self._found(key)
        if isinstance(found, Answer):
            yield from _replayed(replace(found, result=_again(found.result, query, started)))
            return
        with closing(fresh(query)) as events:
            for event in events:
                if isinstance(event, Done):
                    self._keep(key, event.answer, event.answer.result)
                yield event

    def _key(self, query: Query, kind: str, *besides: str) -> CacheKey | None:
        """None if the versions cannot be read: whoever asks will hear of it from the search itself."""
        with suppress(CitewiseError):
            bucket = digest(kind, self.recipe, *bucket_parts(query), *besides)
            return CacheKey(query.scope, self.version(query.scope), bucket, query.text)
        return None

    def _found(self, key: CacheKey | None) -> Kept | None:
        if key is None:
            return None
        with suppress(CitewiseError):
            entry = self.cache.same(key) or self._alike(key)
            return None if entry is None else self._usable(entry.value)
        return None

    def _usable(self, kept: Kept) -> Kept | None:
        """With a cursor that has not grown old here."""
        if isinstance(kept, Answer) or kept.next_cursor is None or self.renewed is None:
            return kept
        cursor = self.renewed(kept.next_cursor)
        return None if cursor is None else replace(kept, next_cursor=cursor)

    def _alike(self, key: CacheKey) -> Entry | None:
        """Words first: the model is only asked about a question whose saying is there."""
        if self.min_cosine >= 1:
            return None
        others = self.cache.alike(key, self.sameness.saying(key.question))
        if not others:
            return None
        asked = self.embedder.query(key.question)
        for other in others:
            if other.meaning is not None and cosine(asked, other.meaning.vector) >= self.min_cosine:
                return other
        return None

    def _keep(self, key: CacheKey | None, value: Kept, result: SearchResult) -> None:
        is_dead_end = result.next_cursor is not None and self.renewed is None
        if key is None or result.degraded or is_dead_end or self._ages(result):
            return
        with suppress(CitewiseError):
            if self.version(key.scope) == key.version:
                self.cache.keep(key, Entry(_unowned(value), self._meaning(key, result)))

    def _meaning(self, key: CacheKey, result: SearchResult) -> Meaning | None:
        """None if only the very same words may find it: a cursor belongs to the question that it was given for."""
        if self.min_cosine >= 1 or result.next_cursor is not None:
            return None
        return Meaning(self.sameness.saying(key.question), self.embedder.query(key.question))

    def _ages(self, result: SearchResult) -> bool:
        """Whether its scores would be others by the time it is given again."""
        if self._aging(result.query) <= MAX_AGING:
            return False
        candidates = [*(one.candidate for one in result.findings), *(one.candidate for one in result.dropped)]
        return any(Freshness.name in one.scores for one in candidates)

    def _aging(self, query: Query) -> float:
        """What freshness can take from a score in an entry's lifetime."""
        half_life_days = query.half_life_days or self.freshness.half_life_days
        weight = self.freshness.weight if query.freshness_weight is None else query.freshness_weight
        return weight * (1 - math.exp2(-self.ttl_seconds / DAY / half_life_days))


def bucket_parts(query: Query) -> tuple[str, ...]:
    """All of a query that changes what comes of it, besides its words; a field that is added to it counts at once."""
    return _spelled(query.principal.readers), *(_spelled(getattr(query, name)) for name in _DECIDING)


def _spelled(value: object) -> str:
    """The same for equal values, and another for others."""
    if isinstance(value, str):  # most are: a principal's groups
        return repr(value)
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_spelled, value)))}}}"
    if isinstance(value, tuple):
        return f"({','.join(map(_spelled, value))})"
    if is_dataclass(value):
        return f"{type(value).__name__}{_spelled(tuple(getattr(value, one.name) for one in fields(value)))}"
    return repr(value)


def _unowned(value: Kept) -> Kept:
    """Without who asked, and how: a hit has its own query, and what is kept shall not grow with somebody's groups."""
    if isinstance(value, Answer):
        return replace(value, result=_unowned_result(value.result))
    return _unowned_result(value)


def _unowned_result(result: SearchResult) -> SearchResult:
    return replace(result, query=Query(result.query.text, "", 0.0, Principal()))


def _again(kept: SearchResult, query: Query, started: float) -> SearchResult:
    took = 1000 * (time.perf_counter() - started)
    return replace(kept, query=query, cache_hit=True, timings_ms={CACHE: took, "total": took})


def _replayed(answer: Answer) -> AnswerEvents:
    yield Sources(tuple(replace(citation, n=None) for citation in answer.citations))
    yield Token(answer.text)
    for citation in answer.citations:
        yield Cited(citation)
    yield Done(answer)
