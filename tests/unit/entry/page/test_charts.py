"""Charts are well-formed, say what they show in words, and put values where they belong."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from citewise.evaluation.page.charts import Bar, Series, bar_chart, columns, histogram, line_chart
from citewise.evaluation.page.drawing import Drawing, Frame
from citewise.evaluation.page.spreads import Change, Dots, change_chart, dot_chart, latency_chart

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</svg><script>alert(1)</script> \x1b\u202e&\"'"

CHARTS: dict[str, Callable[[str], Drawing]] = {
    "bars": lambda text: bar_chart(Frame(text, text), [Bar(text, (0.5, None)), Bar("b", (1, 2))], names=(text, "two")),
    "lines": lambda text: line_chart(Frame(text, text, text), [Series(text, ((1, 2), (3, 4))), Series("b", ((1, 3),))]),
    "histogram": lambda text: histogram(Frame(text, text), [0.1, 1.0]),
    "changes": lambda text: change_chart(Frame(text, text), [Change(text, 0.1, -0.1, 0.3)]),
    "dots": lambda text: dot_chart(Frame(text, text), [Dots(text, (0.5, -0.25, 0.0))]),
    "latency": lambda text: latency_chart(Frame(text, text), [1.0, 2.0], {text: 1.5}),
}
EMPTY: dict[str, Callable[[], Drawing]] = {
    "bars": lambda: bar_chart(Frame("t"), []),
    "lines": lambda: line_chart(Frame("t"), []),
    "histogram": lambda: histogram(Frame("t"), []),
    "changes": lambda: change_chart(Frame("t"), []),
    "dots": lambda: dot_chart(Frame("t"), []),
    "latency": lambda: latency_chart(Frame("t"), [], {}),
}


def elements(drawing: Drawing, name: str, class_: str = "") -> list[ElementTree.Element]:
    tree = ElementTree.fromstring(drawing.file())
    return [one for one in tree.iter(f"{SVG}{name}") if class_ in (one.get("class") or "").split() or not class_]


def texts(drawing: Drawing) -> list[str]:
    return [one.text or "" for one in elements(drawing, "text")]


@pytest.mark.parametrize("kind", CHARTS)
def test_hostile_words_stay_words(kind: str) -> None:
    drawing = CHARTS[kind](EVIL)
    tree = ElementTree.fromstring(drawing.file())  # raises if any of it broke out
    assert not list(tree.iter(f"{SVG}script"))
    assert "\x1b" not in drawing.inline()
    assert "\u202e" not in drawing.inline()


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_has_a_name_and_a_description(kind: str) -> None:
    tree = ElementTree.fromstring(CHARTS[kind]("Speed of search").file())
    assert tree.get("role") == "img"
    assert [tree[0].tag, tree[0].text] == [f"{SVG}title", "Speed of search"]
    assert tree[1].tag == f"{SVG}desc"
    assert re.search(r"\d", tree[1].text or "")


@pytest.mark.parametrize("kind", CHARTS)
def test_nothing_stands_outside_the_picture(kind: str) -> None:
    drawing = CHARTS[kind]("Some words that are rather long for a name of anything in a chart")
    for name, x, y in (("text", "x", "y"), ("circle", "cx", "cy"), ("rect", "x", "y"), ("line", "x2", "y2")):
        for one in elements(drawing, name):
            assert 0 <= float(one.get(x, "0")) <= drawing.width
            assert 0 <= float(one.get(y, "0")) <= drawing.height


@pytest.mark.parametrize("kind", EMPTY)
def test_a_chart_of_nothing_is_still_a_picture(kind: str) -> None:
    assert ElementTree.fromstring(EMPTY[kind]().file()).get("class") == "chart"


def test_a_file_has_its_own_colors_for_light_and_dark_and_loads_nothing() -> None:
    file = CHARTS["bars"]("t").file()
    assert "prefers-color-scheme:dark" in file
    assert re.findall(r"https?://[^\"]+", file) == ["http://www.w3.org/2000/svg"]
    assert "<style>" not in CHARTS["bars"]("t").inline()


def test_a_bar_is_as_long_as_its_value() -> None:
    drawing = bar_chart(Frame("t"), [Bar("a", (0.25,)), Bar("b", (0.5,)), Bar("c", (1.0,))], bounds=(0.0, 1.0))
    a, b, c = (float(one.get("width", "0")) for one in elements(drawing, "rect", "f0"))
    assert (b / a, c / a) == pytest.approx((2, 4), rel=0.01)


def test_bars_below_zero_go_the_other_way() -> None:
    drawing = bar_chart(Frame("t"), [Bar("up", (1.0,)), Bar("down", (-1.0,))])
    up, down = elements(drawing, "rect", "f0")
    assert float(down.get("x", "0")) + float(down.get("width", "0")) == pytest.approx(float(up.get("x", "0")), abs=0.1)


def test_a_second_series_has_a_legend_and_a_single_one_none() -> None:
    assert "before" in texts(bar_chart(Frame("t"), [Bar("a", (1, 2))], names=("before", "after")))
    assert "before" not in texts(bar_chart(Frame("t"), [Bar("a", (1,))], names=("before",)))


def test_a_label_that_is_too_long_is_cut_and_kept_whole_for_the_pointer() -> None:
    label = "a name that goes on and on and on and on and on and on"
    drawing = bar_chart(Frame("t"), [Bar(label, (1,))])
    assert any(text.endswith("…") for text in texts(drawing))
    assert label in [one.text for one in elements(drawing, "title")]


def test_points_on_a_logarithmic_axis_are_equally_far_apart() -> None:
    drawing = line_chart(Frame("t"), [Series("s", ((1e3, 1), (1e4, 2), (1e5, 3)))], log_x=True)
    first, second, third = (float(one.get("cx", "0")) for one in elements(drawing, "circle"))
    assert second - first == pytest.approx(third - second, abs=0.1)


def test_lines_differ_by_more_than_color() -> None:
    drawing = line_chart(Frame("t"), [Series(str(n), ((1, n), (2, n))) for n in range(6)])
    corners = {len((one.get("points") or "").split()) for one in elements(drawing, "polygon")}
    assert corners == {3, 4}
    assert len(elements(drawing, "circle")) == 3  # two points and the legend: only the first series has circles


def test_values_close_together_are_not_squashed_by_a_zero_far_away() -> None:
    assert "0.724" in texts(line_chart(Frame("t"), [Series("s", ((1, 0.724), (2, 0.731)))]))
    assert "0" in texts(line_chart(Frame("t"), [Series("s", ((1, 3), (2, 9)))]))


def test_a_histogram_counts_its_edges_once() -> None:
    drawing = histogram(Frame("t"), [0.0, 0.0999, 0.1, 0.3, 0.99, 1.0, 1.0])
    assert "0.0 to 0.1: 2; 0.1 to 0.2: 1; 0.2 to 0.3: 0; 0.3 to 0.4: 1" in drawing.description
    assert "0.9 to 1.0: 3" in drawing.description


def test_hours_of_a_day_are_columns_that_end_with_the_day() -> None:
    drawing = columns(Frame("t"), [0] * 11 + [10] + [0] * 12, high=24.0)
    assert "11 to 12: 10; 12 to 13: 0" in drawing.description
    assert drawing.description.endswith("23 to 24: 0")
    assert "25" not in texts(drawing)


@pytest.mark.parametrize(
    ("change", "class_"),
    [
        (Change("a", 0.1, 0.05, 0.2), "f2"),
        (Change("a", -0.1, -0.2, -0.05), "f1"),
        (Change("a", 0.1, -0.05, 0.2), "even"),
        (Change("leaks", 1.0, 0.5, 2.0, up_is_good=False), "f1"),
    ],
)
def test_a_change_has_the_color_of_what_it_is(change: Change, class_: str) -> None:
    assert len(elements(change_chart(Frame("t"), [change]), "circle", class_)) == 1


def test_dots_leave_out_what_did_not_change_and_count_the_rest() -> None:
    drawing = dot_chart(Frame("t"), [Dots("without dense", (0.0, 0.0, -0.5, -0.5, -1.0, 0.3))])
    assert len(elements(drawing, "circle")) == 3
    assert drawing.description == "without dense: 3 down, 1 up"


def test_marks_close_together_get_rows_of_their_own() -> None:
    drawing = latency_chart(Frame("t"), [float(n) for n in range(1, 11)], {"p50": 5.5, "p95": 9.5, "p99": 9.9})
    heights = {one.text: one.get("y") for one in elements(drawing, "text") if (one.text or "").startswith("p9")}
    assert len(set(heights.values())) == 2


def test_a_wide_spread_of_latencies_gets_a_logarithmic_axis() -> None:
    assert {"1", "10", "100", "1k"} <= set(texts(latency_chart(Frame("t"), [1.0, 30.0, 900.0], {})))


def test_thousands_of_latencies_are_thinned_out_but_reach_all_of_them() -> None:
    drawing = latency_chart(Frame("t"), [float(n) for n in range(1, 10_001)], {})
    (path,) = elements(drawing, "polyline")
    places = (path.get("points") or "").split()
    assert len(places) < 1000
    top = min(float(place.partition(",")[2]) for place in places)
    assert places[-1].endswith(f",{top:.1f}")
