"""Late interaction: a chunk as a vector for each of its tokens; ways to keep fewer of them in fewer bits; MaxSim.

All vectors here are turned by the index's rotation. Products of two stay what they were, so does the mean of some, and
afterwards one scale suits every component, so that a byte or a bit of each tells as much as it can.
"""

import os
import time
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from benchmarks.lab_pools import Numbers, Pool
from citewise.adapters.analyze.english import STOP_WORDS
from citewise.adapters.embed import minilm
from citewise.adapters.embed.minilm_graph import MODEL
from citewise.adapters.embed.wordpiece import token_ids, uncased_tokenizer
from citewise.adapters.index.quantize import DEVIATIONS, rotated
from citewise.adapters.onnx_model import input_types, open_session
from citewise.model.ids import digest

Floats = NDArray[np.float32]
Halves = NDArray[np.float16]
Flags = NDArray[np.bool_]
Encode = Callable[[str], Halves]  # a text's token vectors
Stored = NDArray[np.float16] | NDArray[np.int8] | NDArray[np.uint8]

BLOCK = 64  # texts embedded before they are written: 1 keeps one core waiting, a thousand need half a gigabyte
ONE_VECTOR_BYTES = MODEL.dimensions  # what the index keeps of a chunk without any of this: a byte a component


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as the model sees it: a unit vector a token, and which tokens say something by themselves."""

    vectors: Halves
    is_content: Flags


@dataclass(frozen=True, slots=True)
class Form:
    """How a chunk's token vectors are stored."""

    content_only: bool  # without stop words, punctuation and the model's special tokens
    pooled: int  # neighbors that share one vector, their mean; 1: each has its own
    bits: int  # a component: 16, 8 or 1

    @property
    def name(self) -> str:
        of = "content tokens" if self.content_only else "all tokens"
        mean = f", mean of {self.pooled}" if self.pooled > 1 else ""
        return f"{of}{mean}, {self.bits} bit{'s' if self.bits > 1 else ''}"

    def vectors(self, is_content: Flags) -> int:
        """How many vectors such a text has."""
        return -(-int(self.counted(is_content).sum()) // self.pooled)

    def vectors_bytes(self, vectors: float) -> float:
        return vectors * MODEL.dimensions * self.bits / 8

    def counted(self, is_content: Flags) -> Flags:
        """Which tokens take part; all of them in a text that has no content."""
        return is_content if self.content_only and is_content.any() else np.ones_like(is_content)

    def means(self, tokens: Tokens) -> Floats:
        return pooled(tokens.vectors[self.counted(tokens.is_content)].astype(np.float32), self.pooled)


FORMS = (Form(False, 1, 16), *(Form(True, pooled, bits) for bits in (16, 8, 1) for pooled in (1, 2, 4, 8)))


def pooled(vectors: Floats, neighbors: int) -> Floats:
    """The mean of each run of neighbors, at unit length."""
    sums = np.add.reduceat(vectors, np.arange(0, len(vectors), neighbors), axis=0)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9))


def stored(vectors: Floats, bits: int) -> Stored:
    if bits == 1:
        return np.packbits(vectors > 0, axis=1)
    if bits == 8:
        scale = 127 * np.sqrt(vectors.shape[1]) / DEVIATIONS
        return np.asarray(np.clip(np.rint(vectors * scale), -127, 127), np.int8)
    return vectors.astype(np.float16)


def stored_forms(tokens: Tokens) -> dict[Form, Stored]:
    """A text in every form; those that differ only in bits share the work of pooling."""
    means = {form: form.means(tokens) for form in FORMS if form.bits == 16}
    return {form: stored(means[replace(form, bits=16)], form.bits) for form in FORMS}


def max_sims(question: Floats, chunks: Sequence[Stored]) -> Numbers:
    """How near, on average, each token of the question finds a vector of the chunk; on a scale of the form's own."""
    starts = np.cumsum([0, *map(len, chunks)])[:-1]
    nearest = np.maximum.reduceat(question @ _floats(np.concatenate(chunks)).T, starts, axis=1)
    return np.asarray(nearest.mean(axis=0), np.float64)


def _floats(stored: NDArray[np.generic]) -> Floats:
    """A bit is +1 or -1; other numbers are taken as they are."""
    if stored.dtype == np.uint8:
        return np.unpackbits(stored.astype(np.uint8, copy=False), axis=1).astype(np.float32) * 2 - 1
    return stored.astype(np.float32)


def stretched(scores: Numbers) -> Numbers:
    """From 0 for the least to 1 for the most, whatever scale they had; 0 for all where they are equal."""
    if not len(scores) or scores.max() <= scores.min():
        return np.zeros(len(scores))
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()))


