"""Number and title of a chapter, read from its name."""

import pytest

from citewise.model.document import chapter_parts


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
    assert chapter_parts(name) == (number, title)
