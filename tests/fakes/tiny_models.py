"""Models small enough to write in a test: real ONNX files, a real tokenizer, and numbers that mean something.

The logit of the cross-encoder grows with the share of the question's tokens that the passage has; stop words count
little, marks not at all. So it is a cross-encoder with one layer of attention over one-hot embeddings. The token
classifier drops stop words and marks (their logits say -2) and keeps everything else (2): LLMLingua-2 with one layer
that looks up a token.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from citewise.adapters.onnx.wordpiece import uncased_tokenizer

STOP_WORD = 0.1  # its weight; any other word has 1
HEADS = {1: [[1.0]], 2: [[-0.5, 0.5]], 3: [[0.2, 0.3, 0.5]]}  # logit -> labels
SCALE, SHIFT = 8.0, -4.0  # no word found: -4, all found: 4
SURE = 2.0  # logits


class TinyGraph:
    """A graph being written: nodes in the order they run, weights by name."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, NDArray[np.generic]] = {}

    def weight(self, name: str, values: NDArray[np.generic]) -> str:
        self._weights[name] = values
        return name

    def add(self, op: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Append a node; the name of its output."""
        output = output or f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def model(self, inputs: Sequence[str], shape: Sequence[int], outputs: Mapping[str, Sequence[int]]) -> bytes:
        """The file; every input is of whole numbers and this shape, in which 0 stands for any length."""

        def info(name: str, kind: int, sizes: Sequence[int]) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, kind, [size or f"any{at}" for at, size in enumerate(sizes)])

        graph = helper.make_graph(
            self._nodes,
            "tiny",
            [info(name, TensorProto.INT64, shape) for name in inputs],
            [info(name, TensorProto.FLOAT, sizes) for name, sizes in outputs.items()],
            [numpy_helper.from_array(np.asarray(array), name) for name, array in self._weights.items()],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        return bytes(made.SerializeToString())


def _write(folder: Path, model_of: Callable[[Tokenizer], bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = uncased_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(model_of(tokenizer))


def _stop_words() -> set[str]:
    return set(files("citewise").joinpath("data", "stop-words-en.txt").read_text("utf-8").split())


def write_tiny_cross_encoder(folder: Path) -> None:
    """Put model.onnx and tokenizer.json into the folder."""
    _write(folder, tiny_cross_encoder)


def tiny_cross_encoder(tokenizer: Tokenizer, *, labels: int = 1, scale: float = SCALE, tokens: int = 0) -> bytes:
    """The model file; with `tokens` it takes pairs of that length only."""
    graph = TinyGraph()
    weight = graph.add("Gather", [graph.weight("weights", _weights(tokenizer)), "input_ids"])
    seen = graph.add("Mul", [weight, graph.add("Cast", ["attention_mask"], to=1)])
    passage = graph.add("Cast", ["token_type_ids"], to=1)
    question = graph.add("Sub", [_number(graph, "one", 1.0), passage])
    asked = graph.add("Mul", [seen, question])
    said = graph.add("Mul", [graph.add("Sign", [seen]), passage])
    found = graph.add("Mul", [asked, _found(graph, said)])
    total = graph.add("Max", [_sum(graph, asked), _number(graph, "least", 1e-6)])
    share = graph.add("Div", [_sum(graph, found), total])
    scaled = graph.add("Mul", [share, _number(graph, "scale", scale)])
    logit = graph.add("Add", [scaled, _number(graph, "shift", SHIFT)])
    graph.add("MatMul", [logit, graph.weight("head", np.array(HEADS[labels], "<f4"))], "logits")
    return graph.model(["input_ids", "attention_mask", "token_type_ids"], [0, tokens], {"logits": [0, labels]})


def _found(graph: TinyGraph, said: str) -> str:
    """For each token 1 if the passage has it, else 0."""
    down, across = graph.weight("down", np.array([2])), graph.weight("across", np.array([1]))
    same = graph.add("Equal", [graph.add("Unsqueeze", ["input_ids", one]) for one in (down, across)])
    in_passage = graph.add("Mul", [graph.add("Cast", [same], to=1), graph.add("Unsqueeze", [said, across])])
    return graph.add("ReduceMax", [in_passage, down], keepdims=0)


def _sum(graph: TinyGraph, values: str) -> str:
    return graph.add("ReduceSum", [values, graph.weight("tokens", np.array([1]))], keepdims=1)


def _number(graph: TinyGraph, name: str, value: float) -> str:
    return graph.weight(name, np.array(value, "<f4"))


def _weights(tokenizer: Tokenizer) -> NDArray[np.float32]:
    stop_words = _stop_words()
    weights = np.zeros(tokenizer.get_vocab_size(), "<f4")
    for token, at in tokenizer.get_vocab().items():
        if token.removeprefix("##").isalnum():
            weights[at] = STOP_WORD if token in stop_words else 1.0
    return weights


def write_tiny_token_classifier(folder: Path, *, labels: int = 2, sure: float = SURE, tokens: int = 0) -> Path:
    """Put model.onnx and tokenizer.json into the folder; with `tokens` it takes texts of that length only."""
    _write(folder, partial(_token_classifier, labels=labels, sure=sure, tokens=tokens))
    return folder


def _token_classifier(tokenizer: Tokenizer, *, labels: int, sure: float, tokens: int) -> bytes:
    graph = TinyGraph()
    found = graph.add("Gather", [graph.weight("table", _table(tokenizer, labels, sure)), "input_ids"])
    seen = graph.add("Unsqueeze", [graph.add("Cast", ["attention_mask"], to=1), graph.weight("last", np.array([2]))])
    graph.add("Mul", [found, seen], "logits")
    return graph.model(["input_ids", "attention_mask"], [0, tokens], {"logits": [0, tokens, labels]})


def _table(tokenizer: Tokenizer, labels: int, sure: float) -> NDArray[np.float32]:
    """For each token its logits: to be dropped, to be kept, and nothing for further labels."""
    stop_words = _stop_words()
    table = np.zeros((tokenizer.get_vocab_size(), labels), "<f4")
    for token, at in tokenizer.get_vocab().items():
        is_kept = token.removeprefix("##").isalnum() and token not in stop_words
        table[at, :2] = (-sure / 2, sure / 2) if is_kept else (sure / 2, -sure / 2)
    return table
