"""Rows of the query log for tests, with everything that does not matter filled in."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from citewise.model.access import OWNER, Principal, Scope
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.logged import Asker, Logged, RequestKind, ShownChunk
from tests.builders import SCOPE, an_id

NOON = 1_767_268_800.0  # 2026-01-01 12:00 UTC
DAY = 86_400.0


def a_row(
    text: str | None = "When is the gauge read?",
    *,
    at: float = NOON,
    who: Principal = OWNER,
    scope: Scope = SCOPE,
    kind: RequestKind = RequestKind.SEARCH,
    shown: Iterable[tuple[str, str]] = (),
    **changes: Any,
) -> Logged:
    row = Logged(at, f"r-{text}-{at}", scope, kind, Asker.of(who), text, latency_ms=12.5, candidates=9, hits=3)
    pairs = tuple(ShownChunk(ChunkId(chunk), DocumentId(document)) for chunk, document in shown)
    return replace(row, shown=pairs, **changes)


def a_document_id(name: str) -> DocumentId:
    return DocumentId(an_id(name))
