"""Question -> findings: which stages, in which order. Read this file to follow a query."""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeVar

from citewise.errors import CitewiseError
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Finding, Ranking, Rankings, SearchResult, Shortlist, finding_of
from citewise.search.adjust import Boost, Cut, Deduplicate, Freshness, forgiving
from citewise.search.features import Features
from citewise.search.fuse import Fusion, Nearness
from citewise.search.hydrate import GONE, MALFORMED, Hydrate
from citewise.search.late import Late
from citewise.search.rankings import Retrieve, may_have_more
from citewise.search.rerank import Rerank
from citewise.text.urls import Addresses

_log = logging.getLogger(__name__)

In = TypeVar("In")
Out = TypeVar("Out")

Refinement = Features | Late | Rerank | Freshness | Boost | Deduplicate | Cut


def refinements(
    features: Features, late: Late, rerank: Rerank, freshness: Freshness, boost: Boost
) -> tuple[Refinement, ...]:
    """What happens to passages once they have their text: the order is written here and nowhere else."""
    return (features, late, rerank, freshness, boost, Deduplicate(), Cut())


@dataclass(frozen=True, slots=True)
class Found:
    """Hits that go on: those that were read, and behind them candidates that nobody has read yet, in fused order."""

    result: SearchResult
    behind: tuple[Candidate, ...] = ()
    is_whole: bool = True  # no ranking has anything behind these
    left_out: tuple[ChunkId, ...] = ()  # what was read and then dropped


@dataclass(frozen=True, slots=True)
class Beyond:
    """What deeper rankings found, in fused order."""

    candidates: tuple[Candidate, ...]
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """Query -> Rankings -> Ranking -> Shortlist -> … -> SearchResult."""

    arms: Retrieve
    hydrate: Hydrate
    refine: tuple[Refinement, ...]
    addresses: Addresses = field(default_factory=Addresses)
    fuse: Fusion = field(default_factory=Nearness)
    request_reingest: Callable[[Collection[ChunkId]], None] = lambda ids: None  # of chunks whose record is damaged

    def __call__(self, query: Query) -> SearchResult:
        watch = Watch()
        rankings: Rankings = watch.timed("arms", self.arms, query)
        ranking: Ranking = watch.timed("fuse", self.fuse, rankings)
        read: Shortlist = watch.timed("hydrate", self.hydrate, ranking)
        return self._refined(read, rankings, len(ranking.candidates), watch)

    def through(self, query: Query) -> Found:
        """The same search, whose hits go on: all that it read, in their order, and whatever else its rankings found."""
        watch = Watch()
        rankings: Rankings = watch.timed("arms", self.arms, query)
        ranking: Ranking = watch.timed("fuse", self.fuse, rankings)
        read: Shortlist = watch.timed("hydrate", self.hydrate, ranking)
        uncut = replace(query, top_k=max(1, len(read.findings)))
        result = self._refined(replace(read, query=uncut), rankings, len(ranking.candidates), watch)
        behind = ranking.candidates[len(read.findings) + len(read.dropped) :]
        gone = [candidate.ranks for candidate in gone_of(read)]
        lowest = min((one.score for one in result.findings), default=1.0)
        return Found(
            replace(result, query=query),
            lowered([renumbered(one, gone) for one in behind], lowest),
            is_whole=not may_have_more(rankings),
            left_out=tuple(one.candidate.id for one in result.dropped),
        )

    def beyond(self, query: Query, depth: int, *, known: Set[ChunkId], gone: Set[ChunkId]) -> Beyond:
        """What rankings of `depth` hits find besides all that is known, with ranks as if `gone` were not there."""
        rankings = self.arms(query, depth=depth)
        found = self.fuse(rankings).candidates
        lost = [one.ranks for one in found if one.id in gone]
        others = tuple(renumbered(one, lost) for one in found if one.id not in known)
        return Beyond(others, rankings.degraded)

    def passages(self, query: Query, candidates: Sequence[Candidate]) -> Shortlist:
        """These candidates as findings; what the catalog does not give is reported, and named as dropped."""
        read = self.hydrate.all_of(query, candidates)
        self._report(read)
        return read.with_findings(self._addressed(read))

    def _refined(self, read: Shortlist, rankings: Rankings, found: int, watch: "Watch") -> SearchResult:
        self._report(read)
        shortlist = _without_gone(read)
        candidates = found - (len(read.dropped) - len(shortlist.dropped))
        counts = {"candidates": candidates, "hydrated": len(shortlist.findings)}
        for stage in self.refine:
            # Only the cut is needed: a search can do without any other stage (Q16).
            shortlist = watch.timed(stage.name, stage if isinstance(stage, Cut) else forgiving(stage), shortlist)
            counts[stage.name] = len(shortlist.findings)
        if read.query.expand_graph:
            shortlist = shortlist.with_degraded("graph: this library has no service graph")
        return SearchResult(
            read.query,
            self._addressed(shortlist),
            total_candidates=candidates,
            timings_ms={**rankings.timings_ms, **watch.timings_ms(), "total": watch.total_ms()},
            counts=counts,
            dropped=shortlist.dropped,
            degraded=(*rankings.degraded, *shortlist.degraded),
            notes=shortlist.notes,
        )

    def _addressed(self, shortlist: Shortlist) -> tuple[Finding, ...]:
        url = self.addresses.url
        return tuple([finding_of(one.passage, one.candidate, url(one.passage)) for one in shortlist.findings])

    def _report(self, shortlist: Shortlist) -> None:
        """What the index found and the catalog did not give is logged and put right later (Q6)."""
        gone = [candidate.id for candidate in gone_of(shortlist)]
        malformed = [one.candidate.id for one in shortlist.dropped if one.reason == MALFORMED]
        if gone:
            _log.info("left out, no longer in the catalog for this reader: %s", ", ".join(gone))
        if malformed:
            _log.warning("left out, unreadable until their documents are ingested again: %s", ", ".join(malformed))
            self._reingest(malformed)

    def _reingest(self, ids: list[ChunkId]) -> None:
        try:
            self.request_reingest(ids)
        except CitewiseError as error:
            _log.warning("could not ask for them to be ingested again: %s", error)


