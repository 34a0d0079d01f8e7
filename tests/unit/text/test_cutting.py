"""Long code, of which the places are shown that matter."""

import itertools
import textwrap

import pytest

from citewise.text.analysis import terms
from citewise.text.cutting import ELLIPSIS, cut_code
from tests.growth import assert_linear

STATION = textwrap.dedent(
    """\
    import logging
    import buoys
    from gauges import Gauge
    from sirens import Siren

    class Station:
        def __init__(self):
            self.gauge = Gauge()
            self.siren = Siren()
            self.log = logging.getLogger()
            self.buoy = buoys.nearest()

        def read(self):
            level = self.gauge.level()
            if level > 4.2:
                self.siren.sound()
            return level

        def sleep(self):
            self.gauge.stop()
            wait(minutes=30)

    def main():
        station = Station()
        while True:
            station.read()
            station.sleep()

    if __name__ == "__main__":
        main()
    """
).splitlines()


def cut(question: str, max_lines: int, lines: list[str] = STATION) -> list[str]:
    return cut_code(lines, terms(question).stems, max_lines)


def test_a_place_comes_with_the_lines_that_enclose_it() -> None:
    assert cut("how many minutes?", 8) == [
        ELLIPSIS,
        "class Station:",
        f"    {ELLIPSIS}",
        "    def sleep(self):",
        "        self.gauge.stop()",
        "        wait(minutes=30)",
        ELLIPSIS,
    ]


def test_imports_come_if_their_names_are_used() -> None:
    shown = cut("the nearest buoy", 12)
    assert "import buoys" in shown
    assert "import logging" in shown  # used beside it
    assert shown.index("class Station:") > shown.index("from sirens import Siren")


def test_an_import_is_no_place_where_another_line_says_the_same() -> None:
    assert cut("siren sound", 7) == [f"    {ELLIPSIS}", *STATION[12:17], ELLIPSIS]
    assert STATION[3] in cut("siren", 5, [*STATION[:5], *STATION[22:]])


def test_two_places_are_shown_where_each_has_a_word_of_its_own() -> None:
    shown = "\n".join(cut("at which level, and after how many minutes?", 14))
    assert "4.2" in shown
    assert "minutes=30" in shown


def test_code_without_a_word_of_the_question_is_cut_at_its_end() -> None:
    assert cut("what is a whale?", 6) == [*STATION[:6], ELLIPSIS]


@pytest.mark.parametrize("max_lines", range(2, 30))
@pytest.mark.parametrize("question", ["minutes", "siren level", "whale", "main station buoy log"])
def test_what_is_shown_stands_there_in_its_order_within_the_lines(question: str, max_lines: int) -> None:
    shown = cut(question, max_lines)
    rest = iter(STATION)
    assert all(line in rest for line in shown if line.strip() not in ("", ELLIPSIS))
    assert sum(line.strip() != "" for line in shown) <= max_lines + 1
    assert not any(before.strip() == after.strip() == ELLIPSIS for before, after in itertools.pairwise(shown))


def test_a_mark_at_the_end_is_indented_as_the_code_is() -> None:
    lines = [f"   {line}" if line else "" for line in STATION]
    assert cut("minutes", 8, lines)[-1] == f"   {ELLIPSIS}"


def test_blank_code_is_no_error() -> None:
    assert cut("tide", 3, [""] * 5) == []


def test_a_definition_comes_with_its_parameters() -> None:
    lines = ["def read(self,", "         gauge,", "         depth=2):", "    wait()", *["    call()"] * 9, "    tide()"]
    assert cut("tide", 7, lines)[:4] == [*lines[:3], f"    {ELLIPSIS}"]


def test_abbreviations_in_names_are_what_people_say() -> None:
    lines = [*["call()"] * 9, "self.max_freq = 20", *["call()"] * 9]
    assert "self.max_freq = 20" in cut("what is the maximum frequency?", 4, lines)


@pytest.mark.parametrize("piece", ["tide()\n", "tide()\n\n", "if tide:\n  buoy\n", "import tide\n", "{ tide }\n"])
def test_long_code_is_cut_in_time_in_proportion(piece: str) -> None:
    telling = terms("tide buoy").stems
    assert_linear(lambda text: cut_code(text.split("\n"), telling, 20), piece, characters=60_000)
