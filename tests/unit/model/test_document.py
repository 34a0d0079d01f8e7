"""What a path says about its document."""

import pytest

from citewise.ingest.prepare import _chapter_parts
from citewise.model.document import DEFAULT_RULES, Location, PathRule


@pytest.mark.parametrize(
    ("name", "number", "title"),
    [
        ("chapter-03-sensor-fusion", 3, "Sensor fusion"),
        ("03_kinematics", 3, "Kinematics"),
        ("1.3-tides", 3, "Tides"),
        ("week-1", 1, None),
        ("chapter2", 2, None),
        ("1. Intro to ROS 2", 1, "Intro to ROS 2"),
        ("advanced-topics", None, "Advanced topics"),
        ("ros2-basics", None, "Ros2 basics"),
        ("Unknown", None, None),
        ("-", None, None),
    ],
)
def test_a_chapter_has_a_number_and_a_title_where_its_name_does(
    name: str, number: int | None, title: str | None
) -> None:
    assert _chapter_parts(name) == (number, title)


@pytest.mark.parametrize(
    ("path", "module", "chapter", "corpus", "content"),
    [
        ("module-1/1.1-intro/page.md", "module-1", "1.1-intro", "DOC_TEXTBOOK", "prose"),
        ("module-1/1.1-intro/lab-exercises.md", "module-1", "1.1-intro", "DOC_TEXTBOOK", "lab"),
        ("module-2/quiz.md", "module-2", "Unknown", "DOC_TEXTBOOK", "quiz"),
        ("assessments.md", "Unknown", "Unknown", "DOC_PAGE", "assessment"),
        ("runbooks/disk-full.md", "runbooks", "Unknown", "DOC_RUNBOOK", "prose"),
        ("tools/README.md", "tools", "Unknown", "DOC_README", "prose"),
        ("guides/collaboration.md", "guides", "Unknown", "DOC_PAGE", "prose"),
        ("guides/syllabus.md", "guides", "Unknown", "DOC_PAGE", "prose"),
    ],
)
def test_paths_tell_module_chapter_and_types(path: str, module: str, chapter: str, corpus: str, content: str) -> None:
    facts = PathRule.facts_of(path, DEFAULT_RULES)
    assert list(facts.values()) == [module, chapter, corpus, content]


def test_path_rules_can_be_replaced() -> None:
    rules = (PathRule(r"^(?P<chapter>[^/]+)/", {"module": "all"}),)
    facts = PathRule.facts_of("one/two.md", rules)
    assert (facts["module"], facts["chapter"]) == ("all", "one")


def test_locations_span_from_the_first_to_the_last() -> None:
    assert Location.spanning([Location("lines", 4, 9), Location("lines", 2, 5)]) == Location("lines", 2, 9)
    first = Location("messages", 1, 1, "ops", "ann", 10.0)
    assert Location.spanning([first, Location("messages", 2, 2, "ops", "bob", 20.0)]) == Location(
        "messages", 1, 2, "ops", "ann", 10.0
    )
