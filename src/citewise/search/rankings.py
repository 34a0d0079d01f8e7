"""Query -> Rankings: three searches, each filtered to what the reader may see before it looks."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from citewise.errors import CitewiseError, Unavailable, explained, part_failed
from citewise.model.access import Scope
from citewise.model.chunk import Hit, TermField
from citewise.model.query import Query
from citewise.model.ranking import DENSE, RANKINGS, WORDS, Rankings
from citewise.ports.catalog import ChangeLog
from citewise.ports.indexes import KeepsPosition, Projection, TextIndex, VectorIndex
from citewise.ports.models import Embedder
from citewise.text import analysis
from citewise.text.scripts import UNSPACED, script_of

T = TypeVar("T")

BACKOFF_SECONDS = 0.05  # before a store is tried again; 0: at once; more: every failing search takes so much longer
OVER_FETCH = 3  # hits a ranking gives for each one asked for: fusion needs more than it keeps
MIN_HITS = 60  # hits a ranking gives at least, so that a small top_k is the head of a larger one
# An index from which rankings are faster in threads: about 50,000 chunks of 384 dimensions. Below, they would mostly
# wait for Python's lock.
LARGE_INDEX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Rank by dense vectors, stemmed words and code tokens. One that fails is reported; an error if all do."""

    embedder: Embedder
    vectors: VectorIndex
    texts: TextIndex
    threads: Executor | None = None  # None: one ranking after the other
    without: frozenset[str] = frozenset()  # rankings that are left out, to measure what they are worth
    turns: AbstractContextManager[object] = field(default_factory=nullcontext)
    log: ChangeLog | None = None  # what the indexes follow: tells a missing index from an empty one

    def __call__(self, query: Query, *, depth: int = 0) -> Rankings:
        """What each ranking finds for the query's top_k, and behind it more, up to `depth` hits."""
        with self.in_turn(query, depth=depth) as rankings:
            return rankings

    @contextmanager
    def in_turn(self, query: Query, *, depth: int = 0) -> Iterator[Rankings]:
        """The same, and the search has a turn until the block ends.

        It waits for none while a model embeds, which may be a server's, nor while a large index is searched, which
        takes its time outside of Python.
        """
        names = [name for name in RANKINGS if name not in self.without]
        if len(names) > 1 and script_of(query.text) in UNSPACED and not self.embedder.model.reads_cjk:
            names = [name for name in names if name != DENSE]  # it would push what words find out of sight
        limit = max(self.head_limit(query), depth)
        timings_ms: dict[str, float] = {}
        embed = partial(_attempt, "embed", partial(self.embedder.query, query.text), timings_ms)
        vector = embed() if self.threads is None and DENSE in names else None

        def hits(name: str) -> tuple[Hit, ...] | CitewiseError:
            if name != DENSE:
                field: TermField = "words" if name == WORDS else "code"
                return _attempt(name, partial(self._by_terms, field, query, limit), timings_ms)
            embedded = embed() if vector is None else vector
            if isinstance(embedded, CitewiseError):
                return embedded
            search = partial(self.vectors.search, embedded, where=query.where, limit=limit)
            checked = partial(self._found, self.vectors, query.scope, search)
            return _attempt(name, partial(retried, checked), timings_ms)

        if self.threads is None:
            with self.turns:
                yield _rankings(query, dict(zip(names, map(hits, names), strict=True)), timings_ms)
            return
        waiting = [self.threads.submit(hits, name) for name in names[:-1]]
        last = [hits(name) for name in names[-1:]]  # in this thread: it is the slowest
        found = [*(each.result() for each in waiting), *last]
        rankings = _rankings(query, dict(zip(names, found, strict=True)), timings_ms)
        with self.turns:
            yield rankings

    @staticmethod
    def head_limit(query: Query) -> int:
        """Hits of each ranking that a search for this query's top_k looks at."""
        return max(MIN_HITS, OVER_FETCH * query.top_k)

    def may_have_more(self, found: Rankings) -> bool:
        """Whether a ranking gave as many hits as it was asked for, so that there may be others behind them."""
        return any(len(hits) >= self.head_limit(found.query) for hits in found.hits.values())

    def _by_terms(self, field: TermField, query: Query, limit: int) -> tuple[Hit, ...]:
        both = analysis.terms(query.text)  # here and not before: if it fails, the dense ranking is left
        # A word counts as often as the question has it. An identifier gives several tokens, so repeated tokens are no
        # sign of what matters: counted, they cost 0.013 nDCG@10 of runbooks and 0.004 of api_docs.
        terms = both.words if field == "words" else tuple(dict.fromkeys(both.code))
        search = partial(self.texts.search, terms, field=field, where=query.where, limit=limit)
        return retried(partial(self._found, self.texts, query.scope, search))

    def _found(self, index: Projection, scope: Scope, search: Callable[[], tuple[Hit, ...]]) -> tuple[Hit, ...]:
        hits = search()
        is_missing = not hits and isinstance(index, KeepsPosition) and index.state(scope) is None
        if is_missing and self.log is not None and self.log.last_position(scope) > 0:
            raise Unavailable(
                f"the {index.name} index of {scope} is missing or still being built: try again in a moment, and if "
                "this persists, run `citewise reindex` to rebuild it from the catalog"
            )
        return hits


def _rankings(
    query: Query, outcomes: Mapping[str, tuple[Hit, ...] | CitewiseError], timings_ms: Mapping[str, float]
) -> Rankings:
    hits: dict[str, tuple[Hit, ...]] = {}
    errors: dict[str, CitewiseError] = {}
    for name, outcome in outcomes.items():
        if isinstance(outcome, CitewiseError):
            hits[name], errors[name] = (), outcome
        else:
            hits[name] = outcome
    if len(errors) == len(hits):
        raise Unavailable(f"no ranking could answer: {next(iter(errors.values()), 'every ranking is left out')}")
    return Rankings(
        query,
        hits,
        timings_ms={part: timings_ms[part] for part in ("embed", *RANKINGS) if part in timings_ms},
        degraded=tuple(part_failed(name, error) for name, error in errors.items()),
    )


def retried(call: Callable[[], T]) -> T:
    """The result of a call to a store, tried once more after a pause if the store was Unavailable."""
    try:
        return call()
    except Unavailable:
        time.sleep(BACKOFF_SECONDS)
    return call()


def _attempt(name: str, call: Callable[[], T], timings_ms: dict[str, float]) -> T | CitewiseError:
    """The result of a call, timed, or its error: whatever broke in one ranking, the others may answer."""
    started = time.perf_counter()
    try:
        result = call()
    except Exception as error:  # noqa: BLE001  see above
        return explained(error)
    timings_ms[name] = 1000 * (time.perf_counter() - started)
    return result
