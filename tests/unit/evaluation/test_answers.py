"""Whether it was right to answer, and whether what is cited and quoted is true."""

from dataclasses import replace

import pytest

from citewise.evaluation.cases import Case, Gold, Kind
from citewise.evaluation.metrics import (
    ANSWER_METRICS,
    _citation_measures,
    _decision_measures,
    _is_true,
    _leaks,
)
from citewise.model.access import OWNER
from citewise.model.answer import SELECTION, Answer, Citation, Quality, Usage
from citewise.model.query import Query, Selection
from citewise.model.ranking import SearchResult
from tests.builders import an_id

TEXT = "# Tides\n\nThe gauge is read\nat noon, and at midnight.\n\nWinds are not.\n"
HELD = frozenset({str(an_id("tides"))})
CITED = Citation(
    n=1,
    chunk_id=an_id("tides"),
    document_id="d",
    document="a.md",
    title="Tides",
    section="Tides",
    breadcrumb=("Tides",),
    url=None,
    module=None,
    chapter=None,
    lines=(3, 4),
    page=None,
    excerpt="The gauge is read at noon,\u2026",
    score=1.0,
)
SELECTED = Case(
    "s",
    "Which lamp burns?",
    Kind.SELECTED,
    selection=Selection("The <b>red</b> lamp burns at [night](x.md)."),
    leak_marker="green buoy",
)


def an_answer(text: str, *, generator: str = "extractive", is_refused: bool = False) -> Answer:
    citation = replace(CITED, chunk_id=SELECTION, excerpt="The red lamp burns", lines=None)
    return Answer(
        SearchResult(Query("?!a", "r", 0.0, OWNER), (), 0, {}),
        text,
        generator,
        sufficient_context=not is_refused,
        citations=(citation,),
        removed_markers=0,
        unsupported_sentences=(),
        quality=Quality(None, None, None, None, None),
        usage=Usage(0, 0, 0, 0),
    )


def test_a_true_citation_is_true() -> None:
    assert _is_true(CITED, TEXT, HELD)


@pytest.mark.parametrize(
    "citation",
    [
        replace(CITED, lines=(6, 6)),
        replace(CITED, lines=None),
        replace(CITED, excerpt="The gauge is read at dawn"),
        replace(CITED, excerpt="\u2026"),
        replace(CITED, chunk_id=an_id("winds")),
    ],
)
def test_a_citation_of_other_lines_words_or_chunks_is_false(citation: Citation) -> None:
    assert not _is_true(citation, TEXT, HELD)


def test_a_citation_of_no_document_is_false() -> None:
    assert not _is_true(CITED, None, HELD)


def test_citations_count_by_their_share() -> None:
    case = Case("q", "?", Kind.ANSWERABLE, gold=(Gold("a.md", first_line=4, last_line=9), Gold("c.md")))
    other = replace(CITED, document="b.md")
    assert _citation_measures(case, [CITED, other], [True, False]) == {
        "citation_accuracy": 0.5,
        "citation_relevance": 0.5,
    }
    assert _citation_measures(case, [], []) == {}
    assert _citation_measures(replace(case, gold=()), [CITED], [True]) == {"citation_accuracy": 1.0}


def test_an_answer_owes_a_citation_and_a_refusal_none() -> None:
    case = Case("q", "?", Kind.ANSWERABLE, gold=(Gold("a.md"),))

    def accuracy(citations: list[Citation], *, is_refused: bool) -> float | None:
        decided = _decision_measures(case, is_refused=is_refused)
        return {**decided, **_citation_measures(case, citations, [True] * len(citations))}.get("citation_accuracy")

    assert accuracy([CITED], is_refused=False) == 1.0
    assert accuracy([], is_refused=False) == 0.0
    assert accuracy([], is_refused=True) is None


@pytest.mark.parametrize(
    ("case", "is_refused", "measures"),
    [
        (
            Case("q", "?", Kind.ANSWERABLE),
            False,
            {"refusal_accuracy": 1.0, "answered": 1.0, "citation_accuracy": 0.0},
        ),
        (Case("q", "?", Kind.ANSWERABLE), True, {"refusal_accuracy": 0.0, "answered": 0.0}),
        (Case("q", "?", Kind.UNANSWERABLE), True, {"refusal_accuracy": 1.0, "refused": 1.0}),
        (
            Case("q", "?", Kind.UNANSWERABLE),
            False,
            {"refusal_accuracy": 0.0, "refused": 0.0, "citation_accuracy": 0.0},
        ),
        (SELECTED, False, {"selected_accuracy": 1.0}),
        (SELECTED, True, {"selected_accuracy": 0.0}),
        (replace(SELECTED, is_answerable=False), True, {"selected_accuracy": 1.0}),
        (replace(SELECTED, is_answerable=False), False, {"selected_accuracy": 0.0}),
    ],
)
def test_answering_is_right_where_there_is_an_answer(case: Case, is_refused: bool, measures: dict[str, float]) -> None:
    found = _decision_measures(case, is_refused=is_refused)
    assert found == measures
    assert found.keys() <= set(ANSWER_METRICS)


@pytest.mark.parametrize(
    ("text", "generator"),
    [
        ("The red lamp burns at night. [1]", "extractive"),
        ("It is the crimson one, which glows. [1]", "some-model"),
        ("The text calls it a \u201cred lamp\u201d and `burns`. [1]", "some-model"),
    ],
)
def test_what_stands_in_the_selection_is_no_leak(text: str, generator: str) -> None:
    assert not _leaks(SELECTED, an_answer(text, generator=generator))


@pytest.mark.parametrize(
    ("text", "generator"),
    [
        ("The red lamp burns beside the pier. [1]", "extractive"),
        ("The text says \u201cbeside the pier\u201d. [1]", "some-model"),
        ("Not here, but the green buoy blinks. [1]", "some-model"),
    ],
)
def test_what_stands_elsewhere_is_a_leak(text: str, generator: str) -> None:
    assert _leaks(SELECTED, an_answer(text, generator=generator))


def test_a_citation_of_the_library_is_a_leak() -> None:
    answer = an_answer("The red lamp burns. [1]")
    assert _leaks(SELECTED, replace(answer, citations=(CITED,)))
    foreign = replace(answer.citations[0], excerpt="The gauge is read")
    assert _leaks(SELECTED, replace(answer, citations=(foreign,)))


def test_the_leak_marker_is_looked_for_in_all_that_is_shown() -> None:
    refused = an_answer("The selected text does not answer this.", is_refused=True)
    assert _leaks(SELECTED, replace(refused, suggestions=("The green buoy",)))
    assert _leaks(SELECTED, replace(refused, result=replace(refused.result, notes=("green buoy",))))
    assert _leaks(SELECTED, replace(refused, unsupported_sentences=("A Green Buoy.",)))


def test_a_refusal_quotes_nothing() -> None:
    assert not _leaks(SELECTED, an_answer("The selected text does not answer this.", is_refused=True))
    assert not _leaks(Case("q", "?", Kind.ANSWERABLE), an_answer("anything"))
