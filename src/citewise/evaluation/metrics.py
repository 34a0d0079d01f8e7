"""Metrics of a ranking, computed as trec_eval does; tests/props/test_metrics.py compares them with ir-measures.

A ranking is given as the grades of its items, best first: 0 for what is irrelevant or not judged.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from citewise.evaluation.cases import Case, Gold, JudgedUnit, Kind, Place
from citewise.model.answer import SELECTION, Answer, Citation
from citewise.text.sanitizing import without_html

NDCG_DEPTHS = (5, 10)
RECALL_DEPTHS = (1, 5, 10, 20, 100)
PRECISION_DEPTHS = (1, 5, 10)
RANK_DEPTH = 10
RANKING_METRICS = (
    *(f"ndcg@{depth}" for depth in NDCG_DEPTHS),
    *(f"{name}@{depth}" for name in ("recall", "gold_recall") for depth in RECALL_DEPTHS),
    *(f"{name}@{depth}" for name in ("precision", "success") for depth in PRECISION_DEPTHS),
    f"mrr@{RANK_DEPTH}",
)


def ndcg(ranked: Sequence[int], judged: Iterable[int], depth: int) -> float:
    """Discounted gain of the first `depth` items over that of the best possible order; gains are linear."""
    best = _gain(sorted((grade for grade in judged if grade > 0), reverse=True)[:depth])
    return _gain(ranked[:depth]) / best if best else 0.0


def recall(ranked: Sequence[int], relevant: int, depth: int) -> float:
    """The share of all relevant items that are among the first `depth`."""
    return _relevant(ranked[:depth]) / relevant if relevant else 0.0


def precision(ranked: Sequence[int], depth: int) -> float:
    """The share of the first `depth` ranks that hold something relevant; an empty rank holds nothing."""
    return _relevant(ranked[:depth]) / depth


def _reciprocal_rank(ranked: Sequence[int], depth: int) -> float:
    """One over the rank of the first relevant item; 0 if it is not among the first `depth`."""
    return next((1 / rank for rank, grade in enumerate(ranked[:depth], start=1) if grade > 0), 0.0)


def success(ranked: Sequence[int], depth: int) -> float:
    """1 if anything relevant is among the first `depth`."""
    return float(_relevant(ranked[:depth]) > 0)


def _gain(grades: Iterable[int]) -> float:
    return math.fsum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _relevant(grades: Iterable[int]) -> int:
    return sum(grade > 0 for grade in grades)


def ranking_measures(gold: Sequence[Gold], unit: JudgedUnit, places: Sequence[Place]) -> Mapping[str, float]:
    """Every metric of the places that a search found, in its order."""
    return _document_measures(gold, places) if unit is JudgedUnit.DOCUMENT else _passage_measures(gold, places)


def grade_of(place: Place, gold: Iterable[Gold]) -> int:
    """The best grade of a place; 0 if it answers nothing."""
    return max((each.grade for each in gold if each.matches(place)), default=0)


def documents_of(places: Iterable[Place]) -> tuple[Place, ...]:
    """Each document once, at its best passage."""
    best: dict[str, Place] = {}
    for place in places:
        best.setdefault(place.document, place)
    return tuple(best.values())


def _folded(places: Iterable[Place], gold: Sequence[Gold]) -> tuple[int, ...]:
    """The grades of a ranking in which each gold place counts once.

    A hit counts for every gold place that it is the first to show, best grade first. A hit that only repeats places
    shown before is left out. Any other hit counts as an item without a grade.
    """
    grades: list[int] = []
    shown: set[Gold] = set()
    for place in places:
        here = [each for each in gold if each.matches(place)]
        new = [each for each in here if each not in shown]
        shown.update(new)
        if not here:
            grades.append(0)
        grades += sorted((each.grade for each in new), reverse=True)
    return tuple(grades)


def _document_measures(gold: Sequence[Gold], places: Sequence[Place]) -> dict[str, float]:
    """As trec_eval: everything with a grade is relevant, a document counts at its best passage."""
    ranked = [grade_of(place, gold) for place in documents_of(places)]
    judged = [each.grade for each in gold]
    return {
        **{f"ndcg@{depth}": ndcg(ranked, judged, depth) for depth in NDCG_DEPTHS},
        **{f"recall@{depth}": recall(ranked, len(judged), depth) for depth in RECALL_DEPTHS},
        **{f"precision@{depth}": precision(ranked, depth) for depth in PRECISION_DEPTHS},
        **{f"success@{depth}": success(ranked, depth) for depth in PRECISION_DEPTHS},
        f"mrr@{RANK_DEPTH}": _reciprocal_rank(ranked, RANK_DEPTH),
    }


def _passage_measures(gold: Sequence[Gold], places: Sequence[Place]) -> dict[str, float]:
    """Gold places are alternatives: one full answer among the hits is all that a reader needs."""
    ranked = _folded(places, gold)
    judged = [each.grade for each in gold]
    full = [grade_of(place, [each for each in gold if each.grade == max(judged)]) for place in places]
    any_grade = [grade_of(place, gold) for place in places]

    def gold_recall(depth: int) -> float:
        found = sum(any(each.matches(place) for place in places[:depth]) for each in gold)
        return found / len(gold) if gold else 0.0

    return {
        **{f"ndcg@{depth}": ndcg(ranked, judged, depth) for depth in NDCG_DEPTHS},
        **{f"recall@{depth}": success(full, depth) for depth in RECALL_DEPTHS},
        **{f"gold_recall@{depth}": gold_recall(depth) for depth in RECALL_DEPTHS},
        **{f"precision@{depth}": precision(any_grade, depth) for depth in PRECISION_DEPTHS},
        f"mrr@{RANK_DEPTH}": _reciprocal_rank(full, RANK_DEPTH),
    }


# Answers: whether it was right to answer, and whether every citation is true


ELLIPSIS = "\u2026"
ANSWER_METRICS = (
    *("refusal_accuracy", "answered", "refused", "citation_accuracy", "citation_relevance"),
    *("selected_accuracy", "selected_leaks"),
)

_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\[\d+\]")
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|\u201c([^\u201d]+)\u201d")


def answer_measures(
    case: Case, answer: Answer, stored: Callable[[str], tuple[str | None, frozenset[str]]]
) -> Mapping[str, float]:
    """Every metric of an answer. `stored` gives the text (None: no such document) and the chunk ids at a path."""
    decision = _decision_measures(case, is_refused=not answer.sufficient_context)
    if case.kind is Kind.SELECTED:
        return {**decision, "selected_leaks": float(_leaks(case, answer))}
    are_true = [_is_true(each, *stored(each.document or "")) for each in answer.citations]
    return {**decision, **_citation_measures(case, answer.citations, are_true)}


def _decision_measures(case: Case, *, is_refused: bool) -> Mapping[str, float]:
    """Whether answering, or refusing, was right.

    An answer must cite: until its citations are checked, none of them is true. A refusal needs no citation.
    """
    if case.kind is Kind.SELECTED:
        return {"selected_accuracy": float(case.is_answerable is not is_refused)}
    uncited = {} if is_refused else {"citation_accuracy": 0.0}
    if case.kind is Kind.UNANSWERABLE:
        return {"refusal_accuracy": float(is_refused), "refused": float(is_refused), **uncited}
    return {"refusal_accuracy": float(not is_refused), "answered": float(not is_refused), **uncited}


def _citation_measures(case: Case, citations: Sequence[Citation], are_true: Sequence[bool]) -> Mapping[str, float]:
    """The share of an answer's citations that are true, and of those in an expected place; nothing without any."""
    if not citations:
        return {}
    measures = {"citation_accuracy": sum(are_true) / len(citations)}
    if case.gold:
        places = (Place(each.document or "", each.section, each.lines, each.chunk_id) for each in citations)
        relevant = sum(grade_of(place, case.gold) > 0 for place in places)
        measures["citation_relevance"] = relevant / len(citations)
    return measures


def _is_true(citation: Citation, text: str | None, chunks: frozenset[str]) -> bool:
    """Whether the cited chunk exists and the excerpt is in the cited lines of the document.

    `text` and `chunks` are those of the document with the cited path; None if there is no such document.
    """
    if text is None or citation.lines is None or citation.chunk_id not in chunks:
        return False
    first, last = citation.lines
    cited = " ".join("\n".join(text.split("\n")[first - 1 : last]).split())
    excerpt = " ".join(citation.excerpt.removesuffix(ELLIPSIS).split())
    return bool(excerpt) and excerpt in cited


def _leaks(case: Case, answer: Answer) -> bool:
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
