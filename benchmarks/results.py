"""What a benchmark program leaves behind: tables and plots as JSON, with the commit and the machine they belong to.

`results_now` fills in the commit and the machine; bench_page.py makes docs/measured.md of everything in `results/`.
"""

import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, TypeVar

from citewise.errors import BadData, BadRequest
from citewise.evaluation.page.drawing import SERIES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
GENERATED = ("benchmarks/results", "docs/measured.md", "docs/plots")  # what measuring changes does not make it dirty
INSTRUCTIONS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "asimd")  # those that vector arithmetic is quick by

Cell = str | int | float | bool | None
Made = TypeVar("Made")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as they were measured; the page rounds them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    wanted: str | None = None  # what was to be reached, in words

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise BadRequest(f"table {self.title!r}: a row has {len(row)} cells for {len(self.columns)} columns")
            _check(f"table {self.title!r}", [value for value in row if isinstance(value, float)])


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class LinePlot:
    """A line a series; a logarithmic axis takes values above zero only."""

    title: str
    series: tuple[Line, ...]
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False

    def __post_init__(self) -> None:
        _check_series(self.title, len(self.series))
        points = [point for line in self.series for point in line.points]
        _check(f"plot {self.title!r}", [x for x, _ in points], is_log=self.log_x)
        _check(f"plot {self.title!r}", [y for _, y in points], is_log=self.log_y)


@dataclass(frozen=True, slots=True)
class OneBar:
    label: str
    value: float
    series: str = ""


@dataclass(frozen=True, slots=True)
class BarPlot:
    """Lying bars: values run along x, so `x_label` says what they are and `log_x` spreads them."""

    title: str
    bars: tuple[OneBar, ...]
    x_label: str = ""
    log_x: bool = False

    def __post_init__(self) -> None:
        _check_series(self.title, len({bar.series for bar in self.bars}))
        _check(f"plot {self.title!r}", [bar.value for bar in self.bars], is_log=self.log_x)


@dataclass(frozen=True, slots=True)
class Machine:
    """What a reader needs to judge a time by; nothing that tells whose machine it was."""

    cores: int
    cpu: str
    instructions: tuple[str, ...]
    memory_gb: float
    system: str
    python: str


@dataclass(frozen=True, slots=True)
class Results:
    """Everything one program measured."""

    name: str  # also the file's: small letters, digits and hyphens
    commit: str
    made_at: str
    machine: Machine
    tables: tuple[Table, ...] = ()
    plots: tuple[LinePlot | BarPlot, ...] = ()
    title: str = ""
    command: str = ""  # that measures it again

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadRequest(f"{self.name!r} is no name for results: use small letters, digits and hyphens")


