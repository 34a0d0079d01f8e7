"""Which sections stand beside the content, by their headings and by their lines."""

import pytest

from citewise.text.roles import SectionRole, asks_about_before, leads_from_before, role_of, roles_asked
from tests.growth import assert_linear

CONTENT = "The pump has two valves, and each has a lamp."
LINKS = "- [Pumps](pumps.md)\n- [Valves](valves.md), in short"


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        ("Exercises", SectionRole.EXERCISE),
        ("4.2 Exercise 3: Close a valve", SectionRole.EXERCISE),
        ("Practice problems", SectionRole.EXERCISE),
        ("Week 2 Quiz: Pumps", SectionRole.QUIZ),
        ("Knowledge check", SectionRole.QUIZ),
        ("Question 12 (5 points)", SectionRole.QUIZ),
        ("Review questions", SectionRole.QUIZ),
        ("Assessment rubric", SectionRole.QUIZ),
        ("Kinematics (10% of total)", SectionRole.QUIZ),
        ("Excellent (A: 9-10 points)", SectionRole.QUIZ),
        ("Disk almost full (10%)", None),
        ("Points of view (three)", None),
        ("Learning Objectives", SectionRole.OBJECTIVES),
        ("What you\u2019ll learn", SectionRole.OBJECTIVES),
        ("Changelog", SectionRole.CHANGELOG),
        ("Release notes for 2.3", SectionRole.CHANGELOG),
        ("What's new in 3.1", SectionRole.CHANGELOG),
        ("\u00dcbungen", SectionRole.EXERCISE),
        ("Objectifs d'apprentissage", SectionRole.OBJECTIVES),
        ("Registro de cambios", SectionRole.CHANGELOG),
        ("\u5b66\u4e60\u76ee\u6807", SectionRole.OBJECTIVES),
        ("Exercise caution with valves", None),
        ("How to write release notes", None),
        ("A quiz app from scratch", None),
        ("Questions about pumps", None),
        ("Objective lenses", None),
    ],
)
def test_a_heading_says_what_its_section_is_for(heading: str, role: SectionRole | None) -> None:
    assert role_of(("Pumps", heading), CONTENT) is role
    assert role_of((heading, "Task 1"), CONTENT) is role


@pytest.mark.parametrize("heading", ["Troubleshooting", "Implementation", "Solution 2", "Hints", "Common problems"])
def test_what_explains_below_an_exercise_is_content(heading: str) -> None:
    assert role_of(("Week 4 exercises: pumps", "Exercise 1", heading), CONTENT) is None
    assert role_of(("Week 4 exercises: pumps", "Exercise 1", "Instructions"), CONTENT) is SectionRole.EXERCISE
    assert role_of(("Quiz", heading), CONTENT) is SectionRole.QUIZ


@pytest.mark.parametrize(
    ("heading", "text", "role"),
    [
        ("See also", LINKS, SectionRole.LINKS),
        ("Further reading", "- Doe, J. Pumps and how they age. 1999.\n- Roe, R. Valves.", SectionRole.LINKS),
        ("Siehe auch", "- Pumpen\n- Ventile", SectionRole.LINKS),
        ("References", CONTENT, None),
        ("Next steps", "Run `pump on`. Then wait for the lamp.", None),
        ("Overview", LINKS, SectionRole.LINKS),
        ("Overview", "## Overview\n\n1. <https://example.org/a>\n2. https://example.org/b", SectionRole.LINKS),
        ("Overview", "- [Pumps][1]\n- [Valves](<the valves.md>)\n- [[a/b|Lamps]]", SectionRole.LINKS),
        ("Overview", f"{LINKS}\n\nThese are all.", None),
        ("Overview", "- [Pumps](pumps.md): how they are made and why they fail.\n- [Valves](v.md): the same.", None),
        ("Overview", "- [Pumps](pumps.md)", None),
        ("Overview", "- Pumps\n- Valves", None),
    ],
)
def test_a_list_that_is_only_links_is_told_by_its_lines(heading: str, text: str, role: SectionRole | None) -> None:
    assert role_of(("Page", heading), text) is role


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Which lamp is lit?\n\nA) the red one\nB) the blue one\nC) none", SectionRole.QUIZ),
        ("**What is a valve?**\n- a. a lamp\n- b. a pump\n- c. a gate", SectionRole.QUIZ),
        ("Choose a mode:\n\na) slow\nb) fast\nc) none", None),
        ("Which lamp is lit?\n\nA) the red one", None),
    ],
)
def test_a_question_with_lettered_options_is_a_quiz(text: str, role: SectionRole | None) -> None:
    assert role_of(("Pumps",), text) is role


@pytest.mark.parametrize(
    ("question", "roles"),
    [
        ("exercises on valves", {SectionRole.EXERCISE}),
        ("what changed in 2.3?", {SectionRole.CHANGELOG}),
        ("since which version has it been there?", {SectionRole.CHANGELOG}),
        ("where can I read more about pumps?", {SectionRole.LINKS}),
        ("How is the quiz graded?", {SectionRole.QUIZ}),
        ("How do I exchange a pump?", set()),
        ("By which deadline must the form be submitted?", set()),
    ],
)
def test_a_question_asks_for_a_role_by_its_words(question: str, roles: set[SectionRole]) -> None:
    assert roles_asked(question) == roles


@pytest.mark.parametrize(
    "piece", ["- [a](b) ", "[", "[a](", "[a](<b ", "[`a", "[[a|", "- a\n", "a) b\n", "exercise ", "[[", "(", "<http://"]
)
def test_time_grows_in_proportion_to_the_text(piece: str) -> None:
    assert_linear(lambda text: role_of((text[:200], "Overview"), text), piece, characters=100_000)


@pytest.mark.parametrize(
    ("document", "headings", "is_one"),
    [
        ("docs/migration/v2/index.md", ("Overview",), True),
        ("docs/upgrade.md", ("Pumps",), True),
        ("docs/pumps.md", ("Pumps", "Migrating from v1"), True),
        ("docs/pumps.md", ("2. Upgrade guide",), True),
        ("docs/migrations/0001.md", ("Pumps",), False),
        ("docs/pumps.md", ("Pumps", "Database migrations"), False),
        ("docs/pumps.md", ("Upgrade a pump",), False),
    ],
)
def test_a_guide_from_an_earlier_version_is_known_by_its_path_or_its_headings(
    document: str, headings: tuple[str, ...], *, is_one: bool
) -> None:
    assert leads_from_before(document, headings) is is_one


@pytest.mark.parametrize("question", ["What changed in v2?", "what replaces close()", "How do I migrate from 1.x?"])
def test_a_question_asks_about_before_by_its_words(question: str) -> None:
    assert asks_about_before(question)
    assert not asks_about_before("How do I close a valve?")
