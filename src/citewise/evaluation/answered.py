"""What an answer is worth: whether it was right to answer, and whether every citation is true."""

import re
from collections.abc import Mapping, Sequence

from citewise.evaluation.cases import Case, Kind
from citewise.evaluation.matching import grade_of
from citewise.evaluation.runs import Place
from citewise.model.answer import SELECTION, Answer, Citation
from citewise.text.html import without_html

ELLIPSIS = "\u2026"
ANSWER_METRICS = (
    *("refusal_accuracy", "answered", "refused", "citation_accuracy", "citation_relevance"),
    *("selected_accuracy", "selected_leaks"),
)

_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\[\d+\]")
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|\u201c([^\u201d]+)\u201d")


def decision_measures(case: Case, *, is_refused: bool) -> Mapping[str, float]:
    """Whether answering, or not answering, was right. Whoever answers must cite: until its citations are looked at,
    an answer has none that is true. A refusal owes none."""
    if case.kind is Kind.SELECTED:
        return {"selected_accuracy": float(case.is_answerable is not is_refused)}
    uncited = {} if is_refused else {"citation_accuracy": 0.0}
    if case.kind is Kind.UNANSWERABLE:
        return {"refusal_accuracy": float(is_refused), "refused": float(is_refused), **uncited}
    return {"refusal_accuracy": float(not is_refused), "answered": float(not is_refused), **uncited}


def citation_measures(case: Case, citations: Sequence[Citation], are_true: Sequence[bool]) -> Mapping[str, float]:
    """The share of an answer's citations that are true, and of those that stand where an answer was expected.

    Nothing for an answer without any: `decision_measures` has said what that is worth.
    """
    if not citations:
        return {}
    measures = {"citation_accuracy": sum(are_true) / len(citations)}
    if case.gold:
        relevant = sum(grade_of(place_of_citation(one), case.gold) > 0 for one in citations)
        measures["citation_relevance"] = relevant / len(citations)
    return measures


def place_of_citation(citation: Citation) -> Place:
    first, last = citation.lines or (None, None)
    return Place(citation.document or "", citation.section, first, last, citation.chunk_id)


def is_true(citation: Citation, text: str | None, chunks: frozenset[str]) -> bool:
    """Whether the cited chunk exists and the excerpt stands in the document's text within the cited lines.

    `text` and `chunks` are what the catalog holds under the cited path; None: no such document.
    """
    if text is None or citation.lines is None or citation.chunk_id not in chunks:
        return False
    first, last = citation.lines
    cited = " ".join("\n".join(text.split("\n")[first - 1 : last]).split())
    excerpt = " ".join(citation.excerpt.removesuffix(ELLIPSIS).split())
    return bool(excerpt) and excerpt in cited


def leaks(case: Case, answer: Answer) -> bool:
    """Whether an answer from a selection shows anything that does not stand in it (Q13).

    Looked at are citations and what is quoted: all of it where the generator quotes, else what stands in quotation
    marks or code. A leak marker, which the selection does not hold, must not turn up in anything that is shown.
    """
    if case.selection is None:
        return False
    allowed = _words(without_html(case.selection.text)) | _words(case.selection.text) | _words(case.question)
    shown = [one.excerpt for one in answer.citations]
    if answer.sufficient_context:
        shown += _quotes(answer)
    is_foreign = any(one.chunk_id != SELECTION for one in answer.citations)
    marker = (case.leak_marker or "").lower()
    has_marker = bool(marker) and marker not in case.selection.text.lower() and marker in _everything(answer).lower()
    return is_foreign or has_marker or any(_words(text) - allowed for text in shown)


def _everything(answer: Answer) -> str:
    """All words that somebody sees of an answer."""
    cited = [part or "" for one in answer.citations for part in (one.title, one.section, one.url, one.excerpt)]
    others = (*answer.suggestions, *answer.unsupported_sentences, *answer.result.notes, *answer.result.degraded)
    return "\n".join((answer.text, answer.quality.warning or "", *cited, *others))


def _quotes(answer: Answer) -> list[str]:
    text = _MARKER.sub(" ", answer.text)
    if answer.generator == "extractive":
        return [text]
    return ["".join(groups) for groups in _QUOTED.findall(text)]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
