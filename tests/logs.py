"""Rows of the query log for tests, with everything that does not matter filled in."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from citewise.model.access import OWNER, Principal, Scope
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.logged import Logged, RequestKind
from citewise.model.query import Query
from tests.builders import SCOPE, an_id

NOON = 1_767_268_800.0  # 2026-01-01 12:00 UTC
DAY = 86_400.0


def a_row(
    text: str | None = "When is the gauge read?",
    *,
    at: float = NOON,
    who: Principal = OWNER,
    scope: Scope = SCOPE,
    kind: RequestKind = "search",
    shown: Iterable[tuple[str, str]] = (),
    **changes: Any,
) -> Logged:
    row = Logged.of(Query("?", f"r-{text}-{at}", at, who, scope), kind, 0.0125)
    pairs = tuple((ChunkId(chunk), DocumentId(document)) for chunk, document in shown)
    return replace(row, **{"text": text, "candidates": 9, "hits": 3, "shown": pairs, **changes})


def a_document_id(name: str) -> DocumentId:
    return DocumentId(an_id(name))
