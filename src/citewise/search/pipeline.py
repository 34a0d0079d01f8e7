"""Query -> rankings -> fused -> hydrated -> refined: read this file to follow a search.

A `Query` becomes `Rankings` (one for each way to search), one `Ranking` (fused), a `Shortlist` (with text, checked
against the catalog), and after the refining stages a `SearchResult`, which says how long each stage took and what it
dropped. Pages of a search start from the same stages and continue behind them.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Protocol

from citewise.errors import CitewiseError, part_failed
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import (
    DENSE,
    Candidate,
    Damaged,
    Dropped,
    Finding,
    FoundSection,
    Passage,
    Ranking,
    SearchResult,
    Shortlist,
)
from citewise.ports.catalog import PassageReader
from citewise.search.adjust import Boost, Cut, Deduplicate, Demote, Freshness
from citewise.search.fuse import Fusion, MinMax
from citewise.search.rankings import Retrieve, retried
from citewise.search.rescore import Features, Late, Rerank
from citewise.search.sections import ReadSections
from citewise.text.urls import Addresses

_log = logging.getLogger(__name__)

MIN_CANDIDATES = 30  # as many as Late looks at
NOT_READ = "dense: the embedding model does not read this script; words alone rank"
SPARE = 2  # candidates read for each one asked for: later stages reorder and drop


class Stage(Protocol):
    """Shortlist -> Shortlist, under a name. A stage that gives scores also lists its name in `model.ranking.SCORES`."""

    @property
    def name(self) -> str: ...
    def __call__(self, found: Shortlist) -> Shortlist: ...


@dataclass(frozen=True, slots=True)
class Hydrate:
    """Check what the indexes believed against the catalog, which is the truth."""

    store: PassageReader
    min_candidates: int = MIN_CANDIDATES  # that are read; a reranker wants as many as it looks at

    def count(self, query: Query) -> int:
        """How many candidates a search reads."""
        return max(self.min_candidates, SPARE * query.top_k)

    def __call__(self, query: Query, wanted: Sequence[Candidate]) -> Shortlist:
        """These candidates with their text. Those that are not as they were stored are dropped and named.

        What is gone for this reader is in neither: another reader's chunk must not even be named, nor leave a gap in
        ranks.
        """
        ids = [candidate.id for candidate in wanted]
        read = retried(lambda: self.store.passages(ids, where=query.where))
        gone = [candidate for candidate in wanted if candidate.id not in read]
        damaged = {id_: found for id_, found in read.items() if isinstance(found, Damaged)}
        if damaged:
            self._report(tuple(damaged))
        if gone:
            ids_gone = ", ".join(candidate.id for candidate in gone)
            _log.info("left out, no longer in the catalog for this reader: %s", ids_gone)
            wanted = [_without_gaps(candidate, gone) for candidate in wanted]
        findings = [Finding(found, each) for each in wanted if isinstance(found := read.get(each.id), Passage)]
        dropped = [Dropped(each, "hydrate", "its record is damaged") for each in wanted if each.id in damaged]
        return Shortlist(query, tuple(findings), tuple(dropped), _named(damaged.values()))

    def _report(self, damaged: Sequence[ChunkId]) -> None:
        _log.warning("left out, damaged until their documents are ingested again: %s", ", ".join(damaged))
        try:
            self.store.request_reingest(damaged)
        except CitewiseError as error:
            _log.warning("could not request that they are ingested again: %s", error)


def _named(damaged: Iterable[Damaged]) -> tuple[str, ...]:
    """What a result says of chunks that were left out, in one line for each document."""
    documents = dict.fromkeys(each.document for each in damaged)
    return tuple(
        f"catalog: {document} is damaged and left out; the next `citewise ingest` reads it again"
        if document
        else "catalog: a document is damaged and left out; `citewise doctor` names it"
        for document in documents
    )


def _without_gaps(candidate: Candidate, gone: Sequence[Candidate]) -> Candidate:
    ranks: Mapping[str, int] = {
        ranking: rank - sum(other.ranks.get(ranking, rank) < rank for other in gone)
        for ranking, rank in candidate.ranks.items()
    }
    return Candidate(candidate.id, candidate.score, candidate.scores, ranks)


def refinements(
    features: Features, late: Late, rerank: Rerank, freshness: Freshness, boost: Boost
) -> tuple[Stage, ...]:
    """The stages behind hydration, in their order."""
    return (features, late, rerank, Demote(), freshness, boost, Deduplicate(), Cut())


@dataclass(frozen=True, slots=True)
class Search:
    """Query -> SearchResult."""

    retrieve: Retrieve
    hydrate: Hydrate
    refine: tuple[Stage, ...]  # in this order
    addresses: Addresses = field(default_factory=Addresses)
    fuse: Fusion = field(default_factory=MinMax)
    read_sections: ReadSections | None = None  # None: nobody will answer from what is found

    def __call__(self, query: Query) -> SearchResult:
        return self._searched(query)[0]

    def continued(self, query: Query) -> tuple[SearchResult, tuple[Candidate, ...], bool]:
        """A search to be read page by page: everything that it read, not only top_k, then the candidates behind that,
        in fused order, and whether no ranking has anything behind these."""
        result, ranking = self._searched(query, is_cut=False)
        lowest = min((finding.score for finding in result.findings), default=1.0)
        unread = _scaled(ranking.candidates(self.hydrate.count(query)), lowest)
        return result, unread, not self.retrieve.may_have_more(ranking.rankings)

    def deeper(
        self, query: Query, depth: int, *, known: Set[ChunkId], highest: float
    ) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """What rankings of `depth` hits find besides what is known, with scores below `highest`; what degraded them."""
        rankings = self.retrieve(query, depth=depth)
        found = self.fuse(rankings).candidates()
        return _scaled((each for each in found if each.id not in known), highest), rankings.degraded

    def sections(
        self, query: Query, found: SearchResult, *, depth: int
    ) -> tuple[SearchResult, tuple[FoundSection, ...]]:
        """The sections of the best findings, which an answer may quote; what is popular answers nothing."""
        if self.read_sections is None or found.is_popular:
            return found, ()
        started = time.perf_counter()
        sections, problems = self.read_sections(query, found.findings[:depth])
        return found.with_degraded(*problems).timed("sections", started), sections

    def passages(self, query: Query, candidates: Sequence[Candidate]) -> Shortlist:
        """These candidates as findings; what the catalog does not give is left out."""
        read = self.hydrate(query, candidates)
        return read.with_findings(self._with_urls(read.findings))

    def _searched(self, query: Query, *, is_cut: bool = True) -> tuple[SearchResult, Ranking]:
        stopwatch = Stopwatch()
        with self.retrieve.in_turn(query) as rankings:
            stopwatch.lap("rankings")
            ranking = self.fuse(rankings)
            stopwatch.lap("fuse")
            wanted = ranking.candidates(end=self.hydrate.count(query))
            shortlist = self.hydrate(query, wanted)
            stopwatch.lap("hydrate")
            gone = len(wanted) - len(shortlist.findings) - len(shortlist.dropped)
            counts = {"candidates": len(ranking.fused) - gone, "hydrated": len(shortlist.findings)}
            if not is_cut:
                shortlist = replace(shortlist, query=replace(query, top_k=max(1, len(shortlist.findings))))
            for stage in self.refine:
                shortlist = self.attempted(stage, shortlist)
                stopwatch.lap(stage.name)
                counts[stage.name] = len(shortlist.findings)
            if DENSE not in rankings.hits and DENSE not in self.retrieve.without:
                shortlist = shortlist.with_note(NOT_READ)
            if query.expand_graph:
                shortlist = shortlist.with_degraded("graph: this library has no service graph")
            result = SearchResult(
                query,
                self._with_urls(shortlist.findings),
                total_candidates=counts["candidates"],
                timings_ms={**rankings.timings_ms, **stopwatch.timings_ms()},
                counts=counts,
                dropped=shortlist.dropped,
                degraded=(*rankings.degraded, *shortlist.degraded),
                notes=shortlist.notes,
            )
        return result, ranking

    @staticmethod
    def attempted(stage: Stage, found: Shortlist) -> Shortlist:
        """What the stage makes of it; if it fails, the order before it stands, and the result says so."""
        try:
            return stage(found)
        except Exception as error:  # noqa: BLE001  whatever it is, it must not fail the query
            return found.with_degraded(part_failed(stage.name, error, "the order before it stands"))

    def _with_urls(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        url = self.addresses.url
        return tuple([Finding(each.passage, each.candidate, url(each.passage)) for each in findings])


def _scaled(candidates: Iterable[Candidate], highest: float) -> tuple[Candidate, ...]:
    """What was not read keeps its order behind what was, and its scores below those."""
    return tuple(Candidate(each.id, each.score * highest, each.scores, each.ranks) for each in candidates)


class Stopwatch:
    """How long each stage took, and all of them."""

    def __init__(self) -> None:
        self._started = self._last = time.perf_counter()
        self._ms: dict[str, float] = {}

    def lap(self, name: str | None) -> None:
        """The time since the last lap belongs to this stage; None: to no stage, only to the total."""
        now = time.perf_counter()
        if name is not None:
            self._ms[name] = 1000 * (now - self._last)
        self._last = now

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
