"""Shortlist -> Shortlist: a cross-encoder reads question and passage together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from citewise.errors import CitewiseError, Unavailable
from citewise.model.chunk import searchable_text
from citewise.model.ranking import Finding, Shortlist, in_order
from citewise.ports.models import Reranker


@dataclass(frozen=True, slots=True)
class Rerank:
    """Reorder the best few. Off, missing or failing: the fused order stands, and the result says so."""

    name: ClassVar[str] = "rerank"
    reranker: Reranker | None
    depth: int = 50  # passages read; 1: nothing changes; more: slower, in proportion

    def __call__(self, found: Shortlist) -> Shortlist:
        if not found.query.rerank:
            return found.with_note("rerank: switched off; the fused order stands")
        if self.reranker is None:
            return found.with_note("rerank: no model is configured; the fused order stands")
        head = found.findings[: self.depth]
        try:
            scores = _checked(self.reranker.scores(found.query.text, [_read(one) for one in head]), len(head))
        except CitewiseError as error:
            return found.with_degraded(f"rerank: {error}; the fused order stands")
        except Exception as error:  # noqa: BLE001  it may be anybody's code, and no optional part may fail a query
            return found.with_degraded(
                f"rerank: {self.reranker.name} broke ({type(error).__name__}); the fused order stands"
            )
        reranked = in_order(one.rescored(self.name, score) for one, score in zip(head, scores, strict=True))
        return found.with_findings((*reranked, *_behind(reranked, found.findings[self.depth :])))


def _checked(scores: Sequence[float], count: int) -> Sequence[float]:
    if len(scores) != count or not all(0.0 <= score <= 1.0 for score in scores):
        raise Unavailable(f"the reranker did not give {count} scores in 0..1")
    return scores


def _read(finding: Finding) -> str:
    return searchable_text(finding.passage.breadcrumb, finding.passage.text)


def _behind(reranked: tuple[Finding, ...], rest: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What was not read keeps its order behind what was, and its score on the same side of it."""
    lowest = min((one.score for one in reranked), default=1.0)
    return tuple(one.with_score(one.score * lowest) for one in rest)
