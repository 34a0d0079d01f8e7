"""Bars, lines and a histogram, as pure SVG: values in, a drawing out. No scripts, no fonts, no network."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citewise.evaluation.page.drawing import (
    APART,
    PAD,
    SERIES,
    THICK,
    Drawing,
    Frame,
    data_height,
    drawn,
    head,
    label_column,
    line,
    marker,
    path,
    row_label,
    text,
    text_width,
    x_axis,
    y_axis,
)
from citewise.evaluation.page.figures import counted, figure, short
from citewise.evaluation.page.markup import Markup, joined, tag
from citewise.evaluation.page.scale import Scale, linear_bounds, log_bounds


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a bar chart: a name, and a value for each series (None: it has none)."""

    label: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One line."""

    name: str
    points: tuple[tuple[float, float], ...]


def bar_chart(
    frame: Frame,
    bars: Sequence[Bar],
    *,
    names: Sequence[str] = (),
    bounds: tuple[float, float] | None = None,
    is_log: bool = False,
    written: Callable[[float], str] = figure,
) -> Drawing:
    """Lying bars, one row a name, one bar a series, each with its number."""
    known = [value for bar in bars for value in bar.values if value is not None]
    low, high = bounds or (log_bounds(known) if is_log else linear_bounds(known))
    top_part, top = head(frame, names)
    left = label_column(frame, [bar.label for bar in bars])
    room = 12 + max((text_width(written(value)) for value in known), default=0.0)
    scale = Scale(low, high, left, frame.width - PAD - room, is_log)
    y, parts = top, [Markup()]
    for bar in bars:
        height = THICK * len(bar.values)
        parts.append(row_label(bar.label, left, y + height / 2))
        for number, value in enumerate(bar.values):
            parts.append(_bar(scale, y + number * THICK, value, number, written))
        y += height + APART
    axis = x_axis(scale, top=top - 4, bottom=y - APART + 4, label=frame.x_label)
    zero = scale.at(low if is_log else max(low, 0.0))
    base = line(zero, top - 4, zero, y - APART + 4, class_="axis")
    said = "; ".join(f"{bar.label}: {_all_written(bar.values, names, written)}" for bar in bars)
    return drawn(frame, y - APART + 4, said, top_part, axis, *parts, base)


def line_chart(frame: Frame, series: Sequence[Series], *, log_x: bool = False, log_y: bool = False) -> Drawing:
    """Lines through points, one a series."""
    points = [point for one in series for point in one.points]
    low_x, high_x = _bounds([x for x, _ in points], log_x)
    low_y, high_y = _bounds([y for _, y in points], log_y)
    top_part, top = head(frame, [one.name for one in series], lines=True)
    bottom = top + data_height(frame)
    up = Scale(low_y, high_y, bottom, top, log_y)
    left = PAD + 8 + max(text_width(written) for _, written in up.ticks)
    across = Scale(low_x, high_x, left, frame.width - PAD - 12, log_x)
    parts = [
        x_axis(across, top=top, bottom=bottom, label=frame.x_label),
        y_axis(up, left=left, right=frame.width - PAD - 12),
        line(left, bottom, frame.width - PAD - 12, bottom, class_="axis"),
    ]
    for number, one in enumerate(series):
        parts.append(path([(across.at(x), up.at(y)) for x, y in one.points], f"l{number % SERIES} line"))
    for number, one in enumerate(series):  # after all lines, so that no line hides a point
        for x, y in one.points:
            told = tag("title", f"{one.name}: {short(x)}, {figure(y)}")
            parts.append(marker(number, across.at(x), up.at(y), told))
    said = "; ".join(f"{one.name}: " + ", ".join(f"{short(x)} → {figure(y)}" for x, y in one.points) for one in series)
    return drawn(frame, bottom, said, top_part, *parts)


def histogram(frame: Frame, values: Sequence[float], *, bins: int = 10) -> Drawing:
    """How many values lie in each part of 0..1; the last part has the ones."""
    counts = Counter(min(bins - 1, max(0, int(value * bins + 1e-9))) for value in values)
    return columns(frame, [counts[number] for number in range(bins)], high=1.0, decimals=1)


def columns(frame: Frame, counts: Sequence[int], *, high: float, decimals: int = 0) -> Drawing:
    """How many there are in each of equal parts from 0 to `high`; the edges are written with so many decimals."""
    top_part, top = head(frame, ())
    top += 14  # for the number over the highest column
    bottom = top + data_height(frame) * 0.8
    across = Scale(0.0, high, PAD + 8, frame.width - PAD - 8)
    up = Scale(0.0, float(max(*counts, 1)), bottom, top)
    edges = [high * number / len(counts) for number in range(len(counts) + 1)]
    named = [f"{low:.{decimals}f} to {end:.{decimals}f}" for low, end in pairwise(edges)]
    parts: list[Markup] = []
    for name, (low, end), count in zip(named, pairwise(edges), counts, strict=True):
        left, right, y = across.at(low), across.at(end), up.at(count)
        told = tag("title", f"{name}: {counted(count, 'question')}")
        parts.append(tag("rect", told, x=left + 1, y=y, width=right - left - 2, height=bottom - y, class_="f0"))
        written = f"{count:,}"
        if count and (text_width(written) <= right - left or count == max(counts)):  # neighbors would run together
            parts.append(text(written, (left + right) / 2, y - 5, anchor="middle"))
    base = line(across.start, bottom, across.end, bottom, class_="axis")
    said = "; ".join(f"{name}: {count}" for name, count in zip(named, counts, strict=True))
    axis = x_axis(across, top=bottom, bottom=bottom, label=frame.x_label)
    return drawn(frame, bottom, said, top_part, axis, *parts, base)


def _bar(scale: Scale, y: float, value: float | None, number: int, written: Callable[[float], str]) -> Markup:
    if value is None:
        return Markup()
    zero, end = scale.at(scale.low if scale.is_log else max(scale.low, 0.0)), scale.at(value)
    width = max(1.0, abs(end - zero))
    shape = tag(
        "rect", x=min(zero, end), y=y + 0.5, width=width, height=THICK - 1, class_=f"f{number % SERIES}", rx=1.5
    )
    return joined(shape, text(written(value), max(zero, end) + 6, y + THICK - 2.5))


def _bounds(values: Sequence[float], is_log: bool) -> tuple[float, float]:
    """Round numbers around; zero is among them unless the values would shrink to a flat line by it."""
    if is_log:
        return log_bounds(values)
    low, high = min(values, default=0.0), max(values, default=1.0)
    return linear_bounds(values, with_zero=low >= 0 and high - low > 0.3 * high)


def _all_written(values: Sequence[float | None], names: Sequence[str], written: Callable[[float], str]) -> str:
    named = zip([*names, *[""] * len(values)], values, strict=False)
    return ", ".join(f"{name} {written(value)}".strip() for name, value in named if value is not None)
