"""Tables as a terminal shows them, and words on the way that are no part of what is measured."""

import sys
from collections.abc import Sequence

from benchmarks.bench_page import cell, is_numeric
from benchmarks.results import Cell, Results, Table, write_results

DECIMALS = 4  # of a metric, where nothing else is said; the page rounds further


def publish(results: Results, *, decimals: int) -> None:
    """Print what was measured, and keep it for the page."""
    for table in results.tables:
        print(f"\n{printed(table, decimals=decimals)}")
    print(f"\nwrote {write_results(results)}")


def printed(table: Table, *, decimals: int = DECIMALS) -> str:
    """The table with its columns under each other, numbers to the right."""
    lines = [table.columns, *(tuple(_text(value, decimals) for value in row) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    are_numeric = [is_numeric([row[at] for row in table.rows]) for at in range(len(table.columns))]
    wanted = f" (wanted: {table.wanted})" if table.wanted else ""
    return "\n".join([f"{table.title}{wanted}", *(_line(line, widths, are_numeric) for line in lines)])


def _line(texts: Sequence[str], widths: Sequence[int], are_numeric: Sequence[bool]) -> str:
    aligned = (
        text.rjust(width) if is_right else text.ljust(width)
        for text, width, is_right in zip(texts, widths, are_numeric, strict=True)
    )
    return "  ".join(aligned).rstrip()


def _text(value: Cell, decimals: int) -> str:
    return f"{value:,.{decimals}f}" if isinstance(value, float) else cell(value)


def say(what: str) -> None:
    """Where one has got to; beside the output, which may be JSON."""
    print(what, file=sys.stderr, flush=True)
