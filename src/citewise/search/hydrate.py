"""Ranking -> Shortlist: the best candidates get their text, in one read that checks access again."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from citewise.errors import CitewiseError
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Dropped, Finding, Ranking, Shortlist
from citewise.ports.catalog import PassageReader
from citewise.search.rankings import retried

_log = logging.getLogger(__name__)

STAGE = "hydrate"
GONE = "no longer in the catalog for this reader"
MALFORMED = "its record cannot be read"

MIN_CANDIDATES = 20  # as many as Late looks at
SPARE = 2  # candidates read for each one asked for: later stages reorder and drop


@dataclass(frozen=True, slots=True)
class Hydrate:
    """Check what the indexes believed against the catalog, which is the truth."""

    store: PassageReader
    min_candidates: int = MIN_CANDIDATES  # that are read; a reranker wants as many as it looks at
    request_reingest: Callable[[Collection[ChunkId]], None] = lambda ids: None  # of chunks with a malformed record

    def __call__(self, ranking: Ranking) -> Shortlist:
        return self.all_of(ranking.query, ranking.candidates[: max(self.min_candidates, SPARE * ranking.query.top_k)])

    def all_of(self, query: Query, wanted: Sequence[Candidate]) -> Shortlist:
        """These candidates with their text; those that have none for this reader are dropped and logged."""
        ids = [candidate.id for candidate in wanted]
        read = retried(lambda: self.store.passages(ids, where=query.where))
        findings, dropped = [], []
        for candidate in wanted:
            if (passage := read.get(candidate.id)) is not None:
                findings.append(Finding(passage, candidate))
            else:
                dropped.append(Dropped(candidate, STAGE, MALFORMED if candidate.id in read else GONE))
        if dropped:
            self._report(dropped)
        return Shortlist(query, tuple(findings), tuple(dropped))

    def _report(self, dropped: Sequence[Dropped]) -> None:
        gone = [item.candidate.id for item in dropped if item.reason == GONE]
        malformed = [item.candidate.id for item in dropped if item.reason == MALFORMED]
        if gone:
            _log.info("left out, no longer in the catalog for this reader: %s", ", ".join(gone))
        if malformed:
            _log.warning("left out, unreadable until their documents are ingested again: %s", ", ".join(malformed))
            try:
                self.request_reingest(malformed)
            except CitewiseError as error:
                _log.warning("could not request that they are ingested again: %s", error)


def without_gone(read: Shortlist) -> Shortlist:
    """What is gone is not shown as dropped: another reader's chunk must not even be named, nor leave a gap in ranks."""
    gone = [dropped.candidate.ranks for dropped in read.dropped if dropped.reason == GONE]
    if not gone:
        return read

    def without_gaps(candidate: Candidate) -> Candidate:
        ranks = candidate.ranks.items()
        return replace(
            candidate, ranks={name: at - sum(each.get(name, at) < at for each in gone) for name, at in ranks}
        )

    return replace(
        read,
        findings=tuple(replace(each, candidate=without_gaps(each.candidate)) for each in read.findings),
        dropped=tuple(dropped for dropped in read.dropped if dropped.reason != GONE),
    )
