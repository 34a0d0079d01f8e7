"""Late interaction: a chunk as vectors of its tokens, ways to keep fewer of them in fewer bits, and MaxSim.

Where a form does what the product does, it is the product's own code that does it.
"""

import os
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from benchmarks.lab_pools import Numbers
from citewise.adapters.onnx import MINILM, minilm
from citewise.adapters.onnx.word_vectors import LENGTH_BONUS, closenesses, packed, paired
from citewise.adapters.onnx.wordpiece import token_ids, uncased_tokenizer
from citewise.adapters.rotation import rotated
from citewise.model.chunk import WordVectors
from citewise.model.ids import digest
from citewise.text.analysis import STOP_WORDS

Floats = NDArray[np.float32]
Halves = NDArray[np.float16]
Kinds = NDArray[np.uint8]  # a `Kind` for each token
Encode = Callable[[Sequence[str]], Sequence[Halves]]  # for each text, a unit vector a token

BLOCK = 256  # texts embedded before they are written: 1 keeps one core waiting, a thousand need half a gigabyte
ONE_VECTOR_BYTES = MINILM.dimensions  # what the index keeps of a chunk without any of this: a byte a component
DIGEST_OF = "unit vectors of tokens"  # what is kept, so that a file that held something else is made anew


class Kind(IntEnum):
    """What a token is; a form keeps those from one kind on."""

    ANY = 0  # special ones and punctuation
    WORD = 1  # one of the stop words
    CONTENT = 2


@dataclass(frozen=True, slots=True)
class Window:
    """As much of a text as the model sees at once."""

    vectors: Halves | Floats
    kinds: Kinds


