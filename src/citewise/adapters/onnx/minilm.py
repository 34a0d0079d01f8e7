"""all-MiniLM-L6-v2, which is shipped with citewise as a graph that tools/prepare_minilm.py makes."""

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from citewise.adapters.onnx import MINILM
from citewise.adapters.onnx.embedder import ADVICE, Floats, Ids, OnnxEmbedder
from citewise.adapters.onnx.runtime import TextModel, open_session
from citewise.adapters.onnx.word_vectors import closenesses, packed, paired, part_closenesses
from citewise.adapters.onnx.wordpiece import CACHED_CHARACTERS, CACHED_WORDS, token_ids, uncased_tokenizer, words_of
from citewise.errors import Misconfigured
from citewise.model.chunk import Vector, WordVectors
from citewise.text.analysis import STOP_WORDS

# Tokens a batch may hold; a longer window goes alone. At 1 every window does, which short ones pay for; at
# 1024 long ones pay, as a layer no longer fits the cache (ADR 0004).
BATCH_TOKENS = 256
GRAPH = Path(str(files("citewise").joinpath("data", "minilm.onnx")))
# Of a text, windows whose word vectors are stored, up to 100 kB; 1: of long sections a part; all: any size.
MAX_WORD_WINDOWS = 8
STOP_WORD = 0.5  # what "how" and "it" say in a question; 0: nothing; 1: as much as any word


class MiniLm(OnnxEmbedder):
    """The ports `Embedder` and `WordEmbedder`: the graph gives a vector for every token."""

    def __init__(self, graph: Path = GRAPH) -> None:
        repair = "Install citewise again: pip install --force-reinstall --no-deps citewise"
        try:
            with graph.open("rb") as content:
                found = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise Misconfigured(f"The embedding model {graph} cannot be read: {error}. {repair}") from error
        expected = GRAPH.with_suffix(".sha256").read_text("ascii").strip()
        if found != expected:
            raise Misconfigured(
                f"The embedding model {graph} is damaged: its sha256 is {found}, not {expected}. {repair}"
            )
        encoder = TextModel(open_session(graph, optimize=False), uncased_tokenizer(), title=MINILM.name, advice=ADVICE)
        super().__init__(encoder, model=MINILM, batch_tokens=BATCH_TOKENS)
        # By token, how much it says by itself: 1 for a word or a part of one, less for a stop word, 0 for all others.
        self.word_weights = np.zeros(encoder.tokenizer.get_vocab_size(), np.float32)
        special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
        for token, number in encoder.tokenizer.get_vocab().items():
            if token.isalnum() or (token not in special and any(map(str.isalnum, token))):
                self.word_weights[number] = STOP_WORD if token in STOP_WORDS else 1
        self._sizes = _Sizes(self.word_weights)

    def embedded(self, texts: Sequence[str]) -> tuple[tuple[Vector, WordVectors], ...]:
        results = self.outputs(texts, self._reduced)
        pairs = []
        for windows in results:  # those that have words; all of them, where none has
            rows = [rows for _, has_words, rows in windows if has_words] or [rows for _, _, rows in windows]
            pairs.append(np.concatenate(rows))
        means = (self._pooled([mean for mean, _, _ in windows]) for windows in results)
        return tuple(zip(means, packed(pairs), strict=True))

    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]:
        return closenesses(*self._asked(question), texts)

    def part_closeness(
        self, question: str, texts: Sequence[tuple[WordVectors, Sequence[str]]]
    ) -> tuple[tuple[float, ...], ...]:
        return part_closenesses(*self._asked(question), [(rows, self._first_rows(parts)) for rows, parts in texts])

    def _asked(self, question: str) -> tuple[Floats, Floats]:
        """The vectors of a question's words, and what each says."""
        windows = self.question_outputs(question)
        outputs = np.concatenate([output for _, output in windows])
        weights = np.concatenate([self.word_weights[ids] for ids, _ in windows])
        if not weights.any():
            weights = np.ones_like(weights)
        return outputs[weights > 0], weights[weights > 0]

    def _first_rows(self, parts: Sequence[str]) -> list[int]:
        """The stored row in which each part of a text begins; a word that a window's edge cuts is of the window before.

        Rows hold two words, and a window with an odd number of words ends in a row of its own.
        """
        room = self.model.window_tokens - sum(map(len, self._encoder.special_ids))
        rows, tokens, words, found = 0, 0, 0, list[int]()
        for part in parts:
            found.append(rows + words // 2)
            for size, told in map(self._sizes.__getitem__, words_of(part)):
                tokens += size
                words += told
                if tokens >= room:
                    rows, tokens, words = rows + (words + 1) // 2, tokens - room, 0
        return found

    def _reduced(self, at: int, window: Ids, output: Floats) -> tuple[tuple[Floats, int], bool, Floats]:
        """The mean, and the words of the first windows: a table of a megabyte would store as much again."""
        mean, are_words = self._mean(at, window, output), self.word_weights[window] > 0
        if at >= MAX_WORD_WINDOWS:
            return mean, False, output[:0]
        return (mean, True, paired(output[are_words])) if are_words.any() else (mean, False, paired(output))


class _Sizes(dict[str, tuple[int, int]]):
    """How many tokens a word is cut into, and how many of them have a stored vector; cached."""

    def __init__(self, word_weights: Floats) -> None:
        self._word_weights = word_weights

    def __missing__(self, word: str) -> tuple[int, int]:
        if len(self) >= CACHED_WORDS:
            self.clear()
        (ids,) = token_ids(uncased_tokenizer(), [word])
        size = len(ids), int((self._word_weights[ids] > 0).sum()) if ids else 0
        if len(word) <= CACHED_CHARACTERS:
            self[word] = size
        return size
