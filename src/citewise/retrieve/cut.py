"""Shortlist -> Shortlist: as many as were asked for."""

from dataclasses import dataclass
from typing import ClassVar

from citewise.model.ranking import Shortlist


@dataclass(frozen=True, slots=True)
class Cut:
    """Keep the first top_k."""

    name: ClassVar[str] = "cut"

    def __call__(self, found: Shortlist) -> Shortlist:
        top_k = found.query.top_k
        beyond = [one.candidate.id for one in found.findings[top_k:]]
        return found.without(self.name, dict.fromkeys(beyond, f"beyond the first {top_k}")) if beyond else found
