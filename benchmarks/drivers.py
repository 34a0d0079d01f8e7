"""Programs in environments and processes of their own: made once and kept, silent, spoken to by lines."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from benchmarks.results import ROOT
from citewise.errors import Unavailable

INSTALL_SECONDS = 1_200  # txtai's packages alone are over a gigabyte
STOP_SECONDS = 10.0  # for a program to end by itself once its input is closed
SILENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "LANCEDB_LOG": "error",  # it would write two warnings a question; no method of its Python queries says otherwise
    "PYTHONWARNINGS": "ignore",
}


class DriverProcess:
    """A running program that is told and heard by lines; Unavailable with its last words once it has stopped."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, answer_seconds: float) -> None:
        self._process = process
        self._log = log
        self._answer_seconds = answer_seconds

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            print(line, file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise self._stopped() from error

    def receive(self) -> str:
        """Its next line. One that keeps silent for too long is stopped."""
        assert self._process.stdout is not None
        watch = Timer(self._answer_seconds, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            raise self._stopped()
        return line

    def _stopped(self) -> Unavailable:
        return Unavailable(f"the driver stopped: {last_line(self._log.read_text('utf-8', 'replace'))}")


@contextmanager
def driver_process(
    command: Sequence[str], *, log: Path, environment: Mapping[str, str], answer_seconds: float
) -> Iterator[DriverProcess]:
    """The program for as long as it is needed, and not longer; what it writes to standard error is in the log."""
    with log.open("w", encoding="utf-8") as written:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
        try:
            yield DriverProcess(process, log, answer_seconds)
        finally:
            _stop(process)


def _stop(process: "subprocess.Popen[str]") -> None:
    try:
        process.communicate(timeout=STOP_SECONDS)  # closes its input, which ends it
    except (subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        process.communicate()  # waits for it, and closes its pipes


def make_environment(folder: Path, recipe: str, installs: Iterable[Sequence[str]]) -> None:
    """A virtual environment, one `pip install` after the other, unless it was made of this recipe already."""
    if is_made(folder, recipe):
        return
    shutil.rmtree(folder, ignore_errors=True)
    quietly([sys.executable, "-m", "venv", str(folder)])
    for packages in installs:
        quietly([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages])
    (folder / "recipe").write_text(recipe, "utf-8")


def is_made(folder: Path, recipe: str) -> bool:
    made = folder / "recipe"
    return made.exists() and made.read_text("utf-8") == recipe


def quietly(command: Sequence[str], seconds: float = INSTALL_SECONDS) -> str:
    """What the command printed; Unavailable with its last words where it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=silent_environment())
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{_short(command)} took longer than {seconds:.0f} s") from error
    if done.returncode:
        raise Unavailable(f"{_short(command)} failed: {last_line(done.stderr)}")
    return done.stdout


def silent_environment() -> dict[str, str]:
    """The user's, without what would set citewise up otherwise, and with all telemetry off."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("CITEWISE_", "PYTHONPATH"))}
    return own | SILENT


def last_line(text: str) -> str:
    """The last words of a log, without paths of this machine."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else "it said nothing").replace(str(ROOT), ".")[:200]


def _short(command: Sequence[str]) -> str:
    return " ".join(Path(part).name for part in command[:5])
