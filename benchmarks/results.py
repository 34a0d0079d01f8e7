"""What a benchmark program writes: tables as JSON, with the commit and the machine they belong to.

`results_now` fills in the commit and the machine; bench_page.py makes results/README.md of all files in `results/`.
"""

import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from citewise.errors import BadData, BadRequest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
GENERATED = ("benchmarks/results",)  # what measuring changes does not make it dirty
INSTRUCTIONS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "asimd")  # those that vector arithmetic is quick by

Cell = bool | int | float | str | None
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
    title: str = ""
    command: str = ""  # that measures it again

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadRequest(f"{self.name!r} is no name for results: use small letters, digits and hyphens")


def results_now(
    name: str,
    *,
    tables: Sequence[Table] = (),
    title: str = "",
    command: str = "",
) -> Results:
    """Results of this commit on this machine."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Results(name, commit_now(), made_at, this_machine(), tuple(tables), title, command)


def write_results(results: Results, folder: Path = RESULTS) -> Path:
    """Replace what an earlier run of the same program wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{results.name}.json"
    text = json.dumps(asdict(results), ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read_results(path: Path) -> Results:
    """The results in a file; BadData says what is wrong with it."""
    try:
        results = TypeAdapter(Results).validate_json(path.read_bytes())
    except (OSError, ValueError, BadRequest) as error:
        raise BadData(f"{path.name} was not written by write_results ({error}): measure again") from error
    if results.name != path.stem:
        raise BadData(f"{path.name} contains the name {results.name!r}: rename it")
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


def _check(where: str, values: Sequence[float]) -> None:
    for value in values:
        if not math.isfinite(value):
            raise BadRequest(f"{where}: {value} is not a result; leave it out")
