"""Shortlist -> Shortlist: compares question and passages word by word, where no passage is near as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from citewise.model.query import BY_WORD, LATE_WEIGHT
from citewise.model.ranking import DENSE, FUSED, Finding, Shortlist, in_order
from citewise.ports.catalog import EmbeddingCache
from citewise.ports.models import WordEmbedder

# Cosines of the nearest passage: from NEAR on the stage has nothing to say, from FAR down its whole weight. Questions
# that are far gain by it; near ones gain here and lose there (ADR 15), and every search would take its time.
NEAR, FAR = 0.55, 0.40


@dataclass(frozen=True, slots=True)
class Late:
    """Late interaction: how near, on average, each word of the question finds one in the passage."""

    name: ClassVar[str] = "late"
    words: WordEmbedder | None  # None: this model does not tell words apart
    cache: EmbeddingCache
    weight: float = LATE_WEIGHT
    depth: int = 20  # passages looked at: the best as rankings have them, which every search reads, whatever its top_k

    def __call__(self, found: Shortlist) -> Shortlist:
        ranked = sorted(found.findings, key=by_rankings)
        head, tail = ranked[: self.depth], ranked[self.depth :]
        weight = self.weight * farness(head)
        if self.words is None or weight <= 0 or len(head) < 2:
            return found
        stored = self.cache.word_vectors([finding.passage.text_digest for finding in head])
        missing = sum(finding.passage.text_digest not in stored for finding in head)
        if missing:
            return found.with_note(
                f"late: {missing} of {len(head)} passages have no vectors of their words; "
                "`citewise reindex` makes them; the order before it stands"
            )
        close = self.words.closeness(found.query.text, [stored[finding.passage.text_digest] for finding in head])
        total = 1 + weight
        rescored = [
            finding.rescored(self.name, (finding.score + weight * share) / total, parts={BY_WORD: by_word})
            for finding, by_word, share in zip(head, close, stretched(close), strict=True)
        ]
        rescored += [finding.rescored(self.name, finding.score / total) for finding in tail]
        return found.with_findings(in_order(rescored))


def by_rankings(finding: Finding) -> tuple[float, str]:
    """As fusion had them: stages before this one move more of them, the more are read."""
    return -finding.candidate.scores.get(FUSED, finding.score), finding.candidate.id


def farness(findings: Sequence[Finding]) -> float:
    """From 0, where a passage is near, to 1, where all are far; 0 where nobody looked."""
    nearest = max((each.candidate.scores[DENSE] for each in findings if DENSE in each.candidate.scores), default=NEAR)
    return min(1.0, max(0.0, (NEAR - nearest) / (NEAR - FAR)))


def stretched(scores: Sequence[float]) -> list[float]:
    """From 0 for the least to 1 for the most; 0 for all where they are equal."""
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]
