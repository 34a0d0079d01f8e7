"""Ranking -> Shortlist: the best candidates get their text, in one read that checks access again."""

from collections.abc import Sequence
from dataclasses import dataclass

from citewise.model.ids import ChunkId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Dropped, Ranking, Shortlist, finding_of
from citewise.ports.catalog import PassageReader
from citewise.search.rankings import retried

STAGE = "hydrate"
GONE = "no longer in the catalog for this reader"
MALFORMED = "its record cannot be read"

SPARE = 2  # candidates read for each one asked for: later stages reorder and drop


@dataclass(frozen=True, slots=True)
class Hydrate:
    """What the index believed is checked against the catalog, which is the truth."""

    store: PassageReader
    least: int = 20  # candidates that are read at least; a reranker wants as many as it looks at

    def __call__(self, ranking: Ranking) -> Shortlist:
        return self.all_of(ranking.query, ranking.candidates[: max(self.least, SPARE * ranking.query.top_k)])

    def all_of(self, query: Query, wanted: Sequence[Candidate]) -> Shortlist:
        """These candidates with their text, and those that have none for this reader as dropped."""
        ids = [one.id for one in wanted]
        read = retried(lambda: self.store.passages(ids, where=query.where))
        passages = {passage.chunk_id: passage for passage in read.passages}
        findings = [finding_of(passages[one.id], one) for one in wanted if one.id in passages]
        malformed = frozenset(read.malformed)
        dropped = [_dropped(one, malformed) for one in wanted if one.id not in passages]
        return Shortlist(query, tuple(findings), tuple(dropped))


def _dropped(candidate: Candidate, malformed: frozenset[ChunkId]) -> Dropped:
    return Dropped(candidate, STAGE, MALFORMED if candidate.id in malformed else GONE)
