"""Reports: what ingestion, checks and maintenance did, and what a library was built with."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias

from citewise.model.chunk import ChunkCounts
from citewise.model.document import AccessRule, FileProblem, Json

FileOutcome: TypeAlias = Literal["ingested", "unchanged", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class FileDone:
    """A file is done. An ingested file is announced when it is stored."""

    path: str
    outcome: FileOutcome
    size: int
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class AccessNote:
    """A document whose access rule is not what was said of it, and why. Not reached: more may read it than was said."""

    path: str
    said: str
    access: str
    reason: str
    is_reached: bool = True

    @property
    def difference(self) -> str:
        return f"for {self.access}" + ("" if self.access == self.said else f", not {self.said}")


@dataclass(frozen=True, slots=True)
class DocumentAccess:
    """Who may read a document, and what that rests on."""

    document: str
    access: tuple[str, ...]
    reason: str  # why it is not what was said of its path; empty: it is
    said: tuple[AccessRule, ...]  # the rules that cover its path, in the order in which they count
    own: tuple[str, ...]
    aliases: tuple[str, ...]  # other paths of its file
    is_inherited: bool  # whether only what was known before closes it, which `--widen` opens
    file: str  # where it was read from; empty: its source is no folder
    stale: str  # why its file could not be read since


@dataclass(frozen=True, slots=True)
class Walked:
    """The walk is over: this much there is to look at."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """So many more texts have been embedded."""

    texts: int


@dataclass(frozen=True, slots=True)
class Step:
    """How far a task of an evaluation is."""

    task: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The account, and the last event of an ingestion."""

    ingested: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: tuple[FileProblem, ...] = ()  # files and folders
    failed: tuple[FileProblem, ...] = ()  # the library keeps what it had of them
    warnings: tuple[FileProblem, ...] = ()  # of files that were ingested all the same
    access: tuple[AccessNote, ...] = ()  # documents whose rule is not what was said
    chunks: ChunkCounts = field(default_factory=ChunkCounts)
    embedded: int = 0
    masked: Counter[str] = field(default_factory=Counter)  # kinds of secrets and how many were masked
    seconds: float = 0.0
    kept: int = 0  # documents that are gone from disk, and were too many to be removed unasked

    def __add__(self, other: "IngestReport") -> "IngestReport":
        """Several sources' reports as one."""
        return IngestReport(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def summary(self, finished_at: str) -> Mapping[str, Json]:
        """What is remembered of the last ingestion, by the names that `citewise status --json` shows."""
        return {
            "finished_at": finished_at,  # ISO 8601, UTC
            "seen": self.seen,
            "ingested": self.ingested,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "failed": len(self.failed),
            "seconds": round(self.seconds, 3),
        }

    @property
    def is_complete(self) -> bool:
        """Whether the library is now what its sources are, and every rule that was given holds."""
        return not self.failed and not self.kept and all(note.is_reached for note in self.access)

    @property
    def files_skipped(self) -> int:
        return sum(not entry.path.endswith("/") for entry in self.skipped)

    @property
    def seen(self) -> int:
        """Files, whatever became of them."""
        return self.ingested + self.unchanged + self.files_skipped + len(self.failed)

    @property
    def folders_left_out(self) -> int:
        """Hidden and vendored folders, which no include names."""
        return sum(entry.is_by_default for entry in self.skipped)

    @property
    def chunks_per_second(self) -> float:
        changed = self.chunks.created + self.chunks.updated
        return changed / self.seconds if self.seconds > 0 else 0.0


IngestEvent: TypeAlias = Walked | Embedded | FileDone | IngestReport


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; a problem comes with its remedy."""

    name: str
    detail: str
    remedy: str = ""

    @property
    def is_ok(self) -> bool:
        return not self.remedy


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction did."""

    bytes_before: int  # of the catalog and the indexes
    bytes_after: int
    is_complete: bool  # False: another process was reading, so deleted content may still be on disk


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How far a reindexing is, and what it did when it is done."""

    chunks: int = 0
    embedded: int = 0  # texts that were embedded again
    is_reembedded: bool = False  # the whole library was built again, not the indexes alone


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """How much one scope holds, and how far its index has followed the log."""

    tenant: str
    project: str
    documents: int
    chunks: int
    log_position: int
    index_position: int


@dataclass(frozen=True, slots=True)
class Status:
    """A library at a glance."""

    library: str
    embedding_model: str
    dimensions: int
    chunker: str
    engines: Mapping[str, str]
    scopes: tuple[ScopeStatus, ...]
    catalog_bytes: int
    index_bytes: int
    last_ingest: Mapping[str, Json] | None  # as IngestReport.summary gives it
    problems: tuple[str, ...]

    @property
    def documents(self) -> int:
        return sum(scope.documents for scope in self.scopes)

    @property
    def chunks(self) -> int:
        return sum(scope.chunks for scope in self.scopes)


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """What a library was built with: the embedding model, the chunkers and the analyzer of terms."""

    model: str
    dimensions: int
    window_tokens: int
    chunkers: Mapping[str, str]  # media type -> version of the chunker
    analyzer: str

    def differences(self, ours: "LibraryFacts") -> tuple[str, ...]:
        """In words, what keeps this library and those settings apart.

        The analyzer's work is redone unasked, and a new kind of document changes no old one.
        """
        named = [
            ("embedding model", self.model, ours.model),
            ("dimensions", self.dimensions, ours.dimensions),
            ("window", self.window_tokens, ours.window_tokens),
        ]
        common = sorted(self.chunkers.keys() & ours.chunkers.keys())
        named += [(f"chunker of {kind}", self.chunkers[kind], ours.chunkers[kind]) for kind in common]
        return tuple(f"{name} is {theirs}, the settings say {mine}" for name, theirs, mine in named if theirs != mine)
