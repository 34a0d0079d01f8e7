"""The answerer that only quotes: which units, in which order, and how they are marked."""

from collections.abc import Sequence

import pytest

from citewise.answer.extractive import MAX_CODE_LINES, ExtractiveGenerator
from citewise.model.answer import Context, Evidence, Grounds, Prompt
from citewise.text.units import units_of


def evidence(*sources: tuple[str, Sequence[float]]) -> tuple[Evidence, ...]:
    """Sources from 1, each with the scores of its units."""
    return tuple(
        Evidence(unit, score)
        for n, (text, scores) in enumerate(sources, start=1)
        for unit, score in zip(units_of(n, text), scores, strict=True)
    )


def answer(*sources: tuple[str, Sequence[float]], is_sufficient: bool = True) -> str:
    grounds = Grounds(0.9, is_sufficient, evidence(*sources))
    prompt = Prompt("?", "normal", Context("", (), 0, 0), grounds, ())
    return "".join(ExtractiveGenerator().stream(prompt))


def test_it_never_passes_for_a_language_model() -> None:
    assert ExtractiveGenerator().name == "extractive"


def test_each_sentence_is_followed_by_its_source() -> None:
    assert answer(("The gauge is read at noon.", [0.9]), ("Noon is local time.", [0.8])) == (
        "The gauge is read at noon. [1] Noon is local time. [2]"
    )


def test_insufficient_grounds_and_no_evidence_are_answered_with_nothing() -> None:
    assert answer(("The gauge is read at noon.", [0.9]), is_sufficient=False) == ""
    assert answer() == ""


@pytest.mark.parametrize(
    ("text", "scores", "said"),
    [
        ("The first thing counts. The second does not.", [0.9, 0.2], "The first thing counts. [1]"),
        ("Nothing here fits well.", [0.0], "Nothing here fits well. [1]"),
        ("A bare title", [0.9], "A bare title [1]"),
        ("This page says when to calibrate. Calibrate it in May.", [0.9, 0.7], "Calibrate it in May. [1]"),
    ],
    ids=["not far below the best", "the best however low", "a title if there is no more", "no signpost"],
)
def test_the_best_units_that_say_something_are_quoted(text: str, scores: list[float], said: str) -> None:
    assert answer((text, scores)) == said


def test_sources_come_by_their_best_unit_and_units_as_they_stand() -> None:
    text = answer(("Low one stands first.", [0.7]), ("Later by a bit here. Best of all is this.", [0.8, 0.9]))
    assert text == "Later by a bit here. [2] Best of all is this. [2] Low one stands first. [1]"


def test_no_more_units_than_wanted() -> None:
    text = "First thing said. Second word spoken. Third point made. Fourth line drawn. Fifth wheel spun."
    assert answer((text, [0.9] * 5)).count("[1]") == 4


def test_prose_is_bounded_in_words() -> None:
    sources = [(f"Number {at} " + f"w{at} " * 50 + "ends.", [0.9]) for at in range(4)]
    assert len(answer(*sources).split()) < 130


def test_what_two_sources_say_alike_is_said_once() -> None:
    assert answer(("The gauge is read at noon.", [0.9]), ("The gauge is read at noon!", [0.8])).count("noon") == 1


@pytest.mark.parametrize("start", ["This", "It", "They", "These"])
def test_a_sentence_that_points_back_brings_the_one_before_it(start: str) -> None:
    text = f"The pump has a filter. {start} must be cleaned."
    assert answer((text, [0.1, 0.9])) == f"The pump has a filter. [1] {start} must be cleaned. [1]"


def test_a_long_list_ends_where_prose_does() -> None:
    text = "All of them:\n\n" + "\n".join(f"- item {at} of many" for at in range(100))
    assert len(answer((text, [0.9] + [0.1] * 100)).split()) < 200


@pytest.mark.parametrize("dull", ["A bare title", "Does it matter?", "Leads nowhere:"])
def test_titles_questions_and_empty_leads_are_no_answers(dull: str) -> None:
    assert answer((dull, [0.9]), ("The gauge is read at noon.", [0.5])) == "The gauge is read at noon. [2]"


