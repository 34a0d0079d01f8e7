"""results/*.json -> docs/measured.md and docs/plots/*.svg. No number on that page was typed by anybody.

`python -m benchmarks.bench_page` writes them; tests/fences/test_measured_page.py checks that they are what it writes.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.results import RESULTS, ROOT, BarPlot, Cell, LinePlot, Machine, Results, Table, read_results
from citewise.evaluation.page.charts import Bar, Series, bar_chart, line_chart
from citewise.evaluation.page.drawing import Drawing, Frame
from citewise.evaluation.page.figures import ABSENT, figure

DOCS = ROOT / "docs"
WIDE = 720.0  # pixels of a plot: as wide as a page of documentation
HEADER = """<!-- Generated from benchmarks/results/*.json by `python -m benchmarks.bench_page`; not to be edited. -->

# Measured

Every table and plot of this page is made from what the programs in `benchmarks/` wrote, each with its commit and its
machine. Times on shared cores vary from run to run: trust ratios within one run.
"""
# What is measured: the name of its results, the title of its section, and what measures it. A part whose results are
# not there is a section that says so.
KNOWN: Mapping[str, tuple[str, str]] = {
    "access": ("Access, cache, log and pages", "make bench-access"),
    "cache": ("Semantic cache", "make bench-cache"),
    "compression": ("Compression of contexts", "make bench-compression"),
    "defaults": ("Defaults", "make bench-defaults"),
    "embedding": ("Embedding: what the machine can do", "make bench-embedding"),
    "late-interaction": ("Late interaction", "make bench-late"),
    "peers": ("citewise beside what one would take instead", "make bench-peers"),
    "quality": ("Quality: every judged set", "make bench-quality"),
    "quality-score": ("Quality score: what it is worth", "make bench-quality-score"),
    "speed": ("Speed of search", "make bench-speed"),
}


def main() -> None:
    write_page(RESULTS, DOCS)
    print(f"wrote {DOCS / 'measured.md'}")


def write_page(results: Path, docs: Path) -> None:
    """Write the page and its plots, and take away plots that no results have any more."""
    made = page_files(results)
    for stale in (docs / "plots").glob("*.svg"):
        if f"plots/{stale.name}" not in made:
            stale.unlink()
    for name, text in made.items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def page_files(results: Path) -> Mapping[str, str]:
    """Every file of the page by its place under docs/."""
    found = {path.stem: read_results(path) for path in sorted(results.glob("*.json"))}
    names = sorted({*found, *KNOWN})
    sections = [_section(found[name]) if name in found else _missing(name) for name in names]
    plots = {_plot_path(one, n): drawn(plot).file() for one in found.values() for n, plot in enumerate(one.plots, 1)}
    return {"measured.md": HEADER + "".join(sections), **plots}


def drawn(plot: LinePlot | BarPlot) -> Drawing:
    if isinstance(plot, LinePlot):
        frame = Frame(plot.title, plot.x_label, plot.y_label, WIDE)
        series = [Series(one.name, one.points) for one in plot.series]
        return line_chart(frame, series, log_x=plot.log_x, log_y=plot.log_y)
    names = list(dict.fromkeys(bar.series for bar in plot.bars))
    labels = dict.fromkeys(bar.label for bar in plot.bars)
    values = {(bar.label, bar.series): bar.value for bar in plot.bars}
    bars = [Bar(label, tuple(values.get((label, name)) for name in names)) for label in labels]
    return bar_chart(Frame(plot.title, plot.x_label, width=WIDE), bars, names=names, is_log=plot.log_x)


def markdown_table(table: Table) -> str:
    """The table, numbers to the right; a number is rounded, a text is shown as it is."""
    ends = ["---:" if is_numeric(column) else "---" for column in zip(*table.rows, strict=True)]
    lines = [table.columns, ends or ["---"] * len(table.columns), *([cell(one) for one in row] for row in table.rows)]
    return "\n".join("| " + " | ".join(_escaped(one) for one in line) + " |" for line in lines)


def cell(value: Cell) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else figure(value)


def _section(results: Results) -> str:
    parts = [f"## {_escaped(results.title or results.name)}", _made(results)]
    for table in results.tables:
        parts.append(f"### {_escaped(table.title)}")
        parts += [_escaped(table.note)] if table.note else []
        parts += [f"Wanted: {_escaped(table.wanted)}"] if table.wanted else []
        parts.append(markdown_table(table))
    for number, plot in enumerate(results.plots, 1):
        parts.append(f"![{_alternative(plot)}]({_plot_path(results, number)})")
    return "".join(f"\n{part}\n" for part in parts)


def _missing(name: str) -> str:
    title, command = KNOWN[name]
    return f"\n## {_escaped(title)}\n\nNo results are kept of this part: `{command}` measures it.\n"


def _made(results: Results) -> str:
    command = f"`{results.command}`, " if results.command else ""
    return f"{command}commit `{_escaped(results.commit)}`, {_escaped(results.made_at)}; {_machine(results.machine)}."


def _machine(machine: Machine) -> str:
    instructions = f" ({', '.join(machine.instructions)})" if machine.instructions else ""
    said = f"{machine.cores} cores of {machine.cpu}{instructions}, {machine.memory_gb:g} GB"
    return _escaped(f"{said}, {machine.system}, Python {machine.python}")


def _plot_path(results: Results, number: int) -> str:
    return f"plots/{results.name}-{number}.svg"


def _alternative(plot: LinePlot | BarPlot) -> str:
    return _escaped(plot.title).replace("[", "(").replace("]", ")")


def is_numeric(column: Sequence[Cell]) -> bool:
    """Whether it is read from the right: all that it knows are numbers."""
    known = [value for value in column if value is not None]
    return bool(known) and all(_is_number(value) for value in known)


def _is_number(value: Cell) -> bool:
    """Also of a text: `12.3 ms` and `94 %` are to be compared with what stands above them."""
    if isinstance(value, str):
        return re.match(r"[<>~±+\u2212-]?\s?\d", value) is not None
    return not isinstance(value, bool) and value is not None and math.isfinite(value)


def _escaped(text: str) -> str:
    """On one line, and no markup of its own but code and emphasis."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


if __name__ == "__main__":
    main()