@dataclass(frozen=True, slots=True)
class AskedWords:
    """A question's tokens that take part, and how much each of them says."""

    vectors: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Form:
    """How a chunk's token vectors are stored."""

    least: Kind  # what takes part, in chunk and question
    pooled: int  # neighbors that share one vector, their mean; 1: each has its own
    bits: int  # a component: 16, 2 or 1

    @property
    def name(self) -> str:
        mean = {1: "", 2: ", mean of two", 4: ", mean of four"}[self.pooled]
        return f"{KINDS[self.least]}{mean}, {self.bits} bit{'s' if self.bits > 1 else ''}"

    @property
    def row_bytes(self) -> int:
        return MINILM.dimensions * self.bits // 8

    def vectors(self, windows: Sequence[Kinds]) -> int:
        """How many vectors such a text has."""
        return sum(-(-int(counted.sum()) // self.pooled) for counted in self.counted(windows))

    def counted(self, windows: Sequence[Kinds]) -> list[NDArray[np.bool_]]:
        """Which tokens of each window take part; all of them in a text that has none of the kind."""
        chosen = [kinds >= self.least for kinds in windows]
        return chosen if any(each.any() for each in chosen) else [np.ones_like(each) for each in chosen]

    def tokens(self, text: Sequence[Window]) -> list[Floats]:
        """Those that take part, by window."""
        counted = self.counted([window.kinds for window in text])
        pairs = zip(text, counted, strict=True)
        return [window.vectors[chosen].astype(np.float32) for window, chosen in pairs if chosen.any()]

    def asked(self, text: Sequence[Window]) -> AskedWords:
        counted = np.concatenate(self.counted([window.kinds for window in text]))
        kinds = np.concatenate([window.kinds for window in text])[counted]
        weights = np.where(kinds == Kind.WORD, minilm.STOP_WORD, 1).astype(np.float32)
        return AskedWords(np.concatenate(self.tokens(text)), weights)

    def stored(self, text: Sequence[Window]) -> WordVectors:
        means = np.concatenate([pooled(tokens, self.pooled) for tokens in self.tokens(text)])
        if self.bits == 1:
            return WordVectors(np.packbits(rotated(means) > 0, axis=1).tobytes())
        return packed([means])[0] if self.bits == 2 else WordVectors(means.astype(np.float16).tobytes())

    def closeness(self, asked: AskedWords, texts: Sequence[WordVectors]) -> Numbers:
        """MaxSim of each text beyond chance."""
        if self.bits == 2:
            return np.array(closenesses(asked.vectors, asked.weights, texts))
        rows = self.rows(texts)
        starts = np.cumsum([0, *rows])[:-1]
        products = self._unpacked(b"".join(texts)) @ self._turned(unit(asked.vectors)).T
        nearest = np.maximum.reduceat(products, starts, axis=0) @ asked.weights
        return np.asarray(nearest / asked.weights.sum() - LENGTH_BONUS * np.log(rows), np.float64)

    def rows(self, texts: Sequence[WordVectors]) -> list[int]:
        """How many vectors each of them is."""
        return [len(text) // self.row_bytes for text in texts]

    def _unpacked(self, stored: bytes) -> Floats:
        """At unit length: a bit is a sign; other numbers are taken as they are."""
        if self.bits == 1:
            signs = np.unpackbits(np.frombuffer(stored, np.uint8)).reshape(-1, MINILM.dimensions) * np.float32(2) - 1
            return signs / np.float32(np.sqrt(MINILM.dimensions))
        return np.frombuffer(stored, np.float16).reshape(-1, MINILM.dimensions).astype(np.float32)

    def _turned(self, question: Floats) -> Floats:
        return rotated(question) if self.bits == 1 else question


KINDS = {Kind.ANY: "all tokens", Kind.WORD: "words", Kind.CONTENT: "content words"}
PRODUCT = Form(Kind.WORD, 2, 2)  # what the product stores
FORMS = (
    Form(Kind.ANY, 1, 16),
    *(Form(Kind.WORD, *kept) for kept in ((1, 16), (2, 16), (2, 2), (2, 1), (4, 2))),
    *(Form(Kind.CONTENT, *kept) for kept in ((1, 16), (2, 2), (2, 1))),
)


def unit(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9))
    return scaled


def pooled(vectors: Floats, neighbors: int) -> Floats:
    """The mean of each run of neighbors, at unit length."""
    if neighbors == 2:
        return paired(vectors)
    return unit(np.add.reduceat(unit(vectors), np.arange(0, len(vectors), neighbors), axis=0))


class TokenEncoder:
    """The product's embedder, asked for what it makes of each token before the mean is taken."""

    def __init__(self) -> None:
        self._embedder = minilm.MiniLm()
        self._tokenizer = uncased_tokenizer()
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        self._kinds = np.where(self._embedder.word_weights > 0, Kind.CONTENT, Kind.ANY).astype(np.uint8)
        self._kinds[[vocabulary[word] for word in STOP_WORDS if word in vocabulary]] = Kind.WORD

    def kinds(self, texts: Sequence[str]) -> list[list[Kinds]]:
        """For each text, each of its windows' tokens: the text's own between two special ones."""
        room = MINILM.window_tokens - 2
        special = np.array([Kind.ANY], np.uint8)
        return [
            [
                np.concatenate((special, self._kinds[ids[at : at + room]], special))
                for at in range(0, max(1, len(ids)), room)
            ]
            for ids in token_ids(self._tokenizer, texts)
        ]

    def vectors(self, texts: Sequence[str]) -> list[Halves]:
        """At unit length and rounded, as they are kept."""
        made = self._embedder.outputs(texts, lambda at, ids, output: unit(output).astype(np.float16))
        return [np.concatenate(windows) for windows in made]

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """As the graph gives them; for questions, which nobody keeps."""
        made = self._embedder.outputs(texts, lambda at, ids, output: output)
        return [windows_of(np.concatenate(each), kinds) for each, kinds in zip(made, self.kinds(texts), strict=True)]


def windows_of(vectors: Halves | Floats, kinds: Sequence[Kinds]) -> list[Window]:
    """A text's vectors by window, as its tokens are."""
    ends = np.cumsum([0, *map(len, kinds)])
    if len(vectors) != ends[-1]:
        raise ValueError(f"{len(vectors)} vectors for {ends[-1]} tokens: they are not of the same text")
    return [Window(vectors[start:end], each) for (start, end), each in zip(pairwise(ends), kinds, strict=True)]


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
    return digest(MINILM.name, DIGEST_OF, text)[:32]


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
    with zipfile.ZipFile(draft, "w") as archive:
        for block in _blocks(iter(dict.fromkeys(texts))):
            new = [text for text in block if text not in kept]
            vectors = dict(zip(new, encode(new), strict=True))
            for text in block:
                with archive.open(f"{key(text)}.npy", "w") as member:
                    np.lib.format.write_array(member, vectors[text] if text in vectors else kept[text])
    os.replace(draft, file)


def _blocks(texts: Iterator[str]) -> Iterator[list[str]]:
    while block := list(islice(texts, BLOCK)):
        yield block
