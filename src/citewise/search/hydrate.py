"""Candidates -> Shortlist: the best candidates get their text, in one read that checks access again."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from citewise.errors import CitewiseError
from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Dropped, Finding, Shortlist
from citewise.ports.catalog import PassageReader
from citewise.search.rankings import retried

_log = logging.getLogger(__name__)

MIN_CANDIDATES = 20  # as many as Late looks at
SPARE = 2  # candidates read for each one asked for: later stages reorder and drop


@dataclass(frozen=True, slots=True)
class Hydrate:
    """Check what the indexes believed against the catalog, which is the truth."""

    store: PassageReader
    min_candidates: int = MIN_CANDIDATES  # that are read; a reranker wants as many as it looks at
    request_reingest: Callable[[Collection[ChunkId]], None] = lambda ids: None  # of chunks with a malformed record

    def count(self, query: Query) -> int:
        """How many candidates a search reads."""
        return max(self.min_candidates, SPARE * query.top_k)

    def __call__(self, query: Query, wanted: Sequence[Candidate]) -> Shortlist:
        """These candidates with their text. Those whose record cannot be read are dropped.

        What is gone for this reader is in neither: another reader's chunk must not even be named, nor leave a gap in
        ranks.
        """
        ids = [candidate.id for candidate in wanted]
        read = retried(lambda: self.store.passages(ids, where=query.where))
        gone = [candidate for candidate in wanted if candidate.id not in read]
        malformed = [id_ for id_ in ids if id_ in read and read[id_] is None]
        if gone or malformed:
            self._report([candidate.id for candidate in gone], malformed)
        if gone:
            wanted = [_without_gaps(candidate, gone) for candidate in wanted]
        findings = [Finding(passage, each) for each in wanted if (passage := read.get(each.id)) is not None]
        dropped = [Dropped(each, "hydrate", "its record cannot be read") for each in wanted if each.id in malformed]
        return Shortlist(query, tuple(findings), tuple(dropped))

    def _report(self, gone: Sequence[ChunkId], malformed: Sequence[ChunkId]) -> None:
        if gone:
            _log.info("left out, no longer in the catalog for this reader: %s", ", ".join(gone))
        if malformed:
            _log.warning("left out, unreadable until their documents are ingested again: %s", ", ".join(malformed))
            try:
                self.request_reingest(malformed)
            except CitewiseError as error:
                _log.warning("could not request that they are ingested again: %s", error)


def _without_gaps(candidate: Candidate, gone: Sequence[Candidate]) -> Candidate:
    ranks: Mapping[str, int] = {
        arm: rank - sum(other.ranks.get(arm, rank) < rank for other in gone) for arm, rank in candidate.ranks.items()
    }
    return Candidate(candidate.id, candidate.score, candidate.scores, ranks)
