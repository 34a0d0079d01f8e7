"""Shortlist -> Shortlist: a cross-encoder reads question and passage together."""

from dataclasses import dataclass
from typing import ClassVar

from citewise.errors import Unavailable
from citewise.model.chunk import searchable_text
from citewise.model.ranking import Shortlist, in_order
from citewise.ports.models import Reranker


@dataclass(frozen=True, slots=True)
class Rerank:
    """Reorder the best passages. What is not read keeps its order behind those, with lower scores."""

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
        reranked = in_order(finding.rescored(self.name, score) for finding, score in zip(head, scores, strict=True))
        lowest = min((finding.score for finding in reranked), default=1.0)
        return found.with_findings((*reranked, *(finding.with_score(finding.score * lowest) for finding in tail)))
