"""What an ingestion says about itself, while it runs and when it is done."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from citewise.model.change import ChunkCounts
from citewise.model.source import Skipped


class Outcome(StrEnum):
    INGESTED = "ingested"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Failed:
    """A file that could not be ingested; what the library held of it before is still there."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FileDone:
    """One file is settled. When an ingested one is announced, it is safe on disk."""

    path: str
    outcome: Outcome
    size: int
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class Walked:
    """The walk is over: this much there is to look at."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """So many more texts have been embedded."""

    texts: int


Event = FileDone | Walked | Embedded


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The account: seen = ingested + unchanged + skipped + failed."""

    seen: int = 0
    ingested: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()
    warnings: tuple[Failed, ...] = ()  # of files that were ingested all the same
    chunks: ChunkCounts = field(default_factory=ChunkCounts)
    embedded: int = 0
    masked: Mapping[str, int] = field(default_factory=dict)  # kinds of secrets and how many were masked
    seconds: float = 0.0

    def __add__(self, other: "IngestReport") -> "IngestReport":
        """Several sources' reports as one."""
        return IngestReport(
            seen=self.seen + other.seen,
            ingested=self.ingested + other.ingested,
            unchanged=self.unchanged + other.unchanged,
            removed=self.removed + other.removed,
            skipped=self.skipped + other.skipped,
            failed=self.failed + other.failed,
            warnings=self.warnings + other.warnings,
            chunks=self.chunks + other.chunks,
            embedded=self.embedded + other.embedded,
            masked=Counter(self.masked) + Counter(other.masked),
            seconds=self.seconds + other.seconds,
        )

    @property
    def chunks_per_second(self) -> float:
        changed = self.chunks.created + self.chunks.updated
        return changed / self.seconds if self.seconds > 0 else 0.0
