"""results/*.json -> results/README.md: every table that was measured.

`python -m benchmarks.bench_page` writes it; tests/fences/test_results_page.py checks that it is up to date.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.results import RESULTS, Cell, Machine, Results, Table, read_results

ABSENT = "\u2013"
PAGE = "README.md"
HEADER = """<!-- Generated from *.json by `make bench-page`; do not edit. -->

# Results

Every table here was written by a program in `benchmarks/`, with its commit and its machine. Times on shared cores vary
from run to run: trust ratios within one run. [docs/benchmarks.md](../../docs/benchmarks.md) explains what is measured.
"""
# What is measured: the name of its results, the title of its section, and the command. A part without results gets a
# section that says so.
KNOWN: Mapping[str, tuple[str, str]] = {
    "answers": ("Answers: what people read", "make bench-answers"),
    "access": ("Access, cache, log and pages", "make bench-access"),
    "compression": ("Compression of contexts", "make bench-compression"),
    "defaults": ("Defaults", "make bench-defaults"),
    "embedding": ("Embedding: what the machine can do", "make bench-embedding"),
    "late-interaction": ("Late interaction", "make bench-late"),
    "peers": ("citewise beside what one would take instead", "make bench-peers"),
    "quality": ("Quality: every judged set", "make bench-quality"),
    "quality-score": ("Quality score: what it is worth", "make bench-quality-score"),
    "seals": ("Verified text", "make bench-seals"),
    "speed": ("Speed of search", "make bench-speed"),
}


def main() -> None:
    (RESULTS / PAGE).write_text(page_of(RESULTS), encoding="utf-8")
    print(f"wrote {RESULTS / PAGE}")


def page_of(results: Path) -> str:
    """The page for the results in a folder."""
    found = {path.stem: read_results(path) for path in sorted(results.glob("*.json"))}
    names = sorted({*found, *KNOWN})
    return HEADER + "".join(_section(found[name]) if name in found else _missing(name) for name in names)


def markdown_table(table: Table) -> str:
    """The table, numbers to the right; a number is rounded, a text is shown as it is."""
    ends = ["---:" if is_numeric(column) else "---" for column in zip(*table.rows, strict=True)]
    lines = [
        table.columns,
        ends or ["---"] * len(table.columns),
        *([cell(value) for value in row] for row in table.rows),
    ]
    return "\n".join("| " + " | ".join(_escaped(text) for text in line) + " |" for line in lines)


def cell(value: Cell) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else _figure(value)


def _figure(value: float) -> str:
    """About three digits, whole numbers in full: 0.735, 12.3, 1,967."""
    if value == int(value):
        return f"{int(value):,}".replace("-", "\u2212")
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return (f"{value:,.{decimals}f}" if size >= 0.001 else f"{value:.2g}").replace("-", "\u2212")


def _section(results: Results) -> str:
    parts = [f"## {_escaped(results.title or results.name)}", _made(results)]
    for table in results.tables:
        parts.append(f"### {_escaped(table.title)}")
        parts += [_escaped(table.note)] if table.note else []
        parts += [f"Target: {_escaped(table.wanted)}"] if table.wanted else []
        parts.append(markdown_table(table))
    return "".join(f"\n{part}\n" for part in parts)


def _missing(name: str) -> str:
    title, command = KNOWN[name]
    return f"\n## {_escaped(title)}\n\nNo results: run `{command}`.\n"


def _made(results: Results) -> str:
    command = f"`{results.command}`, " if results.command else ""
    return f"{command}commit `{_escaped(results.commit)}`, {_escaped(results.made_at)}; {_machine(results.machine)}."


def _machine(machine: Machine) -> str:
    instructions = f" ({', '.join(machine.instructions)})" if machine.instructions else ""
    said = f"{machine.cores} cores of {machine.cpu}{instructions}, {machine.memory_gb:g} GB"
    return _escaped(f"{said}, {machine.system}, Python {machine.python}")


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
