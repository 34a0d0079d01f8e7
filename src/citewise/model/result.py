"""What a search gives back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from citewise.model.query import Mode, Query
from citewise.model.ranking import Dropped, Finding


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Findings, best first, and how they came about (Q17)."""

    query: Query
    findings: tuple[Finding, ...]
    total_candidates: int  # different chunks that any ranking found
    timings_ms: Mapping[str, float]
    counts: Mapping[str, int] = field(default_factory=dict)  # candidates, hydrated, then what each stage left
    dropped: tuple[Dropped, ...] = ()
    degraded: tuple[str, ...] = ()  # what should have worked and did not
    notes: tuple[str, ...] = ()  # what was not asked for or is not there
    mode: Mode = Mode.NORMAL
    cache_hit: bool = False
    next_cursor: str | None = None  # where the page after this one begins; None on the last
