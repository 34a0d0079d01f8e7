"""Texts into batches in the two manners that are compared, and token vectors into one a text.

The drivers in other environments use it too, so it takes no more of citewise than its embedding adapter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewise.adapters.onnx.embedder import OnnxEmbedder
from citewise.adapters.onnx.minilm import BATCH_TOKENS
from citewise.adapters.onnx.wordpiece import token_ids

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
CLS, SEP = 101, 102
WINDOW_TOKENS = 256  # what the model was trained on; sentence-transformers cuts a text off there, citewise goes on
PADDED_TEXTS = 32  # a batch of sentence-transformers, unless its caller says otherwise


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts for one run of a graph, by their positions; the mask is 0 where a row is padded."""

    positions: tuple[int, ...]
    ids: Ints
    mask: Ints

    @property
    def inputs(self) -> dict[str, Ints]:
        return {"input_ids": self.ids, "attention_mask": self.mask, "token_type_ids": np.zeros_like(self.ids)}

    def unit_vectors(self, output: Floats) -> Floats:
        """Of each text, the mean over its own tokens at unit length."""
        sums = (output * self.mask[..., None]).sum(axis=1)
        unit: Floats = (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)
        return unit


def windows(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Each text's tokens between the special ones, cut off where the model's window ends."""
    return [[CLS, *ids[: WINDOW_TOKENS - 2], SEP] for ids in token_ids(tokenizer, texts)]


def by_length(texts: Sequence[str]) -> list[int]:
    """Positions, longest text first, as sentence-transformers sorts before it cuts batches."""
    return sorted(range(len(texts)), key=lambda at: -len(texts[at]))


def padded_batches(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[Batch]:
    """As sentence-transformers does it: sorted, 32 at a time, tokenized then, padded to the longest."""
    order = by_length(texts)
    for start in range(0, len(order), PADDED_TEXTS):
        positions = order[start : start + PADDED_TEXTS]
        yield _batch(positions, windows(tokenizer, [texts[at] for at in positions]))


def exact_batches(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[Batch]:
    """As citewise does it: nothing padded, so only equally long texts share a batch."""
    cut = windows(tokenizer, texts)
    for positions in OnnxEmbedder.batches([len(window) for window in cut], BATCH_TOKENS):
        yield _batch(positions, [cut[at] for at in positions])


def _batch(positions: Sequence[int], cut: Sequence[Sequence[int]]) -> Batch:
    ids = np.zeros((len(cut), max(map(len, cut))), np.int64)
    mask = np.zeros_like(ids)
    for row, window in enumerate(cut):
        ids[row, : len(window)], mask[row, : len(window)] = window, 1
    return Batch(tuple(positions), ids, mask)
