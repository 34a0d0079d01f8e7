"""Shortlist -> Shortlist: as many as were asked for."""

from dataclasses import dataclass
from typing import ClassVar

from citewise.model.ranking import Shortlist


@dataclass(frozen=True, slots=True)
class Cut:
    """Keep the first top_k."""

    name: ClassVar[str] = "cut"

    def __call__(self, found: Shortlist) -> Shortlist:
        beyond = found.findings[found.query.top_k :]
        return found.without(self.name, {one.candidate.id: f"beyond the first {found.query.top_k}" for one in beyond})
