"""Queries and shortlists for tests, with everything that does not matter filled in."""

from dataclasses import replace
from typing import Any

from citewise.model.access import OWNER
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Finding, Shortlist
from tests.builders import SCOPE, an_id
from tests.passages import a_passage

ASKED_AT = 1_700_000_000.0


def a_query(text: str = "When does the ferry leave?", **changes: Any) -> Query:
    return Query(
        **{"text": text, "request_id": "r-1", "asked_at": ASKED_AT, "principal": OWNER, "scope": SCOPE, **changes}
    )


def a_named_finding(name: object, score: float = 0.5, text: str = "The ferry leaves.", **changes: Any) -> Finding:
    """A finding in a document of its own, named after it."""
    passage = replace(a_passage(text, document=f"{name}.md"), chunk_id=an_id(name), **changes)
    return Finding(passage, Candidate(passage.chunk_id, score, {"fused": score}, {}))


def a_shortlist(*findings: Finding, query: Query | None = None) -> Shortlist:
    return Shortlist(query or a_query(), findings)
