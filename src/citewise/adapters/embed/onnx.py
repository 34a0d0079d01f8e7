"""Text into vectors through onnxruntime: windows, batches, pooling; models come from outside.

A batch holds windows of one exact length, so nothing is padded and nothing masked. Each core runs its own
batches on one shared session: splitting a batch over the cores costs half as much again (ADR 0004).
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewise.adapters.embed.wordpiece import token_ids
from citewise.adapters.onnx_model import ModelFiles, input_types, model_files, open_session, open_tokenizer
from citewise.adapters.runtime import onnxruntime
from citewise.model.errors import Misconfigured
from citewise.model.vector import EmbeddingModel, Vector

Ids = list[int]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model wants in front of a query and of a document, in every window."""

    query: str = ""
    document: str = ""


NO_PREFIXES = Prefixes()


class OnnxEmbedder:
    """Embedder over one onnxruntime session, safe to share between threads.

    `batch_tokens` above 1 is for graphs in which no text can touch its batch neighbors' vectors.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        tokenizer: Tokenizer,
        *,
        model: EmbeddingModel,
        prefixes: Prefixes = NO_PREFIXES,
        batch_tokens: int = 1,
    ) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._model = model
        self._batch_tokens = batch_tokens
        head, self._tail = _special_ids(tokenizer)
        of_query, of_document = token_ids(tokenizer, [prefixes.query, prefixes.document])
        self._query_head, self._document_head = head + of_query, head + of_document
        self._inputs = input_types(session)

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        return self._vectors(texts, self._document_head)

    def query(self, text: str) -> Vector:
        return self._vectors([text], self._query_head)[0]

    def _vectors(self, texts: Sequence[str], head: Ids) -> tuple[Vector, ...]:
        cut = [self._windows(ids, head) for ids in token_ids(self._tokenizer, texts)]
        means = iter(self._means([window for windows in cut for window in windows]))
        return tuple(_pooled([(next(means), len(window)) for window in windows]) for windows in cut)

    def _windows(self, ids: Ids, head: Ids) -> list[Ids]:
        """The text in full windows and a last shorter one, each with prefix and special tokens."""
        room = self._model.window_tokens - len(head) - len(self._tail)
        if room < 1:
            raise Misconfigured(
                f"A window of {self._model.window_tokens} tokens leaves {self._model.name} no room for text "
                "after its prefix. Shorten the prefix or widen the window."
            )
        starts = range(0, max(1, len(ids)), room)
        return [[*head, *ids[at : at + room], *self._tail] for at in starts]

    def _means(self, windows: Sequence[Ids]) -> list[Floats]:
        """Each window's mean over its tokens, in order."""
        batches = list(length_batches([len(window) for window in windows], self._batch_tokens))
        means: list[Floats] = [np.empty(0, np.float32)] * len(windows)

        def run(batch: list[int]) -> None:
            for at, mean in zip(batch, self._run([windows[at] for at in batch]), strict=True):
                means[at] = mean

        if len(batches) == 1:
            run(batches[0])
        else:
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as cores:
                list(cores.map(run, batches))
        return means

    def _run(self, windows: list[Ids]) -> Floats:
        ids = np.array(windows)
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        feed = {name: values[name].astype(kind) for name, kind in self._inputs.items()}
        output = self._output(feed)
        return output.mean(axis=1) if output.ndim == 3 else output

    def _output(self, feed: dict[str, NDArray[np.generic]]) -> Floats:
        try:
            output: Floats = self._session.run(None, feed)[0]
        except Exception as error:  # onnxruntime's own errors share no other base
            raise Misconfigured(
                f"{self._model.name} cannot take {feed['input_ids'].shape[1]} tokens at once: {str(error)[:200]}. "
                "Set embedding.window_tokens to what the model sees."
            ) from error
        return output


def from_folder(
    folder: Path, *, window_tokens: int = 256, prefixes: Prefixes = NO_PREFIXES
) -> tuple[OnnxEmbedder, "TokenizerCounter"]:
    """Embedder and token counter from a folder with model.onnx and tokenizer.json, one text at a time.

    Alone, because a dynamically quantized model would let batch neighbors change each other's vectors.
    """
    files = model_files(folder, of="embedding")
    session, tokenizer = open_session(files.model), open_tokenizer(files.tokenizer)
    name = f"{folder.name}/{_fingerprint(files, f'{window_tokens} {prefixes}')}"
    model = EmbeddingModel(name, _dimensions(session, folder), window_tokens)
    embedder = OnnxEmbedder(session, tokenizer, model=model, prefixes=prefixes)
    return embedder, TokenizerCounter(tokenizer)


def length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Positions grouped into batches of one exact length and at most `batch_tokens`, longest first."""
    alike = defaultdict(list)
    for at, length in enumerate(lengths):
        alike[length].append(at)
    for length in sorted(alike, reverse=True):
        size = max(1, batch_tokens // length)
        for start in range(0, len(alike[length]), size):
            yield alike[length][start : start + size]


class TokenizerCounter:
    """TokenCounter for any tokenizer, on all cores."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in token_ids(self._tokenizer, texts)]


def _pooled(windows: Sequence[tuple[Floats, int]]) -> Vector:
    """The mean of the windows' unit vectors, each counting by its tokens, at unit length."""
    total = sum(mean.astype(np.float64) / np.linalg.norm(mean) * tokens for mean, tokens in windows)
    return Vector((total / np.linalg.norm(total)).astype("<f4").tobytes())


def _special_ids(tokenizer: Tokenizer) -> tuple[Ids, Ids]:
    """What the model expects before and after a text, read off a one-word example."""
    bare, full = (tokenizer.encode("a", add_special_tokens=special).ids for special in (False, True))
    before = next(at for at in range(len(full)) if full[at : at + len(bare)] == bare)
    return full[:before], full[before + len(bare) :]


def _dimensions(session: onnxruntime.InferenceSession, folder: Path) -> int:
    size = session.get_outputs()[0].shape[-1]
    if not isinstance(size, int):
        raise Misconfigured(f"The model in {folder} does not say how long its vectors are. Export it with that fixed.")
    return size


def _fingerprint(files: ModelFiles, settings: str) -> str:
    """Changes with the weights, the tokenizer and everything else that moves a vector."""
    digest = hashlib.sha256(settings.encode())
    for file in [*sorted(files.model.parent.glob("model.onnx*")), files.tokenizer]:
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:12]