def gone_of(read: Shortlist) -> tuple[Candidate, ...]:
    """What an index found that is not, or no longer, in the catalog for this reader."""
    return tuple(one.candidate for one in read.dropped if one.reason == GONE)


def renumbered(candidate: Candidate, gone: Sequence[Mapping[str, int]]) -> Candidate:
    """Its ranks without the gaps that would tell of chunks which are not for this reader, given the ranks of those."""
    if not gone:
        return candidate
    ranks = {arm: rank - sum(one.get(arm, rank) < rank for one in gone) for arm, rank in candidate.ranks.items()}
    return replace(candidate, ranks=ranks)


def _without_gone(read: Shortlist) -> Shortlist:
    """What is gone for this reader is not shown as dropped: another reader's chunk must not even be named."""
    gone = [candidate.ranks for candidate in gone_of(read)]
    if not gone:
        return read
    return replace(
        read,
        findings=tuple(replace(one, candidate=renumbered(one.candidate, gone)) for one in read.findings),
        dropped=tuple(one for one in read.dropped if one.reason != GONE),
    )


def lowered(candidates: Sequence[Candidate], highest: float) -> tuple[Candidate, ...]:
    """What was not read keeps its order behind what was, and its score on the same side of it."""
    return tuple(Candidate(one.id, one.score * highest, one.scores, one.ranks) for one in candidates)


class Watch:
    """How long each stage took, and all of it."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._ms: dict[str, float] = {}

    def timed(self, name: str, stage: Callable[[In], Out], given: In) -> Out:
        started = time.perf_counter()
        made = stage(given)
        self._ms[name] = 1000 * (time.perf_counter() - started)
        return made

    def timings_ms(self) -> dict[str, float]:
        return dict(self._ms)

    def total_ms(self) -> float:
        return 1000 * (time.perf_counter() - self._started)
