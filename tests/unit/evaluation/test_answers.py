"""Whether it was right to answer, and whether what is cited and quoted is true."""

from dataclasses import replace
from typing import Any

import pytest

from citewise.evaluation.cases import Case, Place
from citewise.evaluation.metrics import ANSWER_METRICS, answer_measures, lines_of
from citewise.model.access import OWNER
from citewise.model.answer import NOT_SURE, SELECTION, Answer, Citation, Outcome, Suggestion
from citewise.model.query import Query, Selection
from citewise.model.ranking import SearchResult
from tests.builders import an_id
from tests.contexts import a_source
from tests.unit.answers import an_answer

TEXT = "# Tides\n\nThe gauge is read\nat noon, and at midnight.\n\nWinds are not.\n"
HELD = frozenset({str(an_id("tides"))})
CITED = replace(
    a_source(1, "The gauge is read at noon,\u2026").citation,
    chunk_id=an_id("tides"),
    document="a.md",
    section="Tides",
    lines=(3, 4),
)
FROM_SELECTION = replace(CITED, chunk_id=SELECTION, excerpt="The red lamp burns", lines=None)
SELECTED = Case(
    "s",
    "Which lamp burns?",
    "selected",
    selection=Selection("The <b>red</b> lamp burns at [night](x.md)."),
    leak_marker="green buoy",
)


QUESTION = Case("q", "?", "answerable", gold=(Place("a.md", lines=(4, 9), grade=1), Place("c.md", grade=1)))


NOTHING = SearchResult(Query("?!a", "r", 0.0, OWNER), (), 0, {})


def answered(text: str, *citations: Citation, generator: str = "extractive", outcome: Outcome = "answered") -> Answer:
    return an_answer(NOTHING, text, *citations, generator=generator, outcome=outcome)


def stored(path: str) -> tuple[str | None, frozenset[str]]:
    return (TEXT, HELD) if path == "a.md" else (None, frozenset())


def measures_of(case: Case, *citations: Citation, outcome: Outcome = "answered") -> dict[str, float]:
    return dict(answer_measures(case, answered("It is.", *citations, outcome=outcome), stored))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"lines": (6, 6)},
        {"lines": None},
        {"excerpt": "The gauge is read at dawn"},
        {"excerpt": "\u2026"},
        {"chunk_id": an_id("winds")},
        {"document": "b.md"},
    ],
)
def test_a_citation_of_other_lines_words_chunks_or_documents_is_false(changes: dict[str, Any]) -> None:
    assert measures_of(QUESTION, replace(CITED, **changes))["citation_accuracy"] == float(not changes)


def test_citations_count_by_their_share() -> None:
    measures = measures_of(QUESTION, CITED, replace(CITED, document="b.md"))
    assert (measures["citation_accuracy"], measures["citation_relevance"]) == (0.5, 0.5)
    assert "citation_relevance" not in measures_of(QUESTION)
    assert "citation_relevance" not in measures_of(replace(QUESTION, gold=()), CITED)


ANSWERABLE, UNANSWERABLE = Case("q", "?", "answerable"), Case("q", "?", "unanswerable")


@pytest.mark.parametrize(
    ("case", "outcome", "measures"),
    [
        (
            ANSWERABLE,
            "answered",
            {"refusal_accuracy": 1.0, "answered": 1.0, "citation_accuracy": 0.0},
        ),
        (ANSWERABLE, "nothing", {"refusal_accuracy": 0.0, "answered": 0.0}),
        (UNANSWERABLE, "nothing", {"refusal_accuracy": 1.0, "refused": 1.0}),
        (
            Case("q", "?", "unanswerable"),
            "answered",
            {"refusal_accuracy": 0.0, "refused": 0.0, "citation_accuracy": 0.0},
        ),
        (ANSWERABLE, "unsure", {"refusal_accuracy": 0.5, "answered": 0.0, "citation_accuracy": 0.0}),
        (UNANSWERABLE, "unsure", {"refusal_accuracy": 0.5, "refused": 0.0, "citation_accuracy": 0.0}),
        (SELECTED, "unsure", {"selected_accuracy": 0.0}),
        (replace(SELECTED, is_answerable=False), "unsure", {"selected_accuracy": 1.0}),
        (SELECTED, "answered", {"selected_accuracy": 1.0}),
        (SELECTED, "nothing", {"selected_accuracy": 0.0}),
        (replace(SELECTED, is_answerable=False), "nothing", {"selected_accuracy": 1.0}),
        (replace(SELECTED, is_answerable=False), "answered", {"selected_accuracy": 0.0}),
    ],
)
def test_answering_is_right_where_there_is_an_answer(case: Case, outcome: Outcome, measures: dict[str, float]) -> None:
    found = measures_of(case, outcome=outcome)
    found.pop("selected_leaks", None)
    assert found == measures
    assert found.keys() <= set(ANSWER_METRICS)


