"""Virtual environments below `.bench/peers`, one a contender: made once, kept, measured, run without a network."""

import json
import os
import signal
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.drivers import last_line, make_environment, quietly, silent_environment
from benchmarks.judged import KEPT
from benchmarks.peers.contenders import Contender
from benchmarks.results import ROOT
from citewise.model.ids import digest

PINS = Path(__file__).parent / "pins"
HOME = KEPT / "peers"
OURS = ROOT / "src" / "citewise"
IMPORTS = 5  # fresh processes, of which the median counts
IMPORT_SECONDS = 60
NOT_COUNTED = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources", "distutils-precedence")
TIMED = "import time; started = time.perf_counter(); exec({imports!r}); print(time.perf_counter() - started)"


@dataclass(frozen=True, slots=True)
class Install:
    """What a framework brings along."""

    version: str
    megabytes: float
    packages: int
    import_seconds: float


def python_of(contender: Contender) -> Path:
    """Its interpreter, in an environment that is made where it is missing or was made of something else."""
    python = python_in(contender)
    make_environment(python.parents[1], recipe_of(contender), installs(contender))
    return python


def python_in(contender: Contender) -> Path:
    """Where its interpreter is, or would be."""
    return HOME / "venvs" / contender.name / "bin" / "python"


def installs(contender: Contender) -> Iterator[Sequence[str]]:
    """The arguments of each `pip install`, in order; ourselves come from the checkout."""
    if contender.first:
        yield contender.first
    pins = PINS / f"{contender.name}.txt"
    yield ("-r", str(pins)) if pins.exists() else ("-c", str(ROOT / "constraints.txt"), str(ROOT))


def recipe_of(contender: Contender) -> str:
    """Changes when the environment has to be made anew: with the pins, or with our own code."""
    pins = PINS / f"{contender.name}.txt"
    if pins.exists():
        return digest(*contender.first, pins.read_text("utf-8"))
    files = [ROOT / "pyproject.toml", *sorted(file for file in OURS.rglob("*") if file.suffix != ".pyc")]
    return digest(*(file.read_bytes() for file in files if file.is_file()))


def measured(contender: Contender, python: Path) -> Install:
    site = next((python.parents[1] / "lib").glob("python*/site-packages"))
    listed = quietly([str(python), "-m", "pip", "list", "--format", "json"])
    versions = {package["name"].lower(): package["version"] for package in json.loads(listed)}
    timed = TIMED.format(imports=contender.imports)
    seconds = [float(quietly([str(python), "-c", timed], IMPORT_SECONDS).split()[-1]) for _ in range(IMPORTS)]
    return Install(
        version=versions.get(contender.package, "?"),
        megabytes=sum(file.stat().st_size for file in counted(site)) / 1e6,
        packages=len(versions.keys() - set(NOT_COUNTED)),
        import_seconds=statistics.median(seconds),
    )


def counted(site: Path) -> Iterator[Path]:
    """The files of all packages but the installer's own."""
    for entry in site.iterdir():
        if not entry.name.startswith(NOT_COUNTED):
            files = entry.rglob("*") if entry.is_dir() else iter([entry])
            yield from (file for file in files if file.is_file() and not file.is_symlink())


def drive(contender: Contender, python: Path, job: Path, seconds: float) -> str | None:
    """Run the driver; why it stopped early, if it did. Whatever it started is stopped with it."""
    log = job.with_name("log.txt")
    command = [str(python), "-m", f"benchmarks.peers.{contender.name}_driver", str(job)]
    with log.open("w", encoding="utf-8") as written:
        driver = subprocess.Popen(
            command, cwd=ROOT, env=silent_environment(), stdout=written, stderr=written, start_new_session=True
        )
        try:
            driver.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"stopped after {seconds:.0f} s"
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()
    return last_line(log.read_text("utf-8", "replace")) if driver.returncode else None
