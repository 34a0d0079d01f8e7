"""OpenVINO on graphs that it is given, NAME=FILE each: tuned for throughput, batches in flight on all cores."""

import sys
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import openvino  # type: ignore[import-not-found]
from tokenizers import Tokenizer

from benchmarks.embedding.batching import Batch, Floats, exact_batches, padded_batches
from benchmarks.embedding.driver import Encode, serve
from citewise.adapters.onnx.wordpiece import uncased_tokenizer

Batches = Callable[[Tokenizer, Sequence[str]], Iterator[Batch]]
PRODUCER = b"\x12\x08citewise"  # protobuf: field 2, eight bytes


def main() -> None:
    tokenizer = uncased_tokenizer()
    encoders: dict[str, Encode] = {}
    for name, _, file in (argument.partition("=") for argument in sys.argv[1:]):
        model = compiled(Path(file))
        batchings: dict[str, Batches] = {"padded batches of 32": padded_batches, "exact lengths": exact_batches}
        for manner, batches in batchings.items():
            encoders[f"OpenVINO: {name}, {manner}"] = encoder(model, tokenizer, batches)
    serve(encoders)


def compiled(file: Path) -> openvino.CompiledModel:
    core = openvino.Core()
    model = core.read_model(model=BytesIO(readable(file.read_bytes())))
    return core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT"})


def readable(graph: bytes) -> bytes:
    """The graph with its producer named: without that field OpenVINO does not take the prepared one for ONNX."""
    version, rest = graph[:2], graph[2:]
    return graph if rest.startswith(PRODUCER[:1]) else version + PRODUCER + rest


def try_out(model: openvino.CompiledModel) -> None:
    """Raise what a run of three tokens raises: in the queue, a batch that fails may keep its place for ever."""
    (batch,) = exact_batches(uncased_tokenizer(), ["word"])
    model({port.any_name: batch.inputs[port.any_name] for port in model.inputs})


def encoder(model: openvino.CompiledModel, tokenizer: Tokenizer, batches: Batches) -> Encode:
    names = [port.any_name for port in model.inputs]
    queue = openvino.AsyncInferQueue(model)

    def encode(texts: Sequence[str]) -> Floats:
        try_out(model)
        vectors = np.zeros((len(texts), 384), np.float32)

        def done(request: openvino.InferRequest, batch: Batch) -> None:
            vectors[list(batch.positions)] = batch.unit_vectors(request.get_output_tensor(0).data)

        queue.set_callback(done)
        for batch in batches(tokenizer, texts):
            inputs = batch.inputs
            queue.start_async({name: inputs[name] for name in names}, batch)
        queue.wait_all()
        return vectors

    return encode


if __name__ == "__main__":
    main()
