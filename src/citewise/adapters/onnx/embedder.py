"""Text into vectors through onnxruntime: windows, batches, pooling; models come from outside.

A batch has windows of one exact length, so nothing is padded and nothing masked. Each core runs its own batches on one
shared session: splitting a batch over the cores costs half as much again (ADR 0004).
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar, cast

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from citewise.adapters.onnx.runtime import TextModel
from citewise.adapters.onnx.wordpiece import token_ids
from citewise.errors import Misconfigured
from citewise.model.chunk import EmbeddingModel, Vector

Ids = list[int]
Floats = NDArray[np.float32]
T = TypeVar("T")
# From a window's place in its text, its tokens and the output of the graph for them.
Reduce = Callable[[int, Ids, Floats], T]

# Questions whose outputs are cached, 0.4 MB per window: a search asks for the whole, then for the words.
CACHED_QUESTIONS = 8
ADVICE = "Set embedding.window_tokens to what the model sees."


class OnnxEmbedder:
    """The port `Embedder` over one text model, safe to share between threads.

    The prefixes stand in front of every window. `batch_tokens` above 1 is for graphs in which no text can change the
    vectors of its batch neighbors.
    """

    def __init__(
        self,
        encoder: TextModel,
        *,
        model: EmbeddingModel,
        query_prefix: str = "",
        document_prefix: str = "",
        batch_tokens: int = 1,
    ) -> None:
        self._encoder = encoder
        self.model = model
        self._batch_tokens = batch_tokens
        self._query_prefix, self._document_prefix = token_ids(encoder.tokenizer, [query_prefix, document_prefix])
        self._questions: LRUCache[str, list[tuple[Ids, Floats]]] = LRUCache(CACHED_QUESTIONS)
        self._lock = Lock()

    @classmethod
    def from_folder(
        cls, folder: Path, *, window_tokens: int = 256, query_prefix: str = "", document_prefix: str = ""
    ) -> Self:
        """One text at a time: a dynamically quantized model would let batch neighbors change each other's vectors."""
        encoder = TextModel.from_folder(folder, purpose="embedding", advice=ADVICE)
        size = encoder.session.get_outputs()[0].shape[-1]
        if not isinstance(size, int):
            raise Misconfigured(f"The model in {folder} does not say how long its vectors are. Export it with that.")
        settings = f"{window_tokens} Prefixes(query={query_prefix!r}, document={document_prefix!r})"
        fingerprint = hashlib.sha256(settings.encode())  # changes with everything that moves a vector
        model, tokenizer = TextModel.files(folder, purpose="embedding")
        for file in [*sorted(model.parent.glob("model.onnx*")), tokenizer]:
            with file.open("rb") as content:
                fingerprint.update(hashlib.file_digest(content, "sha256").digest())
        known = EmbeddingModel(f"{folder.name}/{fingerprint.hexdigest()[:12]}", size, window_tokens)
        return cls(encoder, model=known, query_prefix=query_prefix, document_prefix=document_prefix)

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The port `TokenCounter`, on all cores."""
        return [len(ids) for ids in token_ids(self._encoder.tokenizer, texts)]

    def documents(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        return tuple(map(self._pooled, self.outputs(texts, self._mean)))

    def query(self, text: str) -> Vector:
        return self._pooled([self._mean(at, *window) for at, window in enumerate(self.question_outputs(text))])

    def question_outputs(self, text: str) -> list[tuple[Ids, Floats]]:
        """The windows of a question, each with the output of the graph."""
        with self._lock:  # and no decorator: its cycle would keep the model in memory after the last use
            if text in self._questions:
                return self._questions[text]
        (windows,) = self.outputs([text], lambda at, window, output: (window, output), self._query_prefix)
        with self._lock:
            self._questions[text] = windows
        return windows

    def outputs(self, texts: Sequence[str], reduce: Reduce[T], prefix: Ids | None = None) -> list[list[T]]:
        """For each text, the reduced output of each of its windows. Reduced at once: outputs are large."""
        prefix = self._document_prefix if prefix is None else prefix
        cut = [
            self._encoder.windows(ids, window_tokens=self.model.window_tokens, prefix=prefix)
            for ids in token_ids(self._encoder.tokenizer, texts)
        ]
        windows = [placed for parts in cut for placed in enumerate(parts)]
        results: dict[int, T] = {}

        def run(batch: list[int]) -> None:
            outputs = self._encoder.run(np.array([windows[at][1] for at in batch]))
            for at, output in zip(batch, cast(Floats, outputs), strict=True):
                results[at] = reduce(*windows[at], output)

        self._encoder.on_cores(run, list(self.batches([len(window) for _, window in windows], self._batch_tokens)))
        in_order = iter(range(len(windows)))
        return [[results[next(in_order)] for _ in parts] for parts in cut]

    @staticmethod
    def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
        """Positions grouped into batches of one exact length and at most `batch_tokens`, longest first."""
        longest_first = sorted(range(len(lengths)), key=lambda at: -lengths[at])
        for length, group in groupby(longest_first, key=lengths.__getitem__):
            positions, size = list(group), max(1, batch_tokens // length)
            for start in range(0, len(positions), size):
                yield positions[start : start + size]

    @staticmethod
    def _mean(_: int, window: Ids, output: Floats) -> tuple[Floats, int]:
        """The mean over its tokens, unless the graph has taken it, and how many they are."""
        return output.mean(axis=0) if output.ndim == 2 else output, len(window)

    @staticmethod
    def _pooled(windows: Sequence[tuple[Floats, int]]) -> Vector:
        """The mean of the windows' unit vectors, weighted by their tokens, at unit length."""
        total = sum(mean.astype(np.float64) / np.linalg.norm(mean) * tokens for mean, tokens in windows)
        return Vector((total / np.linalg.norm(total)).astype("<f4").tobytes())
