"""A cross-encoder small enough to write in a test: real files, real tokenizer, and a score that means something.

Its logit grows with the share of the question's tokens that the passage has; stop words count little, marks not at
all. So it is a cross-encoder with one layer of attention over one-hot embeddings.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewise.adapters.onnx.wordpiece import uncased_tokenizer
from tests.fakes.tiny_graph import TinyGraph

STOP_WORD = 0.1  # its weight; any other word has 1
HEADS = {1: [[1.0]], 2: [[-0.5, 0.5]], 3: [[0.2, 0.3, 0.5]]}  # logit -> labels
SCALE, SHIFT = 8.0, -4.0  # no word found: -4, all found: 4


def write_tiny_cross_encoder(folder: Path) -> None:
    """Put model.onnx and tokenizer.json into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = uncased_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(tiny_cross_encoder(tokenizer))


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
    stop_words = set(files("citewise").joinpath("data", "stop-words-en.txt").read_text("utf-8").split())
    weights = np.zeros(tokenizer.get_vocab_size(), "<f4")
    for token, at in tokenizer.get_vocab().items():
        if token.removeprefix("##").isalnum():
            weights[at] = STOP_WORD if token in stop_words else 1.0
    return weights
