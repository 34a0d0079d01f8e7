"""Shortlist -> Shortlist: new scores by the places of words, by late interaction, and by a cross-encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import ClassVar

from citewise.errors import Unavailable
from citewise.model.chunk import searchable_text
from citewise.model.query import BY_WORD, FEATURE_WEIGHTS, LATE_WEIGHT, PROXIMITY, TITLE
from citewise.model.ranking import DENSE, FUSED, Finding, Shortlist
from citewise.ports.catalog import EmbeddingCache
from citewise.ports.models import Reranker, WordEmbedder
from citewise.text.analysis import terms
from citewise.text.positions import Places, term_positions

# Cosines of the nearest passage. From NEAR on, late interaction has its plain weight; from FAR down FAR_TIMES that,
# since only meaning can help a question in other words than the text's (ADR 15). FAR_TIMES 1: as much for every
# question; 20: paraphrases find no more, and api_docs loses another 0.01 nDCG@10.
NEAR, FAR = 0.6, 0.3
FAR_TIMES = 10.0


@dataclass(frozen=True, slots=True)
class Features:
    """Raise passages whose headings have the question's words, or which have them close together, unlike BM25.

    The new score is the weighted mean of the fused score and the features, so it stays in 0..1.
    """

    name: ClassVar[str] = "features"
    weights: Mapping[str, float] = field(default_factory=lambda: FEATURE_WEIGHTS)
    depth: int = 40  # passages that are looked at; those behind them count as having no feature; 0: none are

    def __call__(self, found: Shortlist) -> Shortlist:
        words = terms(found.query.text).words
        weights = {name: weight for name, weight in self.weights.items() if weight > 0}
        if not words or not weights:
            return found
        head, tail = found.findings[: self.depth], found.findings[self.depth :]
        texts = [" ".join(finding.passage.breadcrumb) for finding in head]
        texts += [finding.passage.text for finding in head]
        different = frozenset(words)
        places = term_positions(texts, different)  # of all texts together: their words repeat
        pairs = [(word, following) for word, following in pairwise(words) if word != following]
        total = 1 + sum(weights.values())
        rescored = []
        for finding, heading, text in zip(head, places[: len(head)], places[len(head) :], strict=True):
            features = {TITLE: len(heading) / len(different), PROXIMITY: self.proximity(pairs, text)}
            chosen = {name: features[name] for name in weights}
            score = finding.score + sum([weights[name] * value for name, value in chosen.items()])
            rescored.append(finding.rescored(self.name, score / total, parts=chosen))
        rescored += [finding.rescored(self.name, finding.score / total) for finding in tail]
        return found.with_findings(Finding.in_order(rescored))

    @staticmethod
    def proximity(pairs: Sequence[tuple[str, str]], places: Places) -> float:
        """How close neighbors in the question stand in a text: 1 side by side, 0 if never both, else 1 / distance."""
        close = [_closeness(places[left], places[right]) for left, right in pairs if left in places and right in places]
        return sum(close) / max(1, len(pairs))


def _closeness(lefts: Sequence[int], rights: Sequence[int]) -> float:
    """1 / the least distance between two places, which are in order: a step in one of the two at a time."""
    left_places, right_places = iter(lefts), iter(rights)
    left, right, nearest = next(left_places, None), next(right_places, None), inf
    while left is not None and right is not None and nearest > 1:
        nearest = min(nearest, abs(right - left))
        if left < right:
            left = next(left_places, None)
        else:
            right = next(right_places, None)
    return 1 / nearest


@dataclass(frozen=True, slots=True)
class Late:
    """Late interaction: how near, on average, each word of the question finds one. It weighs most if none is near."""

    name: ClassVar[str] = "late"
    words: WordEmbedder | None  # None: this model does not tell words apart
    cache: EmbeddingCache
    weight: float = LATE_WEIGHT
    # Passages looked at, the best as rankings have them: as many as every search reads, whatever its top_k. 20: of long
    # pages, which are cut into many, one paraphrase in sixteen is lost; 40: nothing more is found.
    depth: int = 30
    near_depth: int = 12  # where one is near. 20: most searches take longer and find no more; 6: api_docs loses 0.01

    def __call__(self, found: Shortlist) -> Shortlist:
        ranked = sorted(found.findings, key=self.by_rankings)
        scores = [each.candidate.scores for each in ranked[: self.depth]]
        nearest = max((each[DENSE] for each in scores if DENSE in each), default=None)
        if self.words is None or self.weight <= 0 or len(scores) < 2 or nearest is None:
            return found
        depth = self.depth if nearest < NEAR else self.near_depth
        head, tail = ranked[:depth], ranked[depth:]
        stored = self.cache.word_vectors([finding.passage.text_digest for finding in head])
        missing = sum(finding.passage.text_digest not in stored for finding in head)
        if missing:
            return found.with_note(
                f"late: {missing} of {len(head)} passages have no vectors of their words; "
                "`citewise reindex` makes them; the order before it stands"
            )
        close = self.words.closeness(found.query.text, [stored[finding.passage.text_digest] for finding in head])
        weight = self.weight * self.times(nearest)
        total = 1 + weight
        rescored = [
            finding.rescored(self.name, (finding.score + weight * share) / total, parts={BY_WORD: by_word})
            for finding, by_word, share in zip(head, close, self.stretched(close), strict=True)
        ]
        rescored += [finding.rescored(self.name, finding.score / total) for finding in tail]
        return found.with_findings(Finding.in_order(rescored))

    @staticmethod
    def by_rankings(finding: Finding) -> tuple[float, str]:
        """As fusion had them: stages before this one move more of them, the more are read."""
        return -finding.candidate.scores.get(FUSED, finding.score), finding.candidate.id

    @staticmethod
    def times(nearest: float) -> float:
        """What the weight is multiplied by: 1 where a passage is near, FAR_TIMES where all are far."""
        farness = min(1.0, max(0.0, (NEAR - nearest) / (NEAR - FAR)))
        return 1.0 + (FAR_TIMES - 1.0) * farness

    @staticmethod
    def stretched(scores: Sequence[float]) -> list[float]:
        """From 0 for the least to 1 for the most; 0 for all where they are equal."""
        low, high = min(scores), max(scores)
        return [(score - low) / (high - low) if high > low else 0.0 for score in scores]


@dataclass(frozen=True, slots=True)
class Rerank:
    """Reorder the best passages by a cross-encoder. The others keep their order behind those, with lower scores."""

    name: ClassVar[str] = "rerank"
    reranker: Reranker | None
    depth: int = 50  # passages read; 1: nothing changes; more: slower, in proportion

    def __call__(self, found: Shortlist) -> Shortlist:
        if not found.query.rerank:
            return found.with_note("rerank: switched off; the fused order stands")
        if self.reranker is None:
            return found.with_note("rerank: no model is configured; the fused order stands")
        head, tail = found.findings[: self.depth], found.findings[self.depth :]
        texts = [searchable_text(finding.passage.breadcrumb, finding.passage.text) for finding in head]
        scores = self.reranker.scores(found.query.text, texts)
        if len(scores) != len(head) or not all(0.0 <= score <= 1.0 for score in scores):
            raise Unavailable(f"the reranker did not give {len(head)} scores in 0..1")
        scored = zip(head, scores, strict=True)
        reranked = Finding.in_order(finding.rescored(self.name, score) for finding, score in scored)
        lowest = min((finding.score for finding in reranked), default=1.0)
        behind = [replace(each, candidate=replace(each.candidate, score=each.score * lowest)) for each in tail]
        return found.with_findings((*reranked, *behind))
