"""Query -> rankings -> fused -> hydrated -> refined: read this file to follow a search.

A `Query` becomes `Rankings` (one for each way to search), one `Ranking` (fused), a `Shortlist` (with text, checked
against the catalog), and after the refining stages a `SearchResult`, which says how long each stage took and what it
dropped. Pages of a search start from the same stages and continue behind them.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from citewise.errors import CitewiseError
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Finding, Ranking, Rankings, SearchResult, Shortlist
from citewise.search.adjust import Cut
from citewise.search.fuse import Fusion, Nearness
from citewise.search.hydrate import Hydrate, without_gone
from citewise.search.rankings import Retrieve
from citewise.text.urls import Addresses

_log = logging.getLogger(__name__)

In = TypeVar("In")
Out = TypeVar("Out")


class Stage(Protocol):
    """Shortlist -> Shortlist, under a name. A stage that gives scores also lists its name in `model.ranking.SCORES`."""

    @property
    def name(self) -> str: ...
    def __call__(self, found: Shortlist) -> Shortlist: ...


@dataclass(frozen=True, slots=True)
class Continued:
    """A search to be read page by page: what was read, and behind it the candidates that were not, in fused order."""

    result: SearchResult
    unread: tuple[Candidate, ...] = ()
    is_complete: bool = True  # no ranking has anything behind these


@dataclass(frozen=True, slots=True)
class Search:
    """Query -> SearchResult."""

    retrieve: Retrieve
    hydrate: Hydrate
    refine: tuple[Stage, ...]  # in this order
    addresses: Addresses = field(default_factory=Addresses)
    fuse: Fusion = field(default_factory=Nearness)
    turns: AbstractContextManager[object] = field(default_factory=nullcontext)  # held from the rankings on

    def __call__(self, query: Query) -> SearchResult:
        stopwatch = Stopwatch()
        rankings = stopwatch.timed("arms", self.retrieve, query)
        with self.turns:
            ranking, read = self._read(rankings, stopwatch)
            return self._refined(rankings, ranking, read, stopwatch)

    def continued(self, query: Query) -> Continued:
        """The same search with everything that it read, not only top_k, and what its rankings found behind it."""
        stopwatch = Stopwatch()
        rankings = stopwatch.timed("arms", self.retrieve, query)
        with self.turns:
            ranking, read = self._read(rankings, stopwatch)
            uncut = replace(read, query=replace(query, top_k=max(1, len(read.findings))))
            result = self._refined(rankings, ranking, uncut, stopwatch)
        behind = ranking.candidates[len(read.findings) + len(read.dropped) :]
        lowest = min((finding.score for finding in result.findings), default=1.0)
        return Continued(
            replace(result, query=query), _scaled(behind, lowest), is_complete=not self.retrieve.may_have_more(rankings)
        )

    def deeper(
        self, query: Query, depth: int, *, known: Set[ChunkId], highest: float
    ) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """What rankings of `depth` hits find besides what is known, with scores below `highest`; what degraded them."""
        rankings = self.retrieve(query, depth=depth)
        found = self.fuse(rankings).candidates
        return _scaled([each for each in found if each.id not in known], highest), rankings.degraded

    def passages(self, query: Query, candidates: Sequence[Candidate]) -> Shortlist:
        """These candidates as findings; what the catalog does not give is dropped."""
        return self._with_urls(self.hydrate.all_of(query, candidates))

    def _read(self, rankings: Rankings, stopwatch: "Stopwatch") -> tuple[Ranking, Shortlist]:
        ranking = stopwatch.timed("fuse", self.fuse, rankings)
        return ranking, stopwatch.timed("hydrate", self.hydrate, ranking)

    def _refined(self, rankings: Rankings, ranking: Ranking, read: Shortlist, stopwatch: "Stopwatch") -> SearchResult:
        shortlist = without_gone(read)
        candidates = len(ranking.candidates) - (len(read.dropped) - len(shortlist.dropped))
        counts = {"candidates": candidates, "hydrated": len(shortlist.findings)}
        for stage in self.refine:
            shortlist = stopwatch.timed(stage.name, stage if isinstance(stage, Cut) else optional(stage), shortlist)
            counts[stage.name] = len(shortlist.findings)
        if read.query.expand_graph:
            shortlist = shortlist.with_degraded("graph: this library has no service graph")
        return SearchResult(
            read.query,
            self._with_urls(shortlist).findings,
            total_candidates=candidates,
            timings_ms={**rankings.timings_ms, **stopwatch.timings_ms()},
            counts=counts,
            dropped=shortlist.dropped,
            degraded=(*rankings.degraded, *shortlist.degraded),
            notes=shortlist.notes,
        )

    def _with_urls(self, shortlist: Shortlist) -> Shortlist:
        url = self.addresses.url
        return shortlist.with_findings(
            tuple([Finding(each.passage, each.candidate, url(each.passage)) for each in shortlist.findings])
        )


def optional(stage: Stage) -> Callable[[Shortlist], Shortlist]:
    """The stage; if it fails, the order before it stands, and the result says so."""

    def attempt(found: Shortlist) -> Shortlist:
        try:
            return stage(found)
        except CitewiseError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001  whatever it is, it must not fail the query
            _log.warning("the stage %s failed", stage.name, exc_info=True)
            why = f"it failed ({type(error).__name__})"  # not its message, which may hold anything
        return found.with_degraded(f"{stage.name}: {why}; the order before it stands")

    return attempt


def _scaled(candidates: Sequence[Candidate], highest: float) -> tuple[Candidate, ...]:
    """What was not read keeps its order behind what was, and its scores below those."""
    return tuple(Candidate(each.id, each.score * highest, each.scores, each.ranks) for each in candidates)


class Stopwatch:
    """How long each stage took, and all of them."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._ms: dict[str, float] = {}

    def timed(self, name: str, stage: Callable[[In], Out], given: In) -> Out:
        started = time.perf_counter()
        result = stage(given)
        self._ms[name] = 1000 * (time.perf_counter() - started)
        return result

    def timings_ms(self) -> dict[str, float]:
        return {**self._ms, "total": 1000 * (time.perf_counter() - self._started)}


class Turns:
    """A context for at most `limit` threads at a time, first come, first served.

    More threads than cores would only compete for Python's lock: eight searching at once do half of what two do.
    """

    def __init__(self, limit: int = 2) -> None:
        self._free = limit
        self._waiting: deque[threading.Lock] = deque()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # interrupted while waiting
            with self._lock:
                is_waiting = turn in self._waiting
                if is_waiting:
                    self._waiting.remove(turn)
            if not is_waiting:
                self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
