"""Query -> SearchResult where a library cannot be searched: popular passages, named as such, or a clear word (Q16)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from citewise.errors import CitewiseError, Unavailable
from citewise.model.query import Query
from citewise.model.ranking import POPULAR, Candidate, Finding, Passage, SearchResult
from citewise.ports.stores import Popular
from citewise.text.urls import Addresses

NOT_FROM_THE_QUESTION = "popular: these passages are what others often read; they did not come from the question"
REMEDY = "try again in a moment, and if this goes on, `citewise doctor` says what to repair"


@dataclass(frozen=True, slots=True)
class Fallback:
    """Searches. If no ranking answers, or the catalog does not, shows what is popular and may be read."""

    search: Callable[[Query], SearchResult]
    popular: Popular
    addresses: Addresses = field(default_factory=Addresses)
    limit: int | None = None  # of a page; None: as many as the query asks for

    def __call__(self, query: Query) -> SearchResult:
        started = time.perf_counter()
        try:
            return self.search(query)
        except Unavailable as error:
            passages = self._passages(query, error)
            ms = 1000 * (time.perf_counter() - started)
            return SearchResult(
                query,
                tuple(self._finding(passage) for passage in passages),
                total_candidates=0,
                timings_ms={"total": ms},
                counts={POPULAR: len(passages)},
                degraded=(f"search: {error}; popular passages are shown instead",),
                notes=(NOT_FROM_THE_QUESTION,),
            )

    def _passages(self, query: Query, failure: Unavailable) -> tuple[Passage, ...]:
        """What can be shown instead; the failure of the search, with what to do about it, if that is nothing."""
        try:
            passages = self.popular.passages(query.where, min(query.top_k, self.limit or query.top_k))
        except CitewiseError as error:
            also = "" if str(error) in str(failure) else f" ({error})"
            raise Unavailable(f"{failure}; nor can popular passages be shown{also}: {REMEDY}") from failure
        if not passages:
            raise Unavailable(
                f"{failure}; no popular passage is known that could be shown instead: {REMEDY}"
            ) from failure
        return passages

    def _finding(self, passage: Passage) -> Finding:
        """Without ranks, and worth nothing: no ranking has seen it."""
        return Finding(passage, Candidate(passage.chunk_id, 0.0, scores={}, ranks={}), self.addresses.url(passage))