@pytest.mark.parametrize(
    ("text", "scores", "said"),
    [
        ("Run this:\n\n```sh\nmake [3]\n```", [0.1, 0.9], "Run this: [1]\n\n```sh\nmake [3]\n```\n\n[1]"),
        ("Text.\n\n    make all", [0.1, 0.9], "```\nmake all\n```\n\n[1]"),
        ("```python\nx = 1\ny = 2", [0.9], "```python\nx = 1\ny = 2\n```\n\n[1]"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", [0.9], "| a | b |\n|---|---|\n| 1 | 2 |\n\n[1]"),
        ("- One item here. And its rest.", [0.9, 0.9], "- One item here. [1] And its rest. [1]"),
        (
            "- one item here\n\nSome other line.\n\n```\ncode\n```\n\nThe last line stands.",
            [0.9, 0.1, 0.9, 0.9],
            "- one item here [1]\n\n```\ncode\n```\n\n[1]\n\nThe last line stands. [1]",
        ),
    ],
    ids=["code", "indented code", "half a block of code", "a table", "the rest of an item", "prose after a block"],
)
def test_a_unit_keeps_its_shape_and_its_marker_counts(text: str, scores: list[float], said: str) -> None:
    assert answer((text, scores)) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("By others [3] and [4, 5], but not in `a[3]`.", "By others (3) and (4, 5), but not in `a[3]`."),
        ("99 bar [Source 9: Evil - doc] and [^3] too.", "99 bar (Source 9: Evil - doc) and (^3) too."),
        (
            'See [the limits](../limits.md#upper) and ![the plot](plot.png "Plot") for `[a](b)`.',
            "See the limits and the plot for `[a](b)`.",
        ),
    ],
    ids=["numbers", "labels", "links, whose addresses lead nowhere from an answer"],
)
def test_brackets_in_a_document_do_not_read_as_sources(text: str, said: str) -> None:
    assert answer((text, [0.9])) == f"{said} [1]"


def test_long_code_is_quoted_only_as_the_best() -> None:
    code = "```\n" + "\n".join(f"line {at}" for at in range(MAX_CODE_LINES)) + "\n```"
    assert "line 9" not in answer((f"The best comes first.\n\n{code}", [0.9, 0.8]))
    assert f"line {MAX_CODE_LINES - 1}" in answer((code, [0.9]))


def test_no_step_is_left_out_of_a_procedure() -> None:
    text = "Switch over:\n\n1. Stop the old one.\n2. Promote the new one. It takes a minute.\n3. Look at the log."
    said = answer((text, [0.1, 0.9, 0.1, 0.1, 0.1]))
    assert said.startswith("Switch over: [1]\n\n1. Stop the old one. [1]\n2. Promote the new one. [1]")
    assert said.endswith("3. Look at the log. [1]")


@pytest.mark.parametrize(
    ("text", "scores", "said"),
    [
        ("**Seiche.** A slow sloshing of the sound.", [0.9, 0.3], "**Seiche.** [1] A slow sloshing of the sound. [1]"),
        ("**Seiche.** A slow sloshing of the sound.", [0.3, 0.9], "**Seiche.** [1] A slow sloshing of the sound. [1]"),
        (
            "Before you ask you need\n\n- a boat license",
            [0.9, 0.1],
            "Before you ask you need [1]\n\n- a boat license [1]",
        ),
        ("Restart the board.\n\n```\nreboot\n```", [0.9, 0.1], "Restart the board. [1]\n\n```\nreboot\n```\n\n[1]"),
        ("The states are:\n\n- idle\n- on\n- off", [0.1, 0.1, 0.9, 0.1], "The states are: [1]\n\n- on [1]"),
        ("States:\n\n- idle\n- on\n\nMore here.", [0.9, 0.1, 0.1, 0.1], "States: [1]\n\n- idle [1]\n- on [1]"),
        ("The pump " + "and the pump " * 20 + "has a filter. This is it.", [0.1, 0.9], "This is it. [1]"),
    ],
    ids=[
        *("a term brings its definition", "and the other way round", "a line that breaks off", "code right below"),
        *("an item brings its lead", "a lead brings its list", "a long sentence is not brought"),
    ],
)
def test_what_cannot_stand_alone_brings_company(text: str, scores: list[float], said: str) -> None:
    assert answer((text, scores)) == said
