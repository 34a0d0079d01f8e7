"""Query -> Rankings: three searches side by side, each narrowed to what the reader may see before it looks."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

from citewise.model.errors import CitewiseError, Unavailable
from citewise.model.point import Hit
from citewise.model.query import Query
from citewise.model.ranking import CODE, DENSE, WORDS, Rankings
from citewise.model.terms import TermField, Terms
from citewise.ports.analyzer import Analyzer
from citewise.ports.embedder import Embedder
from citewise.ports.index import Index

OVER_FETCH = 3  # hits a ranking gives for each one asked for: fusion needs more than it keeps
LEAST = 60  # hits a ranking gives at least, so that a small top_k is the head of a larger one


@dataclass(frozen=True, slots=True)
class Arms:
    """Dense vectors, stemmed words, code tokens. One that cannot answer is named; it is an error only if none can."""

    embedder: Embedder
    analyzer: Analyzer
    index: Index
    threads: Executor
    without: frozenset[str] = frozenset()  # arms that are not asked at all, to see what they are worth

    def __call__(self, query: Query) -> Rankings:
        terms = self.analyzer.terms(query.text)
        searches: dict[str, Callable[[], tuple[tuple[Hit, ...], float]]] = {
            DENSE: lambda: self._dense(query),
            WORDS: lambda: self._matching(query, terms, TermField.WORDS),
            CODE: lambda: self._matching(query, terms, TermField.CODE),
        }
        asked = [arm for arm in searches if arm not in self.without]
        beside = {arm: self.threads.submit(_timed, searches[arm]) for arm in asked if arm != WORDS}
        here = {WORDS: _timed(searches[WORDS])} if WORDS in asked else {}
        found = {arm: here[arm] if arm in here else beside[arm].result() for arm in asked}
        if all(one.error is not None for one in found.values()):
            raise Unavailable(
                f"no ranking could answer: {next((one.error for one in found.values()), 'none is asked')}"
            )
        return Rankings(
            query,
            arms={name: one.hits for name, one in found.items()},
            timings_ms={name: ms for arm, one in found.items() for name, ms in one.timings_of(arm).items()},
            degraded=tuple(f"{name}: {one.error}" for name, one in found.items() if one.error is not None),
        )

    def _dense(self, query: Query) -> tuple[tuple[Hit, ...], float]:
        started = time.perf_counter()
        vector = self.embedder.query(query.text)
        embedded = time.perf_counter()
        return self.index.nearest(vector, where=query.where, limit=_limit(query)), embedded - started

    def _matching(self, query: Query, terms: Terms, field: TermField) -> tuple[tuple[Hit, ...], float]:
        wanted = terms.words if field is TermField.WORDS else terms.code
        return self.index.matching(wanted, field=field, where=query.where, limit=_limit(query)), 0.0


@dataclass(frozen=True, slots=True)
class _Found:
    hits: tuple[Hit, ...]
    seconds: float
    embedding_seconds: float
    error: CitewiseError | None = None

    def timings_of(self, arm: str) -> Mapping[str, float]:
        searching = {arm: 1000 * (self.seconds - self.embedding_seconds)}
        return {"embed": 1000 * self.embedding_seconds, **searching} if arm == DENSE else searching


def _timed(search: Callable[[], tuple[tuple[Hit, ...], float]]) -> _Found:
    started = time.perf_counter()
    try:
        hits, embedding_seconds = search()
    except CitewiseError as error:
        return _Found((), time.perf_counter() - started, 0.0, error)
    return _Found(hits, time.perf_counter() - started, embedding_seconds)


def _limit(query: Query) -> int:
    return max(LEAST, OVER_FETCH * query.top_k)
