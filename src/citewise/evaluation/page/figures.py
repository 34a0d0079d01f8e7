"""Numbers as people read them."""

import math

MINUS = "\u2212"  # as wide as a plus, unlike the hyphen
ABSENT = "\u2013"
_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def figure(value: float | None) -> str:
    """Three digits that matter, more only for whole numbers: 0.735, 12.3, 1,967."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", MINUS)
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    text = f"{value:,.{decimals}f}" if size >= 0.001 else f"{value:.2g}"
    return text.replace("-", MINUS)


def share(value: float | None) -> str:
    """A metric: always three decimals, so that columns of them line up."""
    return ABSENT if value is None or not math.isfinite(value) else f"{value:.3f}".replace("-", MINUS)


def signed(value: float) -> str:
    """A change of a metric, with its sign; one that is nothing to three decimals has none."""
    if not math.isfinite(value):
        return ABSENT
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", MINUS)


def milliseconds(value: float | None) -> str:
    return ABSENT if value is None or not math.isfinite(value) else f"{figure(value)} ms"


def short(value: float) -> str:
    """A number beside an axis: 1k, 250k, 1M."""
    for size, letter in _STEPS:
        if abs(value) >= size:
            return f"{value / size:g}{letter}".replace("-", MINUS)
    return f"{value:g}".replace("-", MINUS)


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
