"""LLMLingua-2 in onnxruntime: a token classifier says which words a text can do without; the model comes from outside.

It does not look at the question: the evidence decides which unit of a source stays unchanged, and which blocks of code
and tables stay at all. Words of other sentences are kept by their probability. Numbers, negations and the marks of
lists go with the best word of their sentence, since a sentence without them says something else.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from citewise.adapters.onnx.runtime import TextModel
from citewise.errors import Misconfigured, Unavailable
from citewise.model.answer import ContextSource, Evidence, Shortened, UnitKind
from citewise.ports.models import TokenCounter
from citewise.text.encoding import well_formed
from citewise.text.layout import Layout, Layouts

WINDOW_TOKENS = 512  # what the published models see at once; fewer: a word is judged by less of its text

Floats = NDArray[np.float64]
Kept = dict[int, set[int]]  # by source, positions of units

_WORD = re.compile(r"\S+")
_INSEPARABLE = re.compile(r".*\d.*|[-*+]|\W*(?:not|no|never|nor|none|cannot|without|\w+n['\u2019]t)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a sentence that may be thinned out."""

    source: int
    position: int  # of its unit
    order: int  # within the unit
    text: str
    probability: float  # that it is worth keeping


class LlmLingua2:
    """The port `Compressor` over one text model, safe to share between threads."""

    def __init__(self, encoder: TextModel, counter: TokenCounter, *, name: str, window_tokens: int) -> None:
        self._encoder = encoder
        self._counter = counter
        self._name = name
        self._head, self._tail = encoder.special_ids()
        self._room = window_tokens - len(self._head) - len(self._tail)

    @classmethod
    def from_folder(cls, folder: Path, counter: TokenCounter, *, window_tokens: int = WINDOW_TOKENS) -> Self:
        """The compressor in a folder with model.onnx and tokenizer.json, after one trial that fills its window."""
        encoder = TextModel.from_folder(folder, purpose="compressing", advice="Export it for windows of that many.")
        compressor = cls(encoder, counter, name=folder.resolve().name, window_tokens=window_tokens)
        compressor.judged(["a " * window_tokens])
        return compressor

    @property
    def name(self) -> str:
        return self._name

    def shortened(
        self,
        question: str,
        sources: Sequence[ContextSource],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> tuple[Shortened, ...]:
        layouts = Layouts.of(sources, ((item, item.score) for item in evidence), self._counter.counts)
        needed = layouts.essentials(wanted_tokens=wanted_tokens, max_tokens=max_tokens)
        shown = layouts.only(needed)
        kept = {n: set(positions) for n, positions in needed.items()}
        left = _keep_blocks(shown, kept, wanted_tokens - shown.tokens(kept))
        words = self._fitting_words(shown.by_number, kept, left)
        return tuple(layout.put_together(_texts(layout, kept[n], words)) for n, layout in shown.by_number.items())

    def _fitting_words(self, layouts: Mapping[int, Layout], kept: Kept, left: int) -> set[_Word]:
        """The words that fit, likeliest first; the first word of a sentence moves the marks around it."""
        words = [word for n, layout in layouts.items() for word in self._words(layout, kept[n])]
        costs = dict(zip(words, self._counter.counts([word.text for word in words]), strict=True))
        chosen: set[_Word] = set()
        begun = {n: set(positions) for n, positions in kept.items()}
        for word in sorted(words, key=lambda word: (-word.probability, word.source, word.position, word.order)):
            cost = costs[word] + layouts[word.source].marks_added(begun[word.source], word.position)
            if cost <= left:
                chosen.add(word)
                begun[word.source].add(word.position)
                left -= cost
        return chosen

    def _words(self, layout: Layout, kept: set[int]) -> Iterator[_Word]:
        parts = [part for part in layout.parts if part.unit.kind is UnitKind.SENTENCE]
        for part, words in zip(parts, self.judged([layout.text_of(part) for part in parts]), strict=True):
            if part.unit.position not in kept:
                best = max((probability for _, probability in words), default=0.0)
                for order, (text, own) in enumerate(words):
                    probability = best if _INSEPARABLE.fullmatch(text) else own
                    yield _Word(layout.source.n, part.unit.position, order, text, probability)

    def judged(self, sentences: Sequence[str]) -> list[list[tuple[str, float]]]:
        """Each sentence's words, each with the mean probability of its tokens, read among the other sentences."""
        text = well_formed("\n".join(sentences))
        encoding = self._encoder.tokenizer.encode(text, add_special_tokens=False)
        windows = [encoding.ids[at : at + self._room] for at in range(0, len(encoding.ids), self._room)]
        found = np.concatenate([np.empty(0), *self._encoder.on_cores(self._probabilities, windows)])
        places = np.array([start for start, _ in encoding.offsets], dtype=np.int64)
        judged, done = [], 0
        for sentence in sentences:
            words = []
            for word in _WORD.finditer(sentence):
                start, end = done + word.start(), done + word.end()
                tokens = found[slice(*np.searchsorted(places, (start, end)))]
                words.append((text[start:end], float(tokens.mean()) if tokens.size else 0.0))
            judged.append(words)
            done += len(sentence) + 1
        return judged

    def _probabilities(self, ids: Sequence[int]) -> Floats:
        """For each token, that it is worth keeping."""
        whole = [*self._head, *ids, *self._tail]
        logits = self._encoder.run(np.array([whole])).astype(np.float64)
        if logits.shape != (1, len(whole), 2):
            raise Misconfigured(
                f"{self._encoder.title} answers {len(whole)} tokens with numbers of shape {logits.shape}; "
                "LLMLingua-2 gives two per token. Export it for token classification."
            )
        drop, keep = logits[0, len(self._head) : len(self._head) + len(ids)].T
        probabilities: Floats = 1 / (1 + np.exp(np.clip(drop - keep, -700, 700)))
        if not np.isfinite(probabilities).all():
            raise Unavailable(f"{self._encoder.title} gives no numbers for a text: export it again")
        return probabilities


def _keep_blocks(shown: Layouts, kept: Kept, left: int) -> int:
    """Add the blocks of code and the tables that fit, best first; the tokens that are left."""
    for part in shown.best_parts():
        n, position = part.unit.source, part.unit.position
        layout = shown.by_number[n]
        if part.unit.kind is not UnitKind.SENTENCE and position not in kept[n]:
            cost = layout.tokens(kept[n] | {position}) - layout.tokens(kept[n])
            if cost <= left:
                kept[n].add(position)
                left -= cost
    return left


def _texts(layout: Layout, whole: set[int], words: set[_Word]) -> Mapping[int, str]:
    """What each unit of a source still says, by position."""
    thinned: dict[int, list[str]] = defaultdict(list)
    for word in sorted(words, key=lambda word: word.order):
        if word.source == layout.source.n:
            thinned[word.position].append(word.text)
    texts = {position: " ".join(some) for position, some in thinned.items()}
    return texts | {part.unit.position: layout.text_of(part) for part in layout.parts if part.unit.position in whole}
