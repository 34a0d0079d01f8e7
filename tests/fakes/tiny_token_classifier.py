"""A token classifier small enough to write in a test: real files, real tokenizer, and chances that mean something.

Stop words and marks are dropped (their logits say -2), everything else is kept (2): LLMLingua-2 with one layer that
looks up a token.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewise.adapters.onnx.wordpiece import uncased_tokenizer
from tests.fakes.tiny_graph import TinyGraph

SURE = 2.0  # logits


def write_tiny_token_classifier(folder: Path, *, labels: int = 2, sure: float = SURE, tokens: int = 0) -> Path:
    """Put model.onnx and tokenizer.json into the folder; with `tokens` it takes texts of that length only."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = uncased_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(_model(tokenizer, labels=labels, sure=sure, tokens=tokens))
    return folder


def _model(tokenizer: Tokenizer, *, labels: int, sure: float, tokens: int) -> bytes:
    graph = TinyGraph()
    found = graph.add("Gather", [graph.weight("table", _table(tokenizer, labels, sure)), "input_ids"])
    seen = graph.add("Unsqueeze", [graph.add("Cast", ["attention_mask"], to=1), graph.weight("last", np.array([2]))])
    graph.add("Mul", [found, seen], "logits")
    return graph.model(["input_ids", "attention_mask"], [0, tokens], {"logits": [0, tokens, labels]})


def _table(tokenizer: Tokenizer, labels: int, sure: float) -> NDArray[np.float32]:
    """For each token its logits: to be dropped, to be kept, and nothing for further labels."""
    stop_words = set(files("citewise").joinpath("data", "stop-words-en.txt").read_text("utf-8").split())
    table = np.zeros((tokenizer.get_vocab_size(), labels), "<f4")
    for token, at in tokenizer.get_vocab().items():
        is_kept = token.removeprefix("##").isalnum() and token not in stop_words
        table[at, :2] = (-sure / 2, sure / 2) if is_kept else (sure / 2, -sure / 2)
    return table
