"""Ways of embedding that run in this process, on onnxruntime: graphs, batching, threads, options."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.embedding.batching import Batch, Floats, padded_batches
from citewise.adapters.onnx import MINILM
from citewise.adapters.onnx.embedder import OnnxEmbedder
from citewise.adapters.onnx.minilm import BATCH_TOKENS
from citewise.adapters.onnx.runtime import TextModel, onnxruntime
from citewise.model.chunk import Vector

Session: TypeAlias = onnxruntime.InferenceSession
Encode = Callable[[Sequence[str]], Floats]
LEVELS = {
    "off": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


@dataclass(frozen=True, slots=True)
class Timed:
    """Vectors, and what they took: on the wall clock, and of all cores together."""

    vectors: Floats
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Encoder:
    """One encoder from texts to vectors."""

    name: str
    run: Callable[[Sequence[str]], Timed]


def timed(encode: Encode) -> Callable[[Sequence[str]], Timed]:
    def run(texts: Sequence[str]) -> Timed:
        started, used = time.perf_counter(), time.process_time()
        vectors = encode(texts)
        return Timed(vectors, time.perf_counter() - started, time.process_time() - used)

    return run


def matrix(vectors: Sequence[Vector]) -> Floats:
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)


def session(graph: Path, *, threads: int = 1, level: str = "all") -> Session:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    options.graph_optimization_level = LEVELS[level]
    return Session(str(graph), options, providers=["CPUExecutionProvider"])


class Sessions:
    """Looks like one session to an embedder; as many runs at once as it holds, each on a session of its own."""

    def __init__(self, *sessions: Session) -> None:
        self._first = sessions[0]
        self._free: SimpleQueue[Session] = SimpleQueue()
        for free in sessions:
            self._free.put(free)

    def get_inputs(self) -> list[onnxruntime.NodeArg]:
        found: list[onnxruntime.NodeArg] = self._first.get_inputs()
        return found

    def get_outputs(self) -> list[onnxruntime.NodeArg]:
        found: list[onnxruntime.NodeArg] = self._first.get_outputs()
        return found

    def run(self, names: Sequence[str] | None, feed: Mapping[str, NDArray[np.generic]]) -> list[Floats]:
        engine = self._free.get()
        try:
            found: list[Floats] = engine.run(names, feed)
            return found
        finally:
            self._free.put(engine)


def embedded(engine: Session | Sessions, tokenizer: Tokenizer, *, batch_tokens: int = BATCH_TOKENS) -> Encode:
    """citewise's own embedder, over another session or with other batches."""
    embedder = OnnxEmbedder(TextModel(engine, tokenizer, title="it"), model=MINILM, batch_tokens=batch_tokens)
    return lambda texts: matrix(embedder.documents(texts))


def padded(engine: Session, tokenizer: Tokenizer) -> Encode:
    """One padded batch after the other, each on all threads of the session."""

    def encode(texts: Sequence[str]) -> Floats:
        return in_order(len(texts), ((batch, run_batch(engine, batch)) for batch in padded_batches(tokenizer, texts)))

    return encode


def run_batch(engine: Session, batch: Batch) -> Floats:
    """Unit vectors of a batch; a graph that takes no mask is not told what is padding."""
    inputs = batch.inputs
    return batch.unit_vectors(engine.run(None, {port.name: inputs[port.name] for port in engine.get_inputs()})[0])


def in_order(count: int, found: Iterable[tuple[Batch, Floats]]) -> Floats:
    """The batches' vectors, each where its text stands."""
    vectors = np.zeros((count, MINILM.dimensions), np.float32)
    for batch, rows in found:
        vectors[list(batch.positions)] = rows
    return vectors
