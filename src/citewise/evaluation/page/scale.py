"""From values to pixels, and where the ticks of an axis stand."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from citewise.evaluation.page.figures import MINUS, short

TICKS = 5  # about how many an axis has; fewer leave the eye without a hold, more collide on a telephone


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis: values from low to high stand from pixel `start` to pixel `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; what lies outside stands at the nearer end."""
        low, high, value = (_log(each) if self.is_log else each for each in (self.low, self.high, value))
        part = (value - low) / (high - low) if high > low else 0.5
        return self.start + min(1.0, max(0.0, part)) * (self.end - self.start)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Values with round numbers, and how they are written."""
        if self.is_log:
            return tuple((value, short(value)) for value in _log_ticks(self.low, self.high))
        step = nice_step(self.high - self.low)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple((number * step, _written(number * step, step)) for number in range(first, last + 1))


def linear_bounds(values: Iterable[float], *, with_zero: bool = True) -> tuple[float, float]:
    """The nearest round numbers around the values."""
    known = [*values, *([0.0] if with_zero else [])] or [0.0]
    low, high = min(known), max(known)
    if low == high:
        high = low + 1.0
    step = nice_step(high - low)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def log_bounds(values: Iterable[float]) -> tuple[float, float]:
    """The nearest of 1, 2, 5, 10, … around values that are all above zero."""
    known = [*values] or [1.0]
    if min(known) <= 0:
        raise ValueError(f"a logarithmic axis has no place for {min(known)}")
    low, high = _round_down(min(known)), -_round_down(-max(known))
    return (low, high) if high > low else (low, low * 10)


def nice_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that about TICKS of them fill the span."""
    rough = span / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.8)


def _log_ticks(low: float, high: float) -> list[float]:
    exponents = range(math.floor(_log(low) + 1e-9), math.ceil(_log(high) - 1e-9) + 1)
    decades = _log(high) - _log(low)
    digits = (1, 2, 5) if decades <= 2.5 else (1,)
    every = max(1, math.ceil(decades / (TICKS + 2)))
    made = [digit * 10.0**exponent for exponent in exponents if exponent % every == 0 for digit in digits]
    return [value for value in made if low * 0.999 <= value <= high * 1.001]


def _round_down(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten towards minus infinity."""
    size = abs(value)
    power = 10.0 ** math.floor(math.log10(size) + 1e-9)
    steps = [step * power for step in (1, 2, 5, 10)]
    if value > 0:
        return max(step for step in steps if step <= size * 1.000001)
    return -min(step for step in steps if step >= size * 0.999999)


def _log(value: float) -> float:
    return math.log10(value)


def _written(value: float, step: float) -> str:
    if step >= 1:
        return short(round(value, 6))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:.{decimals}f}".replace("-", MINUS) if abs(value) > step / 2 else f"{0:.{decimals}f}"
