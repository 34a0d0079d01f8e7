"""Axes have round numbers, whatever they are given."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.evaluation.page.figures import figure, short, signed
from citewise.evaluation.page.scale import Scale, linear_bounds, log_bounds


def written(scale: Scale) -> list[str]:
    return [text for _, text in scale.ticks]


def test_shares_are_ticked_in_fifths() -> None:
    assert written(Scale(0.0, 1.0, 0, 100)) == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_a_narrow_range_keeps_its_decimals() -> None:
    assert written(Scale(0.72, 0.74, 0, 100)) == ["0.720", "0.725", "0.730", "0.735", "0.740"]


def test_changes_around_zero_have_a_minus_and_a_plain_zero() -> None:
    assert written(Scale(-0.02, 0.04, 0, 100)) == ["\u22120.02", "\u22120.01", "0.00", "0.01", "0.02", "0.03", "0.04"]


def test_a_long_logarithmic_axis_has_a_tick_a_decade_and_a_short_one_more() -> None:
    assert written(Scale(1e3, 1e6, 0, 300, is_log=True)) == ["1k", "10k", "100k", "1M"]
    assert written(Scale(1, 100, 0, 300, is_log=True)) == ["1", "2", "5", "10", "20", "50", "100"]


def test_decades_are_equally_far_apart() -> None:
    scale = Scale(1e3, 1e6, 0, 300, is_log=True)
    assert [scale.at(value) for value in (1e3, 1e4, 1e5, 1e6)] == pytest.approx([0, 100, 200, 300])


def test_what_lies_outside_stands_at_the_edge() -> None:
    assert Scale(0, 1, 10, 20).at(7) == 20
    assert Scale(0, 1, 10, 20).at(-7) == 10


def test_a_logarithmic_axis_refuses_zero() -> None:
    with pytest.raises(ValueError, match="no place for 0"):
        log_bounds([0, 1])


FINITE = st.floats(min_value=-1e9, max_value=1e9).filter(lambda value: value == 0 or abs(value) > 1e-6)


@given(st.lists(FINITE, max_size=8))
def test_linear_bounds_hold_every_value_and_have_few_ticks(values: list[float]) -> None:
    low, high = linear_bounds(values)
    assert low < high
    slack = (high - low) * 1e-6
    assert all(low - slack <= value <= high + slack for value in values)
    assert 2 <= len(Scale(low, high, 0, 1).ticks) <= 12


@given(st.lists(st.floats(min_value=1e-6, max_value=1e12), max_size=8))
def test_log_bounds_hold_every_value_and_have_few_ticks(values: list[float]) -> None:
    low, high = log_bounds(values)
    assert 0 < low < high
    assert all(low * 0.9999 <= value <= high * 1.0001 for value in values)
    assert 1 <= len(Scale(low, high, 0, 1, is_log=True).ticks) <= 10


def test_figures_have_three_digits_that_matter() -> None:
    assert [figure(value) for value in (0.7351, 12.345, 1967, 1967.4, 0.00012, -1.5, math.nan, None)] == [
        "0.735",
        "12.3",
        "1,967",
        "1,967",
        "0.00012",
        "\u22121.50",
        "\u2013",
        "\u2013",
    ]
    assert [short(value) for value in (0.5, 1500, 2e6, 3e9)] == ["0.5", "1.5k", "2M", "3G"]
    assert [signed(value) for value in (0.01, -0.2, -0.0001)] == ["+0.010", "\u22120.200", "0.000"]
