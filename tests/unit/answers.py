"""Answers for unit tests, with everything that does not matter filled in."""

from dataclasses import replace
from typing import Any

from citewise.model.answer import Answer, Citation, Quality, Usage
from citewise.model.ranking import SearchResult


def an_answer(result: SearchResult, text: str, *citations: Citation, **changes: Any) -> Answer:
    answer = Answer(
        result,
        text,
        "extractive",
        outcome="answered",
        citations=citations,
        removed_markers=0,
        unsupported_sentences=(),
        quality=Quality(0.9, 0.9, 0.9, 1.0, 1.0),
        usage=Usage(10, 10, 12, 8),
    )
    return replace(answer, **changes)