@dataclass(frozen=True, slots=True)
class Scored:
    """One question's candidates, with the search's scores and those of each form."""

    pool: Pool
    late: Mapping[Form, Numbers]  # 0..1
    ms: Mapping[Form, float]  # none where nothing was found

    def blended(self, form: Form, weight: float) -> Numbers:
        return np.asarray(self.pool.scores[0] + weight * self.late[form])


def scored_pool(pool: Pool, question: Tokens, chunks: Sequence[Mapping[Form, Stored]]) -> Scored:
    """A question's candidates, scored in every form."""
    late = dict.fromkeys(FORMS, np.zeros(0))
    ms = {}
    for form in FORMS if chunks else ():
        asked = question.vectors[form.counted(question.is_content)].astype(np.float32)
        kept = [chunk[form] for chunk in chunks]
        started = time.perf_counter()
        late[form] = stretched(max_sims(asked, kept))
        ms[form] = 1000 * (time.perf_counter() - started)
    return Scored(pool, late, ms)


class TokenEncoder:
    """The default embedder's graph, asked for what it makes of each token before the mean is taken."""

    def __init__(self, cache: Path) -> None:
        minilm.load(cache)  # makes and checks the graph
        self._session = open_session(cache / minilm.CACHED_NAME, optimize=False)
        self._inputs = input_types(self._session)
        self._tokenizer = uncased_tokenizer()
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._is_content = np.zeros(len(vocabulary), bool)
        self._is_content[[number for token, number in vocabulary.items() if is_content(token)]] = True

    def flags(self, text: str) -> Flags:
        """Which of a text's tokens say something by themselves."""
        return np.asarray(self._is_content[np.concatenate(self._windows(text))])

    def tokens(self, text: str) -> Tokens:
        return Tokens(self.vectors(text), self.flags(text))

    def vectors(self, text: str) -> Halves:
        found = np.concatenate([self._window_vectors(window) for window in self._windows(text)])
        return rotated(found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)

    def _windows(self, text: str) -> list[list[int]]:
        """As the embedder cuts: full windows and a last shorter one."""
        (ids,) = token_ids(self._tokenizer, [text])
        room = MODEL.window_tokens - 2
        return [[self._first, *ids[at : at + room], self._last] for at in range(0, max(1, len(ids)), room)]

    def _window_vectors(self, window: list[int]) -> Floats:
        ids = np.array([window])
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        feed = {name: values[name].astype(kind) for name, kind in self._inputs.items()}
        output: Floats = self._session.run(None, feed)[0][0]
        return output


def is_content(token: str) -> bool:
    is_special = token.startswith("[") and token.endswith("]")
    return not is_special and token not in STOP_WORDS and any(letter.isalnum() for letter in token)


class KeptVectors:
    """Token vectors by text, read from the file one text at a time."""

    def __init__(self, file: NpzFile) -> None:
        self._file = file

    def __contains__(self, text: str) -> bool:
        return key(text) in self._file

    def __getitem__(self, text: str) -> Halves:
        found: Halves = self._file[key(text)]
        return found


def key(text: str) -> str:
    """Of the text, not of its chunk: a chunk keeps its id when it is cut differently."""
    return digest(MODEL.name, text)[:32]


@contextmanager
def kept_vectors(file: Path, texts: Collection[str], encode: Encode) -> Iterator[KeptVectors]:
    """The vectors of at least these texts; those that the file does not hold are made and written first."""
    with _opened(file) as before:
        if not all(text in before for text in texts):
            _write(file, texts, before, encode)
    with _opened(file) as kept:
        yield kept


@contextmanager
def _opened(file: Path) -> Iterator[KeptVectors]:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        zipfile.ZipFile(file, "w").close()
    with np.load(file) as opened:
        yield KeptVectors(opened)


def _write(file: Path, texts: Collection[str], kept: KeptVectors, encode: Encode) -> None:
    """All or nothing, a block in memory at a time."""
    draft = file.with_name(f"{file.name}~")
    with zipfile.ZipFile(draft, "w") as archive, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as cores:
        for block in _blocks(iter(dict.fromkeys(texts))):
            new = [text for text in block if text not in kept]
            vectors = dict(zip(new, cores.map(encode, new), strict=True))
            for text in block:
                with archive.open(f"{key(text)}.npy", "w") as member:
                    np.lib.format.write_array(member, vectors[text] if text in vectors else kept[text])
    os.replace(draft, file)


def _blocks(texts: Iterator[str]) -> Iterator[list[str]]:
    while block := list(islice(texts, BLOCK)):
        yield block
