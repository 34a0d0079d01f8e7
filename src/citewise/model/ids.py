"""Names for things: how ids and hashes are made. Changing anything here changes every library (write an ADR)."""

import hashlib
from typing import NewType

from citewise.model.access import Scope

DocumentId = NewType("DocumentId", str)  # 16 hex digits
ChunkId = NewType("ChunkId", str)  # 16 hex digits
Digest = NewType("Digest", str)  # 64 hex digits of SHA-256


def digest(*parts: str | bytes) -> Digest:
    """SHA-256 over the parts, each behind its length, so that no two lists of parts look the same."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(data))
        hashed.update(data)
    return Digest(hashed.hexdigest())


def document_id(scope: Scope, path: str) -> DocumentId:
    """The same for the same path in the same scope, on every machine."""
    return DocumentId(digest(scope.tenant, scope.project, path)[:16])


def chunk_id(scope: Scope, path: str, *, anchor: str, ordinal: int) -> ChunkId:
    """Depends on the section and the place within it, so an edit in another section changes no id."""
    return ChunkId(digest(scope.tenant, scope.project, path, anchor, str(ordinal))[:16])
