"""Charts of how something is spread: changes with their intervals, questions that changed, latencies. Pure SVG."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citewise.evaluation.page.drawing import (
    APART,
    PAD,
    THICK,
    Drawing,
    Frame,
    data_height,
    drawn,
    head,
    label_column,
    line,
    path,
    row_label,
    text,
    text_width,
    x_axis,
)
from citewise.evaluation.page.figures import counted, milliseconds, signed
from citewise.evaluation.page.markup import Markup, joined, tag
from citewise.evaluation.page.scale import Scale, linear_bounds, log_bounds

STEPS = 200  # a distribution is drawn with at most so many steps: about one for two pixels
PLACES = 10  # bubbles stand a tenth apart: nearer ones would hide each other
LARGE = 8  # questions that make a bubble of full size, unless some place has more


@dataclass(frozen=True, slots=True)
class Change:
    """A difference of means and the interval it is in."""

    label: str
    mean: float
    low: float
    high: float
    up_is_good: bool = True

    @property
    def is_good(self) -> bool | None:
        """None where the interval holds zero: nobody can tell."""
        return None if self.low <= 0 <= self.high else (self.mean > 0) is self.up_is_good


@dataclass(frozen=True, slots=True)
class Dots:
    """What changed for each question; those with no change are not drawn."""

    label: str
    values: tuple[float, ...]


def change_chart(frame: Frame, changes: Sequence[Change]) -> Drawing:
    """A point with its interval a row; gray where the interval holds zero."""
    top_part, top = head(frame, ())
    left = label_column(frame, [one.label for one in changes])
    bounds = linear_bounds([edge for one in changes for edge in (one.low, one.mean, one.high)])
    scale = Scale(*bounds, left, frame.width - PAD - 56)
    step = THICK + APART
    bottom = top + step * len(changes)
    zero = scale.at(0.0)
    parts = [
        x_axis(scale, top=top - 2, bottom=bottom, label=frame.x_label),
        line(zero, top - 2, zero, bottom, class_="axis"),
    ]
    for number, one in enumerate(changes):
        y = top + step * (number + 0.5)
        parts += [row_label(one.label, left, y), _interval(one, scale, y)]
        parts.append(text(signed(one.mean), frame.width - PAD, y + 4, anchor="end"))
    said = "; ".join(f"{one.label}: {signed(one.mean)} ({signed(one.low)} to {signed(one.high)})" for one in changes)
    return drawn(frame, bottom, said, top_part, *parts)


def dot_chart(frame: Frame, rows: Sequence[Dots]) -> Drawing:
    """Where the questions that changed went: bubbles as large as there are questions at that place."""
    top_part, top = head(frame, ())
    left = label_column(frame, [row.label for row in rows])
    moves = [_ups_and_downs(row) for row in rows]
    summaries = [f"▼ {downs:,}  ▲ {ups:,}" for downs, ups in moves]
    room = 12 + max((text_width(summary) for summary in summaries), default=0.0)
    scale = Scale(-1.0, 1.0, left + 11, frame.width - PAD - room)
    step = 2 * THICK + 4
    bottom = top + step * len(rows)
    zero = scale.at(0.0)
    parts = [
        x_axis(scale, top=top - 2, bottom=bottom, label=frame.x_label),
        line(zero, top - 2, zero, bottom, class_="axis"),
    ]
    for number, (row, summary) in enumerate(zip(rows, summaries, strict=True)):
        y = top + step * (number + 0.5)
        parts += [row_label(row.label, left, y), _bubbles(row, scale, y)]
        parts.append(text(summary, frame.width - PAD, y + 4, class_="muted", anchor="end"))
    said = "; ".join(f"{row.label}: {d:,} down, {u:,} up" for row, (d, u) in zip(rows, moves, strict=True))
    return drawn(frame, bottom, said, top_part, *parts)


def latency_chart(frame: Frame, values_ms: Sequence[float], marks_ms: Mapping[str, float]) -> Drawing:
    """The share of requests that were answered by then; the marks stand where their names are."""
    ordered = sorted(value for value in values_ms if value > 0)
    is_log = bool(ordered) and ordered[-1] > 20 * ordered[0]
    low, high = log_bounds(ordered) if is_log else linear_bounds(ordered)
    top_part, top = head(frame, ())
    left = PAD + 8 + text_width("100 %")
    across = Scale(low, high, left, frame.width - PAD - 12, is_log)
    labels, top = _mark_labels(marks_ms, across, top)
    bottom = top + data_height(frame)
    up = Scale(0.0, 1.0, bottom, top)
    parts = [labels, x_axis(across, top=top, bottom=bottom, label=frame.x_label)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = up.at(share)
        parts.append(line(left, y, across.end, y, class_="grid"))
        parts.append(text(f"{share:.0%}".replace("%", " %"), left - 6, y + 4, class_="muted", anchor="end"))
    for ms in marks_ms.values():
        parts.append(line(across.at(ms), top - 2, across.at(ms), bottom, class_="l1 mark"))
    steps = [(across.at(ms), up.at(share)) for ms, share in _steps(ordered)]
    parts.append(path(_stairs(steps), "l0 line"))
    parts.append(line(left, bottom, across.end, bottom, class_="axis"))
    said = ", ".join(f"{name} {milliseconds(ms)}" for name, ms in marks_ms.items())
    return drawn(frame, bottom, f"{counted(len(ordered), 'request')}: {said}", top_part, *parts)


def _interval(one: Change, scale: Scale, y: float) -> Markup:
    span_class, dot_class = {None: ("even-line", "even"), True: ("l2", "f2"), False: ("l1", "f1")}[one.is_good]
    span = line(scale.at(one.low), y, scale.at(one.high), y, class_=f"wide {span_class}")
    told = tag("title", f"{one.label}: {signed(one.mean)} ({signed(one.low)} to {signed(one.high)})")
    return joined(span, tag("circle", told, cx=scale.at(one.mean), cy=y, r=5.0, class_=f"{dot_class} halo"))


def _bubbles(row: Dots, scale: Scale, y: float) -> Markup:
    places = Counter(round(value * PLACES) / PLACES for value in row.values if value != 0)
    most = max(LARGE, *places.values()) if places else LARGE
    parts: list[Markup] = []
    for place, count in sorted(places.items()):
        told = tag("title", f"{row.label}: {counted(count, 'question')} around {signed(place)}")
        kind = "f2" if place > 0 else "f1" if place < 0 else "even"
        radius = max(1.8, THICK * 0.7 * math.sqrt(count / most))
        parts.append(tag("circle", told, cx=scale.at(place), cy=y, r=radius, class_=f"{kind} soft"))
    return joined(*parts)


def _ups_and_downs(row: Dots) -> tuple[int, int]:
    return sum(value < 0 for value in row.values), sum(value > 0 for value in row.values)


def _mark_labels(marks_ms: Mapping[str, float], across: Scale, top: float) -> tuple[Markup, float]:
    """Names over the marks, in as many rows as they need to stay apart; and the pixel below them."""
    ends: list[float] = []  # how far each row reaches
    placed: list[tuple[str, float, int]] = []
    for name, ms in sorted(marks_ms.items(), key=lambda item: item[1]):
        words = f"{name} {milliseconds(ms)}"
        half = text_width(words) / 2
        x = min(max(across.at(ms), across.start + half), across.end - half)
        row = next((number for number, end in enumerate(ends) if end + 8 < x - half), len(ends))
        ends = [*ends[:row], x + half, *ends[row + 1 :]]
        placed.append((words, x, row))
    bottom = top + 16 * len(ends)
    parts = [text(words, x, bottom - 5 - 16 * row, anchor="middle") for words, x, row in placed]
    return joined(*parts), bottom


def _steps(ordered: Sequence[float]) -> list[tuple[float, float]]:
    """Which share of the values is not above which; thinned out where there are more than can be seen."""
    every = max(1, len(ordered) // STEPS)
    chosen = sorted({*range(0, len(ordered), every), len(ordered) - 1} if ordered else ())
    return [(ordered[number], (number + 1) / len(ordered)) for number in chosen]


def _stairs(steps: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    corners = [(after[0], before[1]) for before, after in pairwise(steps)]
    return [place for pair in zip(steps, [*corners, *steps[-1:]], strict=False) for place in pair]
