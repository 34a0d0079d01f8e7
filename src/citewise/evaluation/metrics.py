"""Metrics of a ranking, computed as trec_eval does; tests/props/test_metrics.py compares them with ir-measures.
Metrics of an answer: whether it was right to answer, and whether every citation is true.

A ranking is given as the grades of its items, best first: 0 for what is irrelevant or not judged.
"""

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

from citewise.evaluation.cases import Case, Place, Unit
from citewise.model.answer import NOT_SURE, SELECTION, Answer, Citation
from citewise.text.analysis import terms
from citewise.text.cutting import ELLIPSIS
from citewise.text.sanitizing import without_html

NDCG_DEPTHS = (5, 10)
RECALL_DEPTHS = (1, 5, 10, 20, 100)
PRECISION_DEPTHS = (1, 5, 10)
RANK_DEPTH = 10
RANKING_METRICS = (
    *(f"ndcg@{depth}" for depth in NDCG_DEPTHS),
    *(f"recall@{depth}" for depth in RECALL_DEPTHS),
    *(f"precision@{depth}" for depth in PRECISION_DEPTHS),
    f"mrr@{RANK_DEPTH}",
)
ANSWER_METRICS = (
    *("refusal_accuracy", "answered", "refused", "coverage", "reference_recall", "first_source"),
    *("citation_accuracy", "citation_relevance", "selected_accuracy", "selected_leaks"),
)
LINE_WIDTH = 100  # columns of a screen on which the lines of an answer are counted

_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\[\d+\]")
_EMPHASIS = re.compile(r"[`*]+|__")
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|\u201c([^\u201d]+)\u201d")


def ranking_measures(gold: Sequence[Place], unit: Unit, places: Sequence[Place]) -> Mapping[str, float]:
    """Every metric of the places that a search found, in its order.

    As trec_eval for documents: everything with a grade is relevant, a document counts at its best passage. Passages
    are alternatives: one full answer among the hits is all that a reader needs, so recall is whether there is one.
    """
    judged = [place.grade for place in gold]
    graded = [grade_of(place, gold) for place in (documents_of(places) if unit == "document" else places)]
    if unit == "document":
        ordered, answers = graded, graded
        recalls = {depth: _relevant(graded[:depth]) / max(len(gold), 1) for depth in RECALL_DEPTHS}
    else:
        ordered, full = _folded(places, gold), max(judged, default=1)
        answers = [grade if grade == full else 0 for grade in graded]
        recalls = {depth: float(any(answers[:depth])) for depth in RECALL_DEPTHS}
    first = next((rank for rank, grade in enumerate(answers[:RANK_DEPTH], start=1) if grade), math.inf)
    return {
        **{f"ndcg@{depth}": ndcg(ordered, judged, depth) for depth in NDCG_DEPTHS},
        **{f"recall@{depth}": recall for depth, recall in recalls.items()},
        **{f"precision@{depth}": _relevant(graded[:depth]) / depth for depth in PRECISION_DEPTHS},
        f"mrr@{RANK_DEPTH}": 1 / first,
    }


def ndcg(ranked: Sequence[int], judged: Iterable[int], depth: int) -> float:
    """Discounted gain of the first `depth` items over that of the best possible order; gains are linear."""
    best = _gain(sorted(judged, reverse=True)[:depth])
    return _gain(ranked[:depth]) / best if best else 0.0


def grade_of(place: Place, gold: Iterable[Place]) -> int:
    """The best grade of a place; 0 if it answers nothing."""
    return max((expected.grade for expected in gold if expected.matches(place)), default=0)


def documents_of(places: Iterable[Place]) -> tuple[Place, ...]:
    """Each document once, at its best passage."""
    best: dict[str, Place] = {}
    for place in places:
        best.setdefault(place.document, place)
    return tuple(best.values())


def _gain(grades: Iterable[int]) -> float:
    return math.fsum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _relevant(grades: Iterable[int]) -> int:
    return sum(grade > 0 for grade in grades)


