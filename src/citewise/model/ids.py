"""Names for things: how ids and hashes are made. Changing anything here changes every library (write an ADR)."""

import hashlib
from typing import NewType

from citewise.model.scope import Scope

DocumentId = NewType("DocumentId", str)  # 16 hex digits
ChunkId = NewType("ChunkId", str)  # 16 hex digits
Digest = NewType("Digest", str)  # 64 hex digits of SHA-256

_SEPARATOR = "\x1f"  # cannot occur in a scope, a path segment or an anchor, so no two inputs join to one string


def digest(*parts: str) -> Digest:
    """SHA-256 over the parts, kept apart."""
    return Digest(hashlib.sha256(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass")).hexdigest())


def digest_bytes(data: bytes) -> Digest:
    """SHA-256 of raw bytes."""
    return Digest(hashlib.sha256(data).hexdigest())


def document_id(scope: Scope, path: str) -> DocumentId:
    """The same for the same path in the same scope, on every machine."""
    return DocumentId(digest(scope.tenant, scope.project, path)[:16])


def chunk_id(scope: Scope, path: str, *, anchor: str, ordinal: int) -> ChunkId:
    """Depends on the section and the place within it, so an edit in another section changes no id (I11)."""
    return ChunkId(digest(scope.tenant, scope.project, path, anchor, str(ordinal))[:16])
