"""Where a text is cut that does not fit."""

import pytest

from citewise.text.units import cut_to_fit

LINE = "The gauge is read. Nets dry at noon! Does it blow?"


@pytest.mark.parametrize(
    ("characters", "left"),
    [
        (80, LINE),
        (40, "The gauge is read. Nets dry at noon!"),
        (20, "The gauge is read."),
        (14, "The gauge is"),
        (12, "The gauge is"),
        (2, "Th"),
        (0, ""),
    ],
)
def test_a_line_is_cut_at_a_sentence_then_at_a_word_then_anywhere(characters: int, left: str) -> None:
    assert cut_to_fit(LINE, lambda beginning: len(beginning) <= characters) == left


def test_whole_lines_come_before_more_of_the_next() -> None:
    assert cut_to_fit(f"Tides.\n{LINE}", lambda beginning: len(beginning) <= 30) == "Tides."
