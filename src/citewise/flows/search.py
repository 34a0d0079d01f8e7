"""Question -> findings: which stages, in which order. Read this file to follow a query."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from citewise.context.urls import Addresses
from citewise.model.errors import CitewiseError
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Finding, Ranking, Rankings, Shortlist
from citewise.model.result import SearchResult
from citewise.retrieve.arms import Arms
from citewise.retrieve.boost import Boost
from citewise.retrieve.cut import Cut
from citewise.retrieve.dedup import Deduplicate
from citewise.retrieve.features import Features
from citewise.retrieve.freshness import Freshness
from citewise.retrieve.fuse import Fusion, Nearness
from citewise.retrieve.hydrate import GONE, MALFORMED, Hydrate
from citewise.retrieve.rerank import Rerank

_log = logging.getLogger(__name__)

In = TypeVar("In")
Out = TypeVar("Out")

Refinement = Features | Rerank | Freshness | Boost | Deduplicate | Cut


def refinements(features: Features, rerank: Rerank, freshness: Freshness, boost: Boost) -> tuple[Refinement, ...]:
    """What happens to passages once they have their text: the order is written here and nowhere else."""
    return (features, rerank, freshness, boost, Deduplicate(), Cut())


@dataclass(frozen=True, slots=True)
class Search:
    """Query -> Rankings -> Ranking -> Shortlist -> … -> SearchResult."""

    arms: Arms
    hydrate: Hydrate
    refine: tuple[Refinement, ...]
    addresses: Addresses = field(default_factory=Addresses)
    fuse: Fusion = field(default_factory=Nearness)

    def __call__(self, query: Query) -> SearchResult:
        watch = _Watch()
        rankings: Rankings = watch.timed("arms", self.arms, query)
        ranking: Ranking = watch.timed("fuse", self.fuse, rankings)
        read: Shortlist = watch.timed("hydrate", self.hydrate, ranking)
        shortlist = self._reported(read)
        candidates = len(ranking.candidates) - (len(read.dropped) - len(shortlist.dropped))
        counts = {"candidates": candidates, "hydrated": len(shortlist.findings)}
        for stage in self.refine:
            shortlist = watch.timed(stage.name, stage, shortlist)
            counts[stage.name] = len(shortlist.findings)
        if query.expand_graph:
            shortlist = shortlist.with_degraded("graph: this library has no service graph")
        return SearchResult(
            query,
            tuple(Finding(one.passage, one.candidate, self.addresses.url(one.passage)) for one in shortlist.findings),
            total_candidates=candidates,
            timings_ms={**rankings.timings_ms, **watch.timings_ms(), "total": watch.total_ms()},
            counts=counts,
            dropped=shortlist.dropped,
            degraded=(*rankings.degraded, *shortlist.degraded),
            notes=shortlist.notes,
        )

    def _reported(self, shortlist: Shortlist) -> Shortlist:
        """What the index found and the catalog did not give is logged and put right later (Q6).

        What is gone for this reader is not shown as dropped: another reader's chunk must not even be named.
        """
        gone = [one.candidate for one in shortlist.dropped if one.reason == GONE]
        malformed = [one.candidate.id for one in shortlist.dropped if one.reason == MALFORMED]
        if gone:
            _log.info("left out, no longer in the catalog for this reader: %s", ", ".join(one.id for one in gone))
        if malformed:
            _log.warning("left out, unreadable until their documents are ingested again: %s", ", ".join(malformed))
            self._make_anew(malformed)
        if not shortlist.dropped:
            return shortlist
        return replace(
            shortlist,
            findings=tuple(_renumbered(one, gone) for one in shortlist.findings) if gone else shortlist.findings,
            dropped=tuple(one for one in shortlist.dropped if one.reason != GONE),
        )

    def _make_anew(self, ids: list[ChunkId]) -> None:
        try:
            self.hydrate.store.make_anew(ids)
        except CitewiseError as error:
            _log.warning("could not ask for them to be ingested again: %s", error)


def _renumbered(finding: Finding, gone: Sequence[Candidate]) -> Finding:
    """Its ranks without the gaps that would tell of chunks which are not for this reader."""
    ranks = {
        arm: rank - sum(one.ranks.get(arm, rank) < rank for one in gone)
        for arm, rank in finding.candidate.ranks.items()
    }
    return replace(finding, candidate=finding.candidate._replace(ranks=ranks))


class _Watch:
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