def leaks(answer: Answer) -> bool:
    return answer_measures(SELECTED, answer, stored)["selected_leaks"] == 1.0


@pytest.mark.parametrize(
    ("text", "generator", "is_leak"),
    [
        ("The red lamp burns at night. [1]", "extractive", False),
        ("It is the crimson one, which glows. [1]", "some-model", False),
        ("The text calls it a \u201cred lamp\u201d and `burns`. [1]", "some-model", False),
        ("The red lamp burns beside the pier. [1]", "extractive", True),
        ("The text says \u201cbeside the pier\u201d. [1]", "some-model", True),
        ("Not here, but the green buoy blinks. [1]", "some-model", True),
    ],
)
def test_a_leak_is_what_is_quoted_and_does_not_stand_in_the_selection(
    text: str, generator: str, *, is_leak: bool
) -> None:
    assert leaks(answered(text, FROM_SELECTION, generator=generator)) is is_leak


def test_a_citation_of_the_library_is_a_leak() -> None:
    answer = answered("The red lamp burns. [1]", FROM_SELECTION)
    assert leaks(replace(answer, citations=(CITED,)))
    foreign = replace(answer.citations[0], excerpt="The gauge is read")
    assert leaks(replace(answer, citations=(foreign,)))


def test_the_leak_marker_is_looked_for_in_all_that_is_shown() -> None:
    refused = answered("The selected text does not answer this.", FROM_SELECTION, outcome="nothing")
    assert leaks(replace(refused, suggestions=(Suggestion("The green buoy", "buoys.md", None, None),)))
    assert leaks(replace(refused, result=replace(refused.result, notes=("green buoy",))))
    assert leaks(replace(refused, unsupported_sentences=("A Green Buoy.",)))


def test_the_headline_of_an_unsure_answer_is_no_leak_and_what_stands_below_it_may_be() -> None:
    for text, is_leak in (("The red lamp burns [1]", False), ("The blue buoy [1]", True)):
        assert leaks(answered(f"{NOT_SURE}\n\n{text}", FROM_SELECTION, outcome="unsure")) is is_leak


def test_what_is_shown_without_being_sure_covers_and_is_compared_too_and_a_refusal_is_not() -> None:
    case = replace(QUESTION, must_say=("noon",), answer="At noon.")
    covers: dict[Outcome, float] = {"answered": 1.0, "unsure": 1.0, "nothing": 0.0}
    for outcome, covered in covers.items():
        found = answer_measures(case, answered("At noon. [1]", CITED, outcome=outcome), stored)
        assert (found["coverage"], "reference_recall" in found) == (covered, covered > 0)


def test_a_refusal_quotes_nothing() -> None:
    assert not leaks(answered("The selected text does not answer this.", FROM_SELECTION, outcome="nothing"))


@pytest.mark.parametrize(
    ("must_say", "must_not", "is_covered"),
    [
        (("Field(strict=True)",), (), True),
        (("field(STRICT=true)", "only"), (), True),
        (("Strict() || strict=True",), (), True),
        (("whole line is one",), (), True),
        (("Strict()",), (), False),
        (("only",), ("strict=True",), False),
    ],
)
def test_an_answer_covers_what_it_must_say(
    must_say: tuple[str, ...], must_not: tuple[str, ...], is_covered: bool
) -> None:
    case = replace(QUESTION, must_say=must_say, must_not=must_not)
    answer = answered("Use `Field(strict=True)` **only** there. [1] The whole\nline is *one*.", CITED)
    assert answer_measures(case, answer, stored)["coverage"] == is_covered


def test_an_answer_is_compared_with_the_reference_where_one_was_given() -> None:
    case = replace(QUESTION, answer="The gauges are read at dawn.")
    found = answer_measures(case, answered("Read the gauge at noon. [1]", CITED), stored)
    assert found["reference_recall"] == pytest.approx(2 / 3)  # gauge and read, but not dawn
    assert "reference_recall" not in answer_measures(case, answered("No.", outcome="nothing"), stored)


def test_the_first_source_counts_if_it_is_a_full_answer() -> None:
    case = replace(QUESTION, gold=(Place("a.md", lines=(4, 9), grade=2), Place("c.md", grade=1)))
    other = replace(CITED, document="c.md")
    assert answer_measures(case, answered("It is. [1]", CITED, other), stored)["first_source"] == 1
    assert answer_measures(case, answered("It is. [1]", other, CITED), stored)["first_source"] == 0


def test_lines_are_those_of_a_screen() -> None:
    assert lines_of("") == 0
    assert lines_of("one\n\nthree") == 3
    assert lines_of("word " * 50) == 3
