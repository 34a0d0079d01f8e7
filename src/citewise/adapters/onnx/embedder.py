"""Text into vectors through onnxruntime: windows, batches, pooling; models come from outside.

A batch holds windows of one exact length, so nothing is padded and nothing masked. Each core runs its own
batches on one shared session: splitting a batch over the cores costs half as much again (ADR 0004).
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewise.adapters.onnx.runtime import (
    ModelFiles,
    available_cores,
    input_types,
    model_files,
    onnxruntime,
    open_session,
    open_tokenizer,
)
from citewise.adapters.onnx.word_vectors import closenesses, packed, paired
from citewise.adapters.onnx.wordpiece import token_ids
from citewise.errors import Misconfigured
from citewise.model.chunk import EmbeddedText, EmbeddingModel, Vector, WordVectors

Ids = list[int]
Floats = NDArray[np.float32]
T = TypeVar("T")
Made = Callable[[int, Ids, Floats], T]  # of a window: its place in the text, its tokens, what the graph gives for them

WORDED_WINDOWS = 8  # of a text whose words are kept, up to 100 kB; 1: long sections are seen in part; all: any size
# Whose outputs are remembered, 0.4 MB a window: a search asks for the whole, then for the words.
QUESTIONS = 8


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
        self._cores = ThreadPoolExecutor(available_cores(), thread_name_prefix="citewise-embedder")
        head, self._tail = _special_ids(tokenizer)
        of_query, of_document = token_ids(tokenizer, [prefixes.query, prefixes.document])
        self._query_head, self._document_head = head + of_query, head + of_document
        self._inputs = input_types(session)
        self.asked = lru_cache(maxsize=QUESTIONS)(self._asked)  # a question's windows, each with what the graph gives

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        return tuple(map(pooled, self.outputs(texts, mean_of, self._document_head)))

    def query(self, text: str) -> Vector:
        return pooled([mean_of(at, *window) for at, window in enumerate(self.asked(text))])

    def _asked(self, text: str) -> list[tuple[Ids, Floats]]:
        (windows,) = self.outputs([text], lambda at, window, output: (window, output), self._query_head)
        return windows

    def outputs(self, texts: Sequence[str], made: Made[T], head: Ids | None = None) -> list[list[T]]:
        """For each text, what is made of each of its windows."""
        head = self._document_head if head is None else head
        cut = [self._windows(ids, head) for ids in token_ids(self._tokenizer, texts)]
        results = iter(self._made([placed for windows in cut for placed in enumerate(windows)], made))
        return [[next(results) for _ in windows] for windows in cut]

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

    def _made(self, windows: Sequence[tuple[int, Ids]], made: Made[T]) -> list[T]:
        """What is made of each window, in order; at once, so that no more than a batch of outputs is ever held."""
        batches = list(length_batches([len(window) for _, window in windows], self._batch_tokens))
        results: dict[int, T] = {}

        def run(batch: list[int]) -> None:
            for at, output in zip(batch, self._run([windows[at][1] for at in batch]), strict=True):
                results[at] = made(*windows[at], output)

        if len(batches) == 1:
            run(batches[0])
        else:
            list(self._cores.map(run, batches))
        return [results[at] for at in range(len(windows))]

    def _run(self, windows: list[Ids]) -> Floats:
        ids = np.array(windows)
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        feed = {name: values[name].astype(kind) for name, kind in self._inputs.items()}
        return self._output(feed)

    def _output(self, feed: dict[str, NDArray[np.generic]]) -> Floats:
        try:
            output: Floats = self._session.run(None, feed)[0]
        except Exception as error:  # onnxruntime's own errors share no other base
            raise Misconfigured(
                f"{self._model.name} cannot take {feed['input_ids'].shape[1]} tokens at once: {str(error)[:200]}. "
                "Set embedding.window_tokens to what the model sees."
            ) from error
        return output


class OnnxWords:
    """The port `WordEmbedder` over an embedder whose graph gives a vector for every token."""

    def __init__(self, embedder: OnnxEmbedder, weights: Floats) -> None:
        self._embedder = embedder
        self._weights = weights  # by token: how much it says by itself; 0: it is no word

    def embedded(self, texts: Sequence[str]) -> tuple[EmbeddedText, ...]:
        made = self._embedder.outputs(texts, self._both)
        words = packed([np.concatenate(_of_words([seen for _, seen in windows])) for windows in made])
        means = (pooled([mean for mean, _ in windows]) for windows in made)
        return tuple(map(EmbeddedText, means, words))

    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]:
        windows = self._embedder.asked(question)
        words = np.concatenate(_of_words([self._seen(*window) for window in windows]))
        weights = np.concatenate(_of_words([self._seen(ids, self._weights[ids]) for ids, _ in windows]))
        return closenesses(words, weights if weights.any() else np.ones_like(weights), texts)

    def _both(self, at: int, window: Ids, output: Floats) -> tuple[tuple[Floats, int], tuple[bool, Floats]]:
        """The mean, and the words of the first windows: a table of a megabyte would keep as much again of its own."""
        has_words, seen = self._seen(window, output) if at < WORDED_WINDOWS else (False, output[:0])
        return mean_of(at, window, output), (has_words, paired(seen))

    def _seen(self, window: Ids, of_tokens: Floats) -> tuple[bool, Floats]:
        """Of its words, if it has any; else of all its tokens."""
        are_words = self._weights[window] > 0
        return (True, of_tokens[are_words]) if are_words.any() else (False, of_tokens)


def _of_words(windows: Sequence[tuple[bool, Floats]]) -> list[Floats]:
    """Of the windows that have words; of all of them, where none has."""
    return [seen for has_words, seen in windows if has_words] or [seen for _, seen in windows]


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


def mean_of(_: int, window: Ids, output: Floats) -> tuple[Floats, int]:
    """The mean over its tokens, unless the graph has taken it, and how many they are."""
    return output.mean(axis=0) if output.ndim == 2 else output, len(window)


def pooled(windows: Sequence[tuple[Floats, int]]) -> Vector:
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