def _folded(places: Iterable[Place], gold: Sequence[Place]) -> list[int]:
    """The grades of a ranking in which each gold place counts once.

    A hit counts for every gold place that it is the first to show, best grade first. A hit that only repeats places
    shown before is left out. Any other hit counts as an item without a grade.
    """
    grades: list[int] = []
    shown: set[Place] = set()
    for place in places:
        matched = [expected for expected in gold if expected.matches(place)]
        new = [expected for expected in matched if expected not in shown]
        shown.update(new)
        grades += sorted((expected.grade for expected in new), reverse=True) if matched else [0]
    return grades


def answer_measures(
    case: Case, answer: Answer, stored: Callable[[str], tuple[str | None, frozenset[str]]]
) -> Mapping[str, float]:
    """Every metric of an answer. `stored` gives the text (None: no such document) and the chunk ids at a path."""
    is_answered, is_shown = answer.outcome == "answered", answer.outcome != "nothing"
    if case.kind == "selected":
        is_right = case.is_answerable is is_answered
        return {"selected_accuracy": float(is_right), "selected_leaks": float(_leaks(case, answer))}
    # Not to be sure is half right, whether there is an answer or not.
    certainty = {"answered": 1.0, "unsure": 0.5, "nothing": 0.0}[answer.outcome]
    if case.kind == "answerable":
        measures = {"refusal_accuracy": certainty, "answered": float(is_answered)}
    else:
        measures = {"refusal_accuracy": 1 - certainty, "refused": float(not is_shown)}
    cited = answer.citations
    if is_shown or cited:  # an answer must cite, a refusal need not
        true = sum(_is_true(citation, *stored(citation.document or "")) for citation in cited)
        measures["citation_accuracy"] = true / max(len(cited), 1)
    if cited and case.gold:
        places = (Place(source.document or "", source.section, source.lines, source.chunk_id) for source in cited)
        grades = [grade_of(place, case.gold) for place in places]
        measures["citation_relevance"] = _relevant(grades) / len(cited)
        measures["first_source"] = float(grades[0] == max(place.grade for place in case.gold))
    if case.must_say or case.must_not:
        measures["coverage"] = float(is_shown and _says_all(case, answer.text))
    if case.answer and is_shown:
        asked = terms(case.answer).stems
        measures["reference_recall"] = len(asked & terms(answer.text).stems) / max(len(asked), 1)
    return measures


def _says_all(case: Case, text: str) -> bool:
    """Whether a text has everything that an answer must say, and nothing that it must not; marks do not matter."""
    plain = _plain(text)
    has_all = all(any(_plain(way) in plain for way in wanted.split(" || ")) for wanted in case.must_say)
    return has_all and not any(_plain(unwanted) in plain for unwanted in case.must_not)


def lines_of(text: str) -> int:
    """The lines of a text on a screen of LINE_WIDTH columns."""
    return sum(max(1, len(textwrap.wrap(line, LINE_WIDTH))) for line in text.splitlines())


def _plain(text: str) -> str:
    return " ".join(_EMPHASIS.sub("", text).lower().split())


def _is_true(citation: Citation, text: str | None, chunks: frozenset[str]) -> bool:
    """Whether the cited chunk exists and the excerpt is in the cited lines of the document at the cited path."""
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
    assert case.selection is not None
    allowed = _words(without_html(case.selection.text)) | _words(case.selection.text) | _words(case.question)
    quotes = [citation.excerpt for citation in answer.citations]
    if answer.outcome != "nothing":
        text = _MARKER.sub(" ", answer.text.removeprefix(NOT_SURE))
        is_extractive = answer.generator == "extractive"
        quotes += [text] if is_extractive else ["".join(groups) for groups in _QUOTED.findall(text)]
    is_foreign = any(citation.chunk_id != SELECTION for citation in answer.citations)
    marker = (case.leak_marker or "").lower()
    has_marker = bool(marker) and marker not in case.selection.text.lower() and marker in _shown(answer).lower()
    return is_foreign or has_marker or any(_words(quote) - allowed for quote in quotes)


def _shown(answer: Answer) -> str:
    """All text of an answer that a reader sees."""
    cited = (part for at in answer.citations for part in (at.title, at.section, at.url, at.excerpt))
    suggested = (part for at in answer.suggestions for part in (at.title, at.document, at.url))
    others = (*suggested, *answer.unsupported_sentences, *answer.result.notes, *answer.result.degraded)
    return "\n".join(filter(None, (answer.text, answer.quality.warning, *cited, *others)))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
