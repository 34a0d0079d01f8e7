"""Shortlist -> Shortlist: recent conversations rise."""

import math
from dataclasses import dataclass
from typing import ClassVar

from citewise.model.ranking import Finding, Shortlist

DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True)
class Freshness:
    """Let recent conversations rise; everything else keeps its score."""

    name: ClassVar[str] = "freshness"
    half_life_days: float = 90.0
    weight: float = 0.1  # 0: age is ignored; 1: age alone decides

    def __call__(self, found: Shortlist) -> Shortlist:
        query = found.query
        half_life_days = self.half_life_days if query.half_life_days is None else query.half_life_days
        weight = self.weight if query.freshness_weight is None else query.freshness_weight

        def aged(finding: Finding) -> float | None:
            said_at = finding.passage.said_at
            if not finding.passage.is_conversation or said_at is None:
                return None
            age_days = max(0.0, (query.asked_at - said_at) / DAY)  # said in the future counts as now
            return (1 - weight) * finding.score + weight * math.exp2(-age_days / half_life_days)

        has_conversations = any(one.passage.said_at is not None for one in found.findings)
        return found.rescored(self.name, aged) if weight > 0 and has_conversations else found
