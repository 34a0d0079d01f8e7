"""Candidates of judged questions as arrays: a way of ordering them is tried on all questions in a tenth of a second.

Pure. `blended` and `by_nearness` do what citewise.search.fuse does; a test holds them to it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from citewise.evaluation.cases import Unit
from citewise.model.chunk import Hit
from citewise.model.ids import ChunkId
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.search.fuse import HEAD, MIN_NEARNESS, TAIL

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

ORDER = (DENSE, WORDS, CODE)  # of the rows of a pool
NOWHERE = 10**9  # the rank of what a ranking did not list
DEPTH = 10  # documents that count where documents are judged
PASSAGES = 5  # passages that count where passages are
FULL_ANSWER = 2  # the grade of a passage that answers alone
BY_PLACE = " by place"  # behind a stratum's name: the same questions, valued by where the answer stands
DISCOUNTS = 1 / np.log2(np.arange(2, DEPTH + 2))


@dataclass(frozen=True, slots=True)
class Pool:
    """One question's candidates, in order of id, and what each ranking said of them."""

    question: str
    ids: tuple[ChunkId, ...]
    scores: Numbers  # ranking x candidate; 0 where the ranking did not list it
    ranks: Counts  # ranking x candidate, from 1; NOWHERE where the ranking did not list it
    documents: Counts  # a number for each candidate's document
    grades: Counts  # of the candidate, or of its document
    unit: Unit
    ideal: float  # gain of the best order there could be, where documents are judged

    def chosen(self, places: Counts) -> "Pool":
        """These candidates only."""
        return replace(
            self,
            ids=tuple(self.ids[at] for at in places),
            scores=self.scores[:, places],
            ranks=self.ranks[:, places],
            documents=self.documents[places],
            grades=self.grades[places],
        )

    def within(self, limit: int) -> "Pool":
        """As if no ranking had been asked for more than `limit` hits."""
        listed = self.ranks <= limit
        cut = replace(self, scores=np.where(listed, self.scores, 0.0), ranks=np.where(listed, self.ranks, NOWHERE))
        return cut.chosen(np.flatnonzero(listed.any(axis=0)))


Scoring = Callable[[Pool], Numbers]  # a score for each candidate, higher is better
Pools = Mapping[str, Sequence[Pool]]  # by stratum: a set, or a part of one that is counted apart
Worths = Mapping[str, Numbers]  # by stratum: what each question is worth, in 0..1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate stands."""

    document: int
    grade: int


def pool_of(
    question: str,
    rankings: Mapping[str, Sequence[Hit]],
    places: Mapping[ChunkId, Place],
    *,
    unit: Unit,
    judged: Sequence[int],
) -> Pool:
    """What the rankings found, side by side; `judged` are the grades of all that there is to find."""
    ids = sorted({hit.id for hits in rankings.values() for hit in hits})
    at = {id_: number for number, id_ in enumerate(ids)}
    scores = np.zeros((len(ORDER), len(ids)))
    ranks = np.full((len(ORDER), len(ids)), NOWHERE)
    for row, ranking in enumerate(ORDER):
        for rank, hit in enumerate(rankings[ranking], start=1):
            scores[row, at[hit.id]], ranks[row, at[hit.id]] = hit.score, rank
    held = [(places[id_].document, places[id_].grade) for id_ in ids]
    documents, grades = np.array(held, np.int64).reshape(-1, 2).T
    best = np.sort(np.maximum(judged, 0))[::-1][:DEPTH]
    ideal = float(best @ DISCOUNTS[: len(best)])
    return Pool(question, tuple(ids), scores, ranks, documents, grades, unit, ideal)


def worth(pool: Pool, scores: Numbers) -> float:
    """nDCG@10 where documents are judged; else 1 if one of the first five passages answers in full."""
    order = np.argsort(-scores, kind="stable")  # equal scores stay in order of id, as they do in the product
    if pool.unit == "passage":
        return float((pool.grades[order[:PASSAGES]] >= FULL_ANSWER).any())
    _, first = np.unique(pool.documents[order], return_index=True)
    grades = np.maximum(pool.grades[order[np.sort(first)[:DEPTH]]], 0)
    return float(grades @ DISCOUNTS[: len(grades)] / pool.ideal) if pool.ideal else 0.0


def place_worth(pool: Pool, scores: Numbers) -> float:
    """The discounted gain of the first full answer among ten passages: where five are a cliff, this is a slope."""
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    places = np.flatnonzero(pool.grades[order] >= FULL_ANSWER)
    return float(DISCOUNTS[places[0]]) if len(places) else 0.0


def worths(pools: Pools, scoring: Scoring) -> Worths:
    return measured({stratum: [(pool, scoring(pool)) for pool in some] for stratum, some in pools.items()})


def measured(scored: Mapping[str, Sequence[tuple[Pool, Numbers]]]) -> Worths:
    """What each question is worth with these scores; where passages are judged, by place as well."""
    made: dict[str, Numbers] = {}
    for stratum, pairs in scored.items():
        made[stratum] = np.array([worth(*pair) for pair in pairs])
        if pairs and pairs[0][0].unit == "passage":
            made[f"{stratum}{BY_PLACE}"] = np.array([place_worth(*pair) for pair in pairs])
    return made


def within(pools: Pools, limit: int) -> Pools:
    return {name: [pool.within(limit) for pool in some] for name, some in pools.items()}


def stretched(pool: Pool, head: int = HEAD) -> Numbers:
    """Scores of a ranking from 1 for its first hit to near 0 for the last of its head; what follows shares the rest."""
    made = np.zeros_like(pool.scores)
    for row, (scores, ranks) in enumerate(zip(pool.scores, pool.ranks, strict=True)):
        is_head = ranks <= head
        is_tail = (ranks > head) & (ranks < NOWHERE)
        floor = TAIL if is_tail.any() else 0.0
        made[row, is_head] = _between(scores[is_head], floor, 1.0)
        made[row, is_tail] = _between(scores[is_tail], 0.0, TAIL)
    return made


def _between(scores: Numbers, low: float, high: float) -> Numbers:
    if not len(scores) or scores.max() <= scores.min():
        return np.full(len(scores), high)
    return np.asarray(low + (high - low) * (scores - scores.min()) / (scores.max() - scores.min()))


def nearness(pool: Pool) -> float:
    """The cosine of the nearest chunk, as far as it is a weight; 0 where the ranking found nothing."""
    found = pool.scores[0][pool.ranks[0] < NOWHERE]
    return min(1.0, max(MIN_NEARNESS, float(found.max()))) if len(found) else 0.0


def blended(weights: Sequence[float], head: int = HEAD) -> Scoring:
    """Min-max: the weighted mean of stretched scores."""
    return lambda pool: _mean(pool, np.array(weights, float), head)


def by_nearness(weights: Sequence[float], head: int = HEAD) -> Scoring:
    """The same mean, but meaning weighs as much as its nearest chunk is near."""
    return lambda pool: _mean(pool, np.array(weights, float) * (nearness(pool), 1.0, 1.0), head)


def _mean(pool: Pool, weights: Numbers, head: int) -> Numbers:
    has_hits = (pool.ranks < NOWHERE).any(axis=1)
    counted = weights if weights[has_hits].any() else np.ones(len(ORDER))
    return np.asarray(counted @ stretched(pool, head) / counted.sum())


def by_ranks(constant: int) -> Scoring:
    """Reciprocal rank fusion with equal weights."""
    return lambda pool: np.where(pool.ranks < NOWHERE, 1 / (constant + pool.ranks), 0.0).sum(axis=0)
