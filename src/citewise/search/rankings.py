"""Query -> Rankings: three searches, each filtered to what the reader may see before it looks."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from citewise.errors import CitewiseError, Unavailable
from citewise.model.chunk import Hit, TermField
from citewise.model.filters import Where
from citewise.model.query import Query
from citewise.model.ranking import ARMS, CODE, DENSE, WORDS, Rankings
from citewise.ports.indexes import TextIndex, VectorIndex
from citewise.ports.models import Embedder
from citewise.text import analysis

_log = logging.getLogger(__name__)

T = TypeVar("T")

BACKOFF_SECONDS = 0.05  # before a store is tried again; 0: at once; more: every failing search takes so much longer
OVER_FETCH = 3  # hits a ranking gives for each one asked for: fusion needs more than it keeps
MIN_HITS = 60  # hits a ranking gives at least, so that a small top_k is the head of a larger one
# An index from which rankings are faster in threads: about 50,000 chunks of 384 dimensions. Below, they would mostly
# wait for Python's lock.
LARGE_INDEX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one ranking."""

    hits: tuple[Hit, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    error: CitewiseError | None = None


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Rank by dense vectors, stemmed words and code tokens. One that fails is reported; an error if all do."""

    embedder: Embedder
    vectors: VectorIndex
    texts: TextIndex
    threads: Executor | None = None  # None: one ranking after the other
    without: frozenset[str] = frozenset()  # rankings that are left out, to measure what they are worth
    # Held by each ranking of a small index while it searches, but not while a model embeds or is waited for. Rankings
    # of a large one spend their time outside of Python and hold none.
    turns: AbstractContextManager[object] = field(default_factory=nullcontext)

    def __call__(self, query: Query, *, depth: int = 0) -> Rankings:
        """What each ranking finds for the query's top_k, and behind it more, up to `depth` hits."""
        where, limit = query.where, max(self.head_limit(query), depth)
        searches: dict[str, Callable[[], _Outcome]] = {
            DENSE: partial(self._dense, query.text, where, limit),
            CODE: partial(self._by_terms, query.text, TermField.CODE, where, limit),
            WORDS: partial(self._by_terms, query.text, TermField.WORDS, where, limit),
        }
        chosen = {name: search for name, search in searches.items() if name not in self.without}
        if self.threads is not None and chosen:
            outcomes = _side_by_side(chosen, self.threads)
        else:
            outcomes = dict(zip(chosen, map(_tried, chosen.values()), strict=True))
        if all(outcome.error is not None for outcome in outcomes.values()):
            error = next((outcome.error for outcome in outcomes.values()), "every ranking is left out")
            raise Unavailable(f"no ranking could answer: {error}")
        in_order = {name: outcomes[name] for name in ARMS if name in outcomes}
        return Rankings(
            query,
            arms={name: outcome.hits for name, outcome in in_order.items()},
            timings_ms={part: ms for outcome in in_order.values() for part, ms in outcome.timings_ms.items()},
            degraded=tuple(f"{name}: {found.error}" for name, found in in_order.items() if found.error is not None),
        )

    @staticmethod
    def head_limit(query: Query) -> int:
        """Hits of each ranking that a search for this query's top_k looks at."""
        return max(MIN_HITS, OVER_FETCH * query.top_k)

    def may_have_more(self, found: Rankings) -> bool:
        """Whether a ranking gave as many hits as it was asked for, so that there may be others behind them."""
        return any(len(hits) >= self.head_limit(found.query) for hits in found.arms.values())

    def _dense(self, text: str, where: Where, limit: int) -> _Outcome:
        started = time.perf_counter()
        vector = self.embedder.query(text)
        embedded = time.perf_counter()
        with self._turn():
            hits = retried(partial(self.vectors.search, vector, where=where, limit=limit))
        return _Outcome(hits, {"embed": 1000 * (embedded - started), DENSE: 1000 * (time.perf_counter() - embedded)})

    def _by_terms(self, text: str, field: TermField, where: Where, limit: int) -> _Outcome:
        started = time.perf_counter()
        both = analysis.terms(text)  # here and not before: if it fails, the dense ranking is left
        # A word counts as often as the question has it. An identifier gives several tokens, so repeated tokens are no
        # sign of what matters: counted, they cost 0.013 nDCG@10 of runbooks and 0.004 of api_docs.
        terms = both.words if field is TermField.WORDS else tuple(dict.fromkeys(both.code))
        with self._turn():
            hits = retried(partial(self.texts.search, terms, field=field, where=where, limit=limit))
        return _Outcome(hits, {field.value: 1000 * (time.perf_counter() - started)})

    def _turn(self) -> AbstractContextManager[object]:
        return self.turns if self.threads is None else nullcontext()


def _side_by_side(searches: Mapping[str, Callable[[], _Outcome]], threads: Executor) -> dict[str, _Outcome]:
    """In threads, the last one in this thread."""
    *others, last = searches
    waiting = {name: threads.submit(_tried, searches[name]) for name in others}
    here = _tried(searches[last])
    return {**{name: future.result() for name, future in waiting.items()}, last: here}


def retried(call: Callable[[], T]) -> T:
    """The result of a call to a store, tried once more after a pause if the store was Unavailable."""
    try:
        return call()
    except Unavailable:
        time.sleep(BACKOFF_SECONDS)
    return call()


def _tried(search: Callable[[], _Outcome]) -> _Outcome:
    try:
        return search()
    except CitewiseError as error:
        return _Outcome(error=error)
    except Exception as error:  # noqa: BLE001  whatever broke in one ranking, the others may answer
        _log.warning("a ranking failed", exc_info=True)
        return _Outcome(error=Unavailable(f"it failed ({type(error).__name__})"))
