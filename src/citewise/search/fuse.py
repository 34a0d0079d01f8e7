"""Rankings -> Ranking: several orders become one, on one scale from 0 to 1."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from citewise.model.chunk import Hit
from citewise.model.ids import ChunkId
from citewise.model.ranking import CODE, DENSE, WORDS, Ranking, Rankings

RANK_CONSTANT = 60  # of reciprocal rank fusion; 0: the first place is everything; large: places hardly differ

HEAD = 60  # hits over which a ranking's scores are stretched: what it gives at least
TAIL = 0.001  # what is left for hits behind the head: enough to order them, too little to lift them into it

MIN_NEARNESS = 0.01  # however far everything is, meaning still orders what words say nothing about

EQUAL: Mapping[str, float] = {DENSE: 1.0, WORDS: 1.0, CODE: 1.0}
# Meaning and words, and words in both their forms. With 0.25 for meaning, 57 instead of 63 in 100 paraphrases reach the
# passages that are read; with 0.8, api_docs loses 0.02 nDCG@10. `make bench-defaults` has rows.
HALVES: Mapping[str, float] = {DENSE: 0.5, WORDS: 0.25, CODE: 0.25}
# Words of both kinds together weigh as much as meaning whose nearest chunk has a cosine of 0.6.
BY_NEARNESS: Mapping[str, float] = {DENSE: 1.0, WORDS: 0.3, CODE: 0.3}


@dataclass(frozen=True, slots=True)
class ReciprocalRanks:
    """Reciprocal rank fusion: only places count, so scores of any scale can be joined."""

    weights: Mapping[str, float] = field(default_factory=lambda: EQUAL)
    constant: int = RANK_CONSTANT

    def __call__(self, found: Rankings) -> Ranking:
        best = sum(self.weights.values()) / (self.constant + 1)  # first place in every ranking
        return _ranking(found, {id_: total / best for id_, total in self.sums(found.hits).items()})

    def sums(self, rankings: Mapping[str, tuple[Hit, ...]]) -> dict[ChunkId, float]:
        """For each chunk, the sum of weight / (constant + rank) over the rankings that found it."""
        sums: dict[ChunkId, float] = {}
        for ranking in sorted(rankings):
            for rank, hit in enumerate(rankings[ranking], start=1):
                sums[hit.id] = sums.get(hit.id, 0.0) + self.weights.get(ranking, 0.0) / (self.constant + rank)
        return sums


@dataclass(frozen=True, slots=True)
class MinMax:
    """The weighted mean of scores, each ranking's stretched to 0..1 over what it found. The default."""

    weights: Mapping[str, float] = field(default_factory=lambda: HALVES)

    def __call__(self, found: Rankings) -> Ranking:
        return _averaged(found, self.weights)


@dataclass(frozen=True, slots=True)
class Nearness:
    """The same mean, but meaning weighs as much as it is near: its weight is multiplied by the nearest chunk's cosine.

    Where nothing is very near, words decide: for models without late interaction, and questions that name things.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: BY_NEARNESS)

    def __call__(self, found: Rankings) -> Ranking:
        nearest = found.hits.get(DENSE, ())[:1]
        cosine = min(1.0, max(MIN_NEARNESS, nearest[0].score)) if nearest else 0.0
        return _averaged(found, {**self.weights, DENSE: self.weights.get(DENSE, 0.0) * cosine})


Fusion = ReciprocalRanks | MinMax | Nearness


def _averaged(found: Rankings, weights: Mapping[str, float]) -> Ranking:
    rankings = sorted(found.hits)  # in one order, so that sums are equal to the last bit
    if not any(weights.get(ranking, 0.0) for ranking in rankings if found.hits[ranking]):
        weights = EQUAL  # the only rankings that count found nothing or were down: better the others than none
    total = sum(weights.get(ranking, 0.0) for ranking in rankings)
    sums: dict[ChunkId, float] = {}
    for ranking in rankings:
        weight = weights.get(ranking, 0.0)
        for id_, score in _stretched(found.hits[ranking]).items():
            sums[id_] = sums.get(id_, 0.0) + weight * score / total
    return _ranking(found, sums)


def _stretched(hits: tuple[Hit, ...]) -> dict[ChunkId, float]:
    """Scores from 1 for the first hit down to TAIL for the last of the head, and on to 0 for the last of all.

    The head has a fixed length, so that asking for more hits adds some and does not move those that were there.
    """
    tail = hits[HEAD:]
    return {**_between(hits[:HEAD], TAIL if tail else 0.0, 1.0), **_between(tail, 0.0, TAIL)}


def _between(hits: tuple[Hit, ...], low: float, high: float) -> dict[ChunkId, float]:
    if not hits:
        return {}
    best, worst = hits[0].score, hits[-1].score
    if best <= worst:
        return {hit.id: high for hit in hits}
    width, span = high - low, best - worst
    return {id_: low + width * (score - worst) / span for id_, score in hits}


def _ranking(found: Rankings, fused: Mapping[ChunkId, float]) -> Ranking:
    """Every chunk that any ranking found takes part; equal ones are in the order of their ids."""
    order = sorted(sorted(fused), key=fused.__getitem__, reverse=True)
    return Ranking(found, {id_: fused[id_] for id_ in order})


FUSIONS: Mapping[str, Callable[..., Fusion]] = {"minmax": MinMax, "nearness": Nearness, "rrf": ReciprocalRanks}
