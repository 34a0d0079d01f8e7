"""Ranking -> Shortlist: the best candidates get their text, in one read that checks access again."""

from dataclasses import dataclass

from citewise.model.ids import ChunkId
from citewise.model.ranking import Candidate, Dropped, Finding, Ranking, Shortlist
from citewise.ports.passages import Passages

STAGE = "hydrate"
GONE = "no longer in the catalog for this reader"
MALFORMED = "its record cannot be read"

SPARE = 2  # candidates read for each one asked for: later stages reorder and drop


@dataclass(frozen=True, slots=True)
class Hydrate:
    """What the index believed is checked against the catalog, which is the truth."""

    store: Passages
    least: int = 20  # candidates that are read at least; a reranker wants as many as it looks at

    def __call__(self, ranking: Ranking) -> Shortlist:
        wanted = ranking.candidates[: max(self.least, SPARE * ranking.query.top_k)]
        read = self.store.passages([one.id for one in wanted], where=ranking.query.where)
        passages = {passage.chunk_id: passage for passage in read.passages}
        malformed = frozenset(read.malformed)
        return Shortlist(
            ranking.query,
            findings=tuple(Finding(passages[one.id], one) for one in wanted if one.id in passages),
            dropped=tuple(_dropped(one, malformed) for one in wanted if one.id not in passages),
        )


def _dropped(candidate: Candidate, malformed: frozenset[ChunkId]) -> Dropped:
    return Dropped(candidate, STAGE, MALFORMED if candidate.id in malformed else GONE)
