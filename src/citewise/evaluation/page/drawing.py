"""What every chart has: a title, a legend, axes, colors. The kinds of charts are in charts.py."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from citewise.evaluation.page.markup import Markup, joined, tag
from citewise.evaluation.page.scale import Scale

COLUMN = 460.0  # pixels: as wide as a telephone and a column of a page can both show without tiny letters
PAD = 12.0  # pixels around everything
SIZE = 12.5  # pixels, of all letters but the title's
TITLE_SIZE = 14.5
EM = 0.6  # a letter's width as a part of its height, in the widest of the usual typefaces
THICK = 13.0  # pixels of a bar
APART = 12.0  # pixels between the rows of a chart
FOOT = 28.0  # pixels below the data for its ticks
LABEL = 18.0  # pixels more if the axis has a name
HIGH = 190.0  # pixels of data in a chart that is not made of rows, for each COLUMN of width
LABELS = 0.38  # at most this part of the width goes to the names of the rows
SERIES = 6  # colors there are; more lines than that cannot be told apart

# Each color has at least 3:1 against its surface, each text 4.5:1 (tests/unit/entry/page/test_style.py).
LIGHT = {
    "surface": "#ffffff",
    "ink": "#1b2026",
    "muted": "#59636e",
    "grid": "#e2e6ea",
    "axis": "#8a949e",
    "s0": "#2464a8",
    "s1": "#bf540a",
    "s2": "#0d7a6a",
    "s3": "#7a41b0",
    "s4": "#b5246a",
    "s5": "#6b6254",
}
DARK = {
    "surface": "#171b21",
    "ink": "#e8ebee",
    "muted": "#a3adb8",
    "grid": "#2c333b",
    "axis": "#707b86",
    "s0": "#6eaef2",
    "s1": "#f29a55",
    "s2": "#4cc4ad",
    "s3": "#c29bef",
    "s4": "#f084b1",
    "s5": "#b9b1a1",
}
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")


def variables(colors: dict[str, str]) -> str:
    return "".join(f"--{name}:{color};" for name, color in colors.items())


STYLE = (
    ".chart{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    f"font-size:{SIZE}px;font-variant-numeric:tabular-nums}}"
    ".chart text{fill:var(--ink)}.chart .muted{fill:var(--muted)}"
    f".chart .title{{font-size:{TITLE_SIZE}px;font-weight:600}}"
    ".chart .grid{stroke:var(--grid)}.chart .axis{stroke:var(--axis)}"
    ".chart .halo{stroke:var(--surface);stroke-width:1.5}.chart .soft{fill-opacity:.55}"
    ".chart .line{fill:none;stroke-width:2;stroke-linejoin:round}.chart .mark{stroke-dasharray:3 3}"
    ".chart .even{fill:var(--muted)}.chart .even-line{stroke:var(--muted)}.chart .wide{stroke-width:3}"
    + "".join(f".chart .f{n}{{fill:var(--s{n})}}.chart .l{n}{{stroke:var(--s{n})}}" for n in range(SERIES))
    + "".join(f".chart .l{n}.line{{stroke-dasharray:{dash}}}" for n, dash in enumerate(DASHES) if dash)
)


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the data."""

    title: str
    x_label: str = ""
    y_label: str = ""
    width: float = COLUMN


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished chart, to stand in a page or to be a file."""

    title: str
    description: str  # for those who cannot see it
    width: float
    height: float
    body: Markup

    def inline(self) -> Markup:
        """For a page that has the style and the variables itself."""
        return self._svg(self.body)

    def file(self) -> str:
        """With its own style, light and dark, and its own surface, so that it can be read on any page."""
        style = (
            f":root{{{variables(LIGHT)}}}"
            f"@media(prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
            f"{STYLE}.surface{{fill:var(--surface)}}"
        )
        surface = tag("rect", class_="surface", width=self.width, height=self.height, rx=6.0)
        return self._svg(tag("style", Markup(style)), surface, self.body, xmlns="http://www.w3.org/2000/svg") + "\n"

    def _svg(self, *inside: Markup, xmlns: str | None = None) -> Markup:
        size = {"width": self.width, "height": self.height}
        return tag(
            "svg",
            tag("title", self.title),
            tag("desc", self.description),
            *inside,
            xmlns=xmlns,
            class_="chart",
            role="img",
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            **size,
        )


def head(frame: Frame, names: Sequence[str], *, lines: bool = False) -> tuple[Markup, float]:
    """Title and legend, and the pixel below them."""
    rows = _wrapped(frame.title, int((frame.width - 2 * PAD) / (TITLE_SIZE * 0.58)))
    parts = [text(row, PAD, PAD + 13 + 18 * number, class_="title") for number, row in enumerate(rows)]
    bottom = PAD + 18 * len(rows)
    if len(names) > 1:
        legend, bottom = _legend(frame, names, bottom + 16, lines=lines)
        parts.append(legend)
    if frame.y_label:
        bottom += 17
        parts.append(text(frame.y_label, PAD, bottom, class_="muted"))
    return joined(*parts), bottom + 13


def text(words: str, x: float, y: float, *, class_: str | None = None, anchor: str | None = None) -> Markup:
    return tag("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, *, class_: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def x_axis(scale: Scale, *, top: float, bottom: float, label: str) -> Markup:
    """Ticks below, lines up through the data, and what the numbers mean."""
    parts: list[Markup] = []
    for value, written in scale.ticks:
        x = scale.at(value)
        parts += [
            line(x, top, x, bottom, class_="grid"),
            text(written, x, bottom + 16, class_="muted", anchor="middle"),
        ]
    parts.append(text(label, (scale.start + scale.end) / 2, bottom + 34, class_="muted", anchor="middle"))
    return joined(*parts[: None if label else -1])


def y_axis(scale: Scale, *, left: float, right: float) -> Markup:
    parts: list[Markup] = []
    for value, written in scale.ticks:
        y = scale.at(value)
        parts += [line(left, y, right, y, class_="grid"), text(written, left - 6, y + 4, class_="muted", anchor="end")]
    return joined(*parts)


def marker(kind: int, x: float, y: float, *inside: Markup) -> Markup:
    """A point of series `kind`: shape and color say the same, for those who cannot tell the colors."""
    r = 4.2
    class_ = f"f{kind % SERIES} halo"
    if kind % SERIES == 0:
        return tag("circle", *inside, cx=x, cy=y, r=r, class_=class_)
    shapes = (
        ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        ((0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
        ((-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)),
    )
    corners = " ".join(f"{x + r * dx:.1f},{y + r * dy:.1f}" for dx, dy in shapes[kind % SERIES - 1])
    return tag("polygon", *inside, points=corners, class_=class_)


def path(places: Sequence[tuple[float, float]], class_: str) -> Markup:
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places), class_=class_)


def label_column(frame: Frame, labels: Sequence[str]) -> float:
    widest = max((text_width(label) for label in labels), default=0.0)
    return PAD + 8 + min(widest, frame.width * LABELS)


def row_label(label: str, left: float, y: float) -> Markup:
    shown = fitted(label, left - PAD - 8)
    return tag(
        "text", shown, *([] if shown == label else [tag("title", label)]), x=left - 8, y=y + 4, text_anchor="end"
    )


def data_height(frame: Frame) -> float:
    return HIGH * min(1.5, frame.width / COLUMN)


def drawn(frame: Frame, bottom: float, said: str, *parts: Markup) -> Drawing:
    height = math.ceil(bottom + FOOT + (LABEL if frame.x_label else 0.0))
    return Drawing(frame.title, said, frame.width, height, joined(*parts))


def text_width(words: str) -> float:
    """About how many pixels the words take."""
    return SIZE * EM * _letters(words)


def fitted(words: str, width: float) -> str:
    """The words, cut with an ellipsis where they would be wider."""
    if text_width(words) <= width + 0.5:  # what was measured to fit still does after some arithmetic
        return words
    kept = words
    while kept and text_width(kept) + SIZE > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def _letters(words: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in words)


def _legend(frame: Frame, names: Sequence[str], y: float, *, lines: bool) -> tuple[Markup, float]:
    parts: list[Markup] = []
    x, mark = PAD, 26.0 if lines else 12.0
    for number, name in enumerate(names):
        shown = fitted(name, frame.width - 2 * PAD - mark - 6)
        width = mark + 6 + text_width(shown) + 14
        if x > PAD and x + width > frame.width - PAD:
            x, y = PAD, y + 18
        if lines:
            parts += [
                line(x, y - 4, x + mark, y - 4, class_=f"l{number % SERIES} line"),
                marker(number, x + mark / 2, y - 4),
            ]
        else:
            parts.append(tag("rect", x=x, y=y - 10, width=mark, height=11.0, rx=2.0, class_=f"f{number % SERIES}"))
        parts.append(text(shown, x + mark + 6, y))
        x += width
    return joined(*parts), y + 4


def _wrapped(words: str, letters: int) -> list[str]:
    """Rows of at most so many letters, cut between words; at most three."""
    rows = [""]
    for word in words.split():
        if rows[-1] and _letters(rows[-1]) + 1 + _letters(word) > letters:
            rows.append("")
        rows[-1] = f"{rows[-1]} {word}".strip()
    if len(rows) > 3:
        rows = [*rows[:2], f"{rows[2]}…"]
    return [row if _letters(row) <= letters else f"{row[: letters - 1]}…" for row in rows]
