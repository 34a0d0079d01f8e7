"""Query -> Rankings: three searches, each narrowed to what the reader may see before it looks."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

from citewise.model.errors import CitewiseError, Unavailable
from citewise.model.point import Hit
from citewise.model.query import Query
from citewise.model.ranking import ARMS, CODE, DENSE, WORDS, Rankings
from citewise.model.terms import TermField
from citewise.model.vector import Vector
from citewise.ports.analyzer import Analyzer
from citewise.ports.embedder import Embedder
from citewise.ports.index import Index

OVER_FETCH = 3  # hits a ranking gives for each one asked for: fusion needs more than it keeps
LEAST = 60  # hits a ranking gives at least, so that a small top_k is the head of a larger one


@dataclass(frozen=True, slots=True)
class _Embedded:
    vector: Vector
    ms: float


@dataclass(frozen=True, slots=True)
class _Found:
    hits: tuple[Hit, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    error: CitewiseError | None = None


_Search = Callable[[], _Found]


@dataclass(frozen=True, slots=True)
class Arms:
    """Dense vectors, stemmed words, code tokens. One that cannot answer is named; it is an error only if none can."""

    embedder: Embedder
    analyzer: Analyzer
    index: Index
    threads: Executor
    without: frozenset[str] = frozenset()  # arms that are not asked at all, to see what they are worth

    def __call__(self, query: Query) -> Rankings:
        found = self._at_once(query) if self.index.is_large(query.where.scope) else self._in_turn(query)
        if all(one.error is not None for one in found.values()):
            raise Unavailable(
                f"no ranking could answer: {next((one.error for one in found.values()), 'none is asked')}"
            )
        in_order = {arm: found[arm] for arm in ARMS if arm in found}
        return Rankings(
            query,
            arms={arm: one.hits for arm, one in in_order.items()},
            timings_ms={name: ms for one in in_order.values() for name, ms in one.timings_ms.items()},
            degraded=tuple(f"{arm}: {one.error}" for arm, one in in_order.items() if one.error is not None),
        )

    def _at_once(self, query: Query) -> dict[str, _Found]:
        """Side by side: each takes milliseconds, most of them outside of Python."""
        searches = self._searches(query, partial(self._embedded, query))
        beside = {arm: self.threads.submit(_tried, search) for arm, search in searches.items() if arm != WORDS}
        return {arm: beside[arm].result() if arm in beside else _tried(searches[arm]) for arm in searches}

    def _in_turn(self, query: Query) -> dict[str, _Found]:
        """One after the other: short searches in threads would mostly wait for Python's lock."""
        return {arm: _tried(search) for arm, search in self._searches(query, self._ahead(query)).items()}

    def _searches(self, query: Query, embedded: Callable[[], _Embedded]) -> dict[str, _Search]:
        terms = self.analyzer.terms(query.text)
        searches: dict[str, _Search] = {
            WORDS: partial(self._matching, query, WORDS, TermField.WORDS, terms.words),
            CODE: partial(self._matching, query, CODE, TermField.CODE, terms.code),
            DENSE: partial(self._dense, query, embedded),  # last: its vector may be on its way
        }
        return {arm: search for arm, search in searches.items() if arm not in self.without}

    def _ahead(self, query: Query) -> Callable[[], _Embedded]:
        """The question's vector, from another thread: a model takes longer than both searches for words."""
        if DENSE in self.without:
            return partial(self._embedded, query)  # nobody will call it
        return self.threads.submit(self._embedded, query).result

    def _embedded(self, query: Query) -> _Embedded:
        started = time.perf_counter()
        return _Embedded(self.embedder.query(query.text), _ms_since(started))

    def _dense(self, query: Query, embedded: Callable[[], _Embedded]) -> _Found:
        question = embedded()
        started = time.perf_counter()
        hits = self.index.nearest(question.vector, where=query.where, limit=_limit(query))
        return _Found(hits, {"embed": question.ms, DENSE: _ms_since(started)})

    def _matching(self, query: Query, arm: str, field: TermField, terms: Sequence[str]) -> _Found:
        started = time.perf_counter()
        hits = self.index.matching(terms, field=field, where=query.where, limit=_limit(query))
        return _Found(hits, {arm: _ms_since(started)})


def _tried(search: _Search) -> _Found:
    try:
        return search()
    except CitewiseError as error:
        return _Found(error=error)


def _ms_since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)


def _limit(query: Query) -> int:
    return max(LEAST, OVER_FETCH * query.top_k)
