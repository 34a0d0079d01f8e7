"""LLMLingua-2 in onnxruntime: a token classifier says which words a text can do without; the model comes from outside.

It does not look at the question: the evidence decides which unit of a source stays unchanged, and which blocks of code
and tables stay at all. Words of other sentences are kept by their probability. Numbers, negations and the marks of
lists go with the best word of their sentence, since a sentence without them says something else.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewise.adapters.onnx.runtime import TextModel
from citewise.errors import Misconfigured, Unavailable
from citewise.model.answer import ContextSource, Evidence, Shortened, Unit
from citewise.ports.models import TokenCounter
from citewise.text.encoding import well_formed
from citewise.text.layout import Shortening
from citewise.text.markdown import BULLET

WINDOW_TOKENS = 512  # what the published models see at once; fewer: a word is judged by less of its text

Floats = NDArray[np.float64]

_WORD = re.compile(r"\S+")
_INSEPARABLE = re.compile(
    rf".*\d.*|{BULLET}|\W*(?:not|no|never|nor|none|cannot|without|\w+n['\u2019]t)\W*", re.IGNORECASE
)


class LlmLingua2:
    """The port `Compressor` over one text model, safe to share between threads."""

    def __init__(self, folder: Path, counter: TokenCounter, *, window_tokens: int = WINDOW_TOKENS) -> None:
        """From a folder with model.onnx and tokenizer.json, after one trial that fills its window."""
        advice = "Export it for windows of that many."
        self._encoder = TextModel.from_folder(folder, purpose="compressing", advice=advice)
        self._counter = counter
        self.name = folder.resolve().name
        self._window_tokens = window_tokens
        self.judged(["a " * window_tokens])

    def shortened(
        self,
        question: str,
        sources: Sequence[ContextSource],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> tuple[Shortened, ...]:
        worths = ((weighed, weighed.score) for weighed in evidence)
        shortening = Shortening(
            sources, worths, self._counter.counts, wanted_tokens=wanted_tokens, max_tokens=max_tokens
        )
        for part in shortening.parts:
            if not part.unit.is_prose and not shortening.keeps(part.unit):
                shortening.add(part.unit, part.tokens)
        return shortening.outcome(self._thinned(shortening))

    def _thinned(self, shortening: Shortening) -> Mapping[Unit, str]:
        """Sentences of which some words fit, the likeliest words first."""
        words = list(self._words(shortening))
        costs = self._counter.counts([text for _, text, _ in words])
        likeliest = sorted(range(len(words)), key=lambda at: -words[at][2])
        kept = [at for at in likeliest if shortening.add(words[at][0], costs[at])]
        thinned: defaultdict[Unit, list[str]] = defaultdict(list)
        for unit, text, _ in (words[at] for at in sorted(kept)):
            thinned[unit].append(text)
        return {unit: " ".join(texts) for unit, texts in thinned.items()}

    def _words(self, shortening: Shortening) -> Iterator[tuple[Unit, str, float]]:
        """The words of the sentences that are not kept whole, in their order, judged source by source."""
        sentences = [part for part in shortening.parts if part.unit.is_prose]
        sentences.sort(key=lambda part: (part.unit.source, part.unit.position))
        for _, group in groupby(sentences, key=lambda part: part.unit.source):
            parts = list(group)
            for part, words in zip(parts, self.judged([part.text for part in parts]), strict=True):
                best = max((probability for _, probability in words), default=0.0)
                for text, own in words if not shortening.keeps(part.unit) else ():
                    yield part.unit, text, best if _INSEPARABLE.fullmatch(text) else own

    def judged(self, sentences: Sequence[str]) -> list[list[tuple[str, float]]]:
        """Each sentence's words, each with the mean probability of its tokens, read among the other sentences."""
        text = well_formed("\n".join(sentences))
        encoding = self._encoder.tokenizer.encode(text, add_special_tokens=False)
        windows = self._encoder.windows(encoding.ids, window_tokens=self._window_tokens)
        probabilities = np.concatenate(self._encoder.on_cores(self._probabilities, windows))
        places = np.array([start for start, _ in encoding.offsets], dtype=np.int64)
        judged, done = [], 0
        for sentence in sentences:
            words = []
            for word in _WORD.finditer(sentence):
                start, end = done + word.start(), done + word.end()
                tokens = probabilities[slice(*np.searchsorted(places, (start, end)))]
                words.append((text[start:end], float(tokens.mean()) if tokens.size else 0.0))
            judged.append(words)
            done += len(sentence) + 1
        return judged

    def _probabilities(self, window: Sequence[int]) -> Floats:
        """For each token but the special ones, that it is worth keeping."""
        logits = self._encoder.run(np.array([window])).astype(np.float64)
        if logits.shape != (1, len(window), 2):
            raise Misconfigured(
                f"{self._encoder.title} answers {len(window)} tokens with numbers of shape {logits.shape}; "
                "LLMLingua-2 gives two per token. Export it for token classification."
            )
        head, tail = self._encoder.special_ids
        drop, keep = logits[0, len(head) : len(window) - len(tail)].T
        probabilities: Floats = 1 / (1 + np.exp(np.clip(drop - keep, -700, 700)))
        if not np.isfinite(probabilities).all():
            raise Unavailable(f"{self._encoder.title} gives no numbers for a text: export it again")
        return probabilities
