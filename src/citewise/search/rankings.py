"""Query -> Rankings: three searches, each narrowed to what the reader may see before it looks."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

from citewise.errors import CitewiseError, Unavailable
from citewise.model.chunk import Hit, TermField
from citewise.model.filters import Where
from citewise.model.query import Query
from citewise.model.ranking import ARMS, CODE, DENSE, WORDS, Rankings
from citewise.ports.indexes import Index
from citewise.ports.models import Embedder
from citewise.text import analysis

_log = logging.getLogger(__name__)

OVER_FETCH = 3  # hits a ranking gives for each one asked for: fusion needs more than it keeps
LEAST = 60  # hits a ranking gives at least, so that a small top_k is the head of a larger one


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
    index: Index
    threads: Executor
    without: frozenset[str] = frozenset()  # arms that are not asked at all, to see what they are worth

    def __call__(self, query: Query, *, depth: int = 0) -> Rankings:
        """What each arm finds for the query's top_k, and behind it more, up to `depth` hits."""
        searches = self._searches(query.text, query.where, max(head_limit(query), depth))
        ask = self._at_once if self.index.is_large(query.scope) else _in_turn
        found = ask(searches)
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

    def _at_once(self, searches: Mapping[str, _Search]) -> dict[str, _Found]:
        """Side by side: each takes milliseconds, most of them outside of Python."""
        beside = {arm: self.threads.submit(_tried, search) for arm, search in searches.items() if arm != WORDS}
        return {arm: beside[arm].result() if arm in beside else _tried(searches[arm]) for arm in searches}

    def _searches(self, text: str, where: Where, limit: int) -> dict[str, _Search]:
        searches: dict[str, _Search] = {
            WORDS: partial(self._matching, text, TermField.WORDS, where, limit),
            CODE: partial(self._matching, text, TermField.CODE, where, limit),
            DENSE: partial(self._dense, text, where, limit),
        }
        return {arm: search for arm, search in searches.items() if arm not in self.without}

    def _dense(self, text: str, where: Where, limit: int) -> _Found:
        started = time.perf_counter()
        vector = self.embedder.query(text)
        embedded = time.perf_counter()
        hits = self.index.nearest(vector, where=where, limit=limit)
        return _Found(hits, {"embed": 1000 * (embedded - started), DENSE: _ms_since(embedded)})

    def _matching(self, text: str, field: TermField, where: Where, limit: int) -> _Found:
        started = time.perf_counter()
        made = analysis.terms(text)
        terms = made.words if field is TermField.WORDS else made.code
        hits = self.index.matching(terms, field=field, where=where, limit=limit)
        return _Found(hits, {field.value: _ms_since(started)})


def _in_turn(searches: Mapping[str, _Search]) -> dict[str, _Found]:
    """One after the other: short searches in threads would mostly wait for Python's lock."""
    return {arm: _tried(search) for arm, search in searches.items()}


def _tried(search: _Search) -> _Found:
    try:
        return search()
    except CitewiseError as error:
        return _Found(error=error)
    except Exception as error:  # noqa: BLE001  whatever broke in one ranking, the others may answer
        _log.warning("a ranking broke", exc_info=True)
        return _Found(error=Unavailable(f"it broke ({type(error).__name__})"))


def _ms_since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)


def head_limit(query: Query) -> int:
    """Hits of each ranking that a search for this query's top_k looks at."""
    return max(LEAST, OVER_FETCH * query.top_k)


def may_have_more(found: Rankings) -> bool:
    """Whether a ranking gave as many hits as it was asked for, so that there may be others behind them."""
    return any(len(hits) >= head_limit(found.query) for hits in found.arms.values())