def results_now(
    name: str,
    *,
    tables: Sequence[Table] = (),
    plots: Sequence[LinePlot | BarPlot] = (),
    title: str = "",
    command: str = "",
) -> Results:
    """Results of this commit on this machine."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Results(name, commit_now(), made_at, this_machine(), tuple(tables), tuple(plots), title, command)


def write_results(results: Results, folder: Path = RESULTS) -> Path:
    """Replace what an earlier run of the same program left."""
    kinds = ["lines" if isinstance(plot, LinePlot) else "bars" for plot in results.plots]
    plots = [{"kind": kind, **asdict(plot)} for kind, plot in zip(kinds, results.plots, strict=True)]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{results.name}.json"
    text = json.dumps({**asdict(results), "plots": plots}, ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read_results(path: Path) -> Results:
    """What a file holds; BadData says which part of it is not as it should be."""
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
        results = _results(found)
    except (OSError, KeyError, TypeError, ValueError, BadRequest) as error:
        raise BadData(f"{path.name} is not what write_results makes ({error}): measure again") from error
    if results.name != path.stem:
        raise BadData(f"{path.name} says that its name is {results.name!r}: rename it")
    return results


def commit_now(root: Path = ROOT) -> str:
    """The commit that is measured, "+changes" if the code differs from it, "unknown" outside a checkout."""
    excluded = [f":(exclude){path}" for path in GENERATED]
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changes = _git(root, "status", "--porcelain", "--", ".", *excluded)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}+changes" if changes else commit


def this_machine() -> Machine:
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        told = ""
    model = re.search(r"^model name\s*:\s*(.+)$", told, re.MULTILINE)
    flags = set(" ".join(re.findall(r"^(?:flags|Features)\s*:\s*(.+)$", told, re.MULTILINE)).split())
    return Machine(
        cores=os.cpu_count() or 1,
        cpu=" ".join(model[1].split()) if model else platform.machine(),
        instructions=tuple(name for name in INSTRUCTIONS if name in flags),
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        system=platform.system(),
        python=platform.python_version(),
    )


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def _check(where: str, values: Sequence[float], *, is_log: bool = False) -> None:
    for value in values:
        if not math.isfinite(value):
            raise BadRequest(f"{where}: {value} is no result; leave it out")
        if is_log and value <= 0:
            raise BadRequest(f"{where}: {value} has no place on a logarithmic axis")


def _check_series(title: str, series: int) -> None:
    if series > SERIES:
        raise BadRequest(f"plot {title!r}: {series} series cannot be told apart; at most {SERIES} can")


def _results(found: object) -> Results:
    return Results(
        name=_text(found, "name"),
        commit=_text(found, "commit"),
        made_at=_text(found, "made_at"),
        machine=_machine(_at(found, "machine")),
        tables=_each(_at(found, "tables"), _table),
        plots=_each(_at(found, "plots"), _plot),
        title=_text(found, "title", ""),
        command=_text(found, "command", ""),
    )


def _machine(found: object) -> Machine:
    return Machine(
        cores=int(_number(_at(found, "cores"))),
        cpu=_text(found, "cpu"),
        instructions=_each(_at(found, "instructions"), str),
        memory_gb=_number(_at(found, "memory_gb")),
        system=_text(found, "system"),
        python=_text(found, "python"),
    )


def _table(found: object) -> Table:
    wanted = _text(found, "wanted", "")
    rows = _each(_at(found, "rows"), lambda row: _each(row, _cell))
    return Table(
        _text(found, "title"), _each(_at(found, "columns"), str), rows, _text(found, "note", ""), wanted or None
    )


def _plot(found: object) -> LinePlot | BarPlot:
    kind, title, x_label = _text(found, "kind"), _text(found, "title"), _text(found, "x_label", "")
    log_x, log_y = (_at(found, key, False) is True for key in ("log_x", "log_y"))
    if kind == "lines":
        series = _each(_at(found, "series"), lambda one: Line(_text(one, "name"), _each(_at(one, "points"), _point)))
        return LinePlot(title, series, x_label, _text(found, "y_label", ""), log_x, log_y)
    if kind != "bars":
        raise ValueError(f"plot {title!r}: kind is {kind!r}, not lines or bars")
    return BarPlot(title, _each(_at(found, "bars"), _bar), x_label, log_x)


def _bar(found: object) -> OneBar:
    return OneBar(_text(found, "label"), _number(_at(found, "value")), _text(found, "series", ""))


def _point(found: object) -> tuple[float, float]:
    x, y = _each(found, _number)
    return x, y


def _at(found: object, key: str, default: object = ...) -> object:
    if not isinstance(found, Mapping):
        raise TypeError(f"{key!r} is missing: {found!r} is no object")
    if key not in found and default is ...:
        raise KeyError(f"{key} is missing")
    value: object = found.get(key, default)
    return value


def _text(found: object, key: str, default: str | None = None) -> str:
    """Text under a key; null and absence are the default, if there is one."""
    value = _at(found, key, ... if default is None else default)
    if value is None and default is not None:
        return default
    return value if isinstance(value, str) else _refuse(f"{key} is no text", value)


def _number(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        _refuse("a number is wanted", found)
    return found


def _cell(found: object) -> Cell:
    return found if found is None or isinstance(found, str | int | float) else _refuse("no cell of a table", found)


def _each(found: object, made: Callable[[object], Made]) -> tuple[Made, ...]:
    return tuple(made(one) for one in found) if isinstance(found, list) else _refuse("a list is wanted", found)


def _refuse(why: str, found: object) -> NoReturn:
    raise ValueError(f"{why}: {str(found)[:80]!r}")
