"""Results of earlier requests, given again while nothing has changed that they depend on.

A result is kept only if the version of its scope was the same before and after the run, and it is found only under that
version. So a hit shows what a fresh run would show to this reader now, or there is no hit.
"""

import json
import math
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Protocol

from citewise.errors import CitewiseError, explained
from citewise.model.access import Principal, Scope
from citewise.model.answer import Answer
from citewise.model.chunk import Vector
from citewise.model.ids import Digest, digest
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.ports.models import Embedder
from citewise.ports.stores import CacheKey, QueryCache
from citewise.search.adjust import DAY, Freshness

# Fields of a query that are not part of the key: its words stand in the key themselves, and of the principal only the
# readers count.
OWN_FIELDS = frozenset({"text", "request_id", "asked_at", "principal"})
_KEY_FIELDS = tuple(item.name for item in fields(Query) if item.name not in OWN_FIELDS)
MAX_AGING = 1e-4  # that a score may change with age while it is kept; 0: nothing that ages is kept; 1: everything is


class _SearchedLibrary(Protocol):
    """Promises: `version` changes with everything that a search in the scope could see; `renewed` gives a cursor that
    lasts as long as a new one, or None if the pages behind it are gone."""

    def version(self, scope: Scope) -> str: ...
    def renewed(self, cursor: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class ResultCache:
    """Keeps searches and answers by everything that they depend on. No failure of it fails a request."""

    store: QueryCache
    library: _SearchedLibrary
    settings: Digest  # of everything that is configured
    ttl_seconds: float
    freshness: Freshness = field(default_factory=Freshness)
    embedder: Embedder | None = None  # to find a question in other words
    min_cosine: float = 1.0  # that they must reach; 1: the same words alone count

    def key(self, query: Query, *options: object) -> CacheKey | None:
        """Everything that the result depends on; None if the version cannot be read."""
        with suppress(Exception):  # whatever it is, the search will say so
            bucket = digest(self.settings, *map(_spelled, options), *key_parts(query))
            return CacheKey(query.scope, self.library.version(query.scope), bucket, query.text)
        return None

    def found(self, key: CacheKey | None) -> SearchResult | Answer | CitewiseError | None:
        """What was kept under the key, with a cursor that lasts; an error if the cache cannot be used."""
        if key is None:
            return None
        try:
            found = self.store.get(key)
            if found is None and (vector := self._vector(key)) is not None:
                found = self.store.nearest(key, vector, min_cosine=self.min_cosine)
            if not isinstance(found, SearchResult) or found.next_cursor is None:
                return found
            cursor = self.library.renewed(found.next_cursor)
            return None if cursor is None else replace(found, next_cursor=cursor)
        except Exception as error:  # noqa: BLE001  it may be anybody's code
            return explained(error)

    def keep(self, key: CacheKey | None, value: SearchResult | Answer) -> None:
        """Keep it, unless it is degraded, its scores change with age, or the library changed while it was made."""
        result = value if isinstance(value, SearchResult) else value.result
        if key is None or result.degraded or self._ages(result):
            return
        # Without who asked: a hit has a query of its own, and an entry must not grow with somebody's groups.
        anonymous = replace(result, query=Query(result.query.text, "", 0.0, Principal()))
        kept = anonymous if isinstance(value, SearchResult) else replace(value, result=anonymous)
        try:
            if self.library.version(key.scope) == key.version:
                # A cursor belongs to the question that it was given for: other words must not find it.
                self.store.put(key, kept, self._vector(key) if result.next_cursor is None else None)
        except Exception as error:  # noqa: BLE001  as above
            explained(error)  # for the log; the result stands without it

    def _vector(self, key: CacheKey) -> Vector | None:
        """The question's vector where other words may find it; None where it cannot be had, as the search will say."""
        with suppress(Exception):
            return self.embedder.query(key.question) if self.embedder is not None and self.min_cosine < 1 else None
        return None

    def _ages(self, result: SearchResult) -> bool:
        """Whether its scores would change noticeably while it is kept."""
        query = result.query
        half_life_days = query.half_life_days or self.freshness.half_life_days
        weight = self.freshness.weight if query.freshness_weight is None else query.freshness_weight
        if weight * (1 - math.exp2(-self.ttl_seconds / DAY / half_life_days)) <= MAX_AGING:
            return False
        candidates = [*(hit.candidate for hit in result.findings), *(item.candidate for item in result.dropped)]
        return any(Freshness.name in candidate.scores for candidate in candidates)


def key_parts(query: Query) -> tuple[str, ...]:
    """Everything of a query that changes its result, besides its words; a new field of Query counts at once."""
    return _spelled(query.principal.readers), _spelled([getattr(query, name) for name in _KEY_FIELDS])


def _spelled(value: object) -> str:
    """Equal for equal values, and different for others."""

    def plain(other: Any) -> object:
        return sorted(other) if isinstance(other, frozenset) else asdict(other)

    return json.dumps(value, default=plain)
