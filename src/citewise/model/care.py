"""What a library says about its own state."""

from collections.abc import Mapping
from dataclasses import dataclass

from citewise.model.block import Json


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
    """What giving room back did."""

    bytes_before: int
    bytes_after: int
    is_complete: (
        bool  # False: another process was reading: some of it may still lie beside the catalog or in held pages
    )


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
    last_ingest: Mapping[str, Json] | None
    problems: tuple[str, ...]

    @property
    def documents(self) -> int:
        return sum(scope.documents for scope in self.scopes)

    @property
    def chunks(self) -> int:
        return sum(scope.chunks for scope in self.scopes)
