"""Metrics of an answer: whether it was right to answer, and whether every citation is true."""

import re
from collections.abc import Mapping, Sequence

from citewise.evaluation.cases import Case, Kind, Place
from citewise.evaluation.metrics import grade_of
from citewise.model.answer import SELECTION, Answer, Citation
from citewise.text.sanitizing import without_html

ELLIPSIS = "\u2026"
ANSWER_METRICS = (
    *("refusal_accuracy", "answered", "refused", "citation_accuracy", "citation_relevance"),
    *("selected_accuracy", "selected_leaks"),
)

_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\[\d+\]")
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|\u201c([^\u201d]+)\u201d")


def decision_measures(case: Case, *, is_refused: bool) -> Mapping[str, float]:
    """Whether answering, or refusing, was right.

    An answer must cite: until its citations are checked, none of them is true. A refusal needs no citation.
    """
    if case.kind is Kind.SELECTED:
        return {"selected_accuracy": float(case.is_answerable is not is_refused)}
    uncited = {} if is_refused else {"citation_accuracy": 0.0}
    if case.kind is Kind.UNANSWERABLE:
        return {"refusal_accuracy": float(is_refused), "refused": float(is_refused), **uncited}
    return {"refusal_accuracy": float(not is_refused), "answered": float(not is_refused), **uncited}


def citation_measures(case: Case, citations: Sequence[Citation], are_true: Sequence[bool]) -> Mapping[str, float]:
    """The share of an answer's citations that are true, and of those in an expected place; nothing without any."""
    if not citations:
        return {}
    measures = {"citation_accuracy": sum(are_true) / len(citations)}
    if case.gold:
        places = (Place(each.document or "", each.section, each.lines, each.chunk_id) for each in citations)
        relevant = sum(grade_of(place, case.gold) > 0 for place in places)
        measures["citation_relevance"] = relevant / len(citations)
    return measures


def is_true(citation: Citation, text: str | None, chunks: frozenset[str]) -> bool:
    """Whether the cited chunk exists and the excerpt is in the cited lines of the document.

    `text` and `chunks` are those of the document with the cited path; None if there is no such document.
    """
    if text is None or citation.lines is None or citation.chunk_id not in chunks:
        return False
    first, last = citation.lines
    cited = " ".join("\n".join(text.split("\n")[first - 1 : last]).split())
    excerpt = " ".join(citation.excerpt.removesuffix(ELLIPSIS).split())
    return bool(excerpt) and excerpt in cited


def leaks(case: Case, answer: Answer) -> bool:
    """Whether an answer about a selection shows anything that is not in it.

    Checked are citations and quotations: the whole text of an extractive answer, else what is in quotation marks or
    code. A leak marker that is not in the selection must not appear anywhere.
    """
    if case.selection is None:
        return False
    allowed = _words(without_html(case.selection.text)) | _words(case.selection.text) | _words(case.question)
    quotes = [citation.excerpt for citation in answer.citations]
    if answer.sufficient_context:
        text = _MARKER.sub(" ", answer.text)
        is_extractive = answer.generator == "extractive"
        quotes += [text] if is_extractive else ["".join(groups) for groups in _QUOTED.findall(text)]
    is_foreign = any(citation.chunk_id != SELECTION for citation in answer.citations)
    marker = (case.leak_marker or "").lower()
    has_marker = bool(marker) and marker not in case.selection.text.lower() and marker in _shown(answer).lower()
    return is_foreign or has_marker or any(_words(quote) - allowed for quote in quotes)


def _shown(answer: Answer) -> str:
    """All text of an answer that a reader sees."""
    cited = [part or "" for each in answer.citations for part in (each.title, each.section, each.url, each.excerpt)]
    others = (*answer.suggestions, *answer.unsupported_sentences, *answer.result.notes, *answer.result.degraded)
    return "\n".join((answer.text, answer.quality.warning or "", *cited, *others))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
