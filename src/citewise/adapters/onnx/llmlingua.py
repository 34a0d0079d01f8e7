"""LLMLingua-2 in onnxruntime: a token classifier says which words a text can do without; the model comes from outside.

It does not look at the question: the evidence decides which unit of a source stays untouched, and which blocks of code
and tables stay at all. Words of other sentences are kept by their probability. Numbers, negations and the marks of
lists go with the best word of their sentence, since a sentence without them says something else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewise.adapters.onnx.runtime import (
    available_cores,
    input_types,
    model_files,
    onnxruntime,
    open_session,
    open_tokenizer,
    output_of,
)
from citewise.errors import Misconfigured, Unavailable
from citewise.model.answer import ContextSource, Evidence, Shortened, UnitKind
from citewise.ports.models import TokenCounter
from citewise.text.units import Layout, Part, best_parts, essentials, layouts_of, tokens_of

WINDOW_TOKENS = 512  # what the published models see at once; fewer: a word is judged by less of its text
KEEP = 1  # of the two labels: 0 drops a token

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
    chance: float  # that it is worth keeping


class LlmLingua2:
    """Compressor over one onnxruntime session, safe to share between threads."""

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        tokenizer: Tokenizer,
        counter: TokenCounter,
        *,
        name: str,
        window_tokens: int = WINDOW_TOKENS,
    ) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._counter = counter
        self._name = name
        self._inputs = input_types(session)
        self._output = output_of(session)
        self._cores = ThreadPoolExecutor(available_cores(), thread_name_prefix="citewise-compressor")
        bare, full = (tokenizer.encode("a", add_special_tokens=special).ids for special in (False, True))
        before = next(at for at in range(len(full)) if full[at : at + len(bare)] == bare)
        self._head, self._tail = full[:before], full[before + len(bare) :]
        self._room = window_tokens - len(self._head) - len(self._tail)

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
        layouts = layouts_of(sources, ((one, one.score) for one in evidence), self._counter.counts)
        musts = essentials(layouts, wanted_tokens=wanted_tokens, max_tokens=max_tokens)
        shown = [layout for layout in layouts if layout.source.n in musts]
        kept = {n: set(positions) for n, positions in musts.items()}
        left = _keep_blocks(shown, kept, wanted_tokens - tokens_of(shown, kept))
        words = self._chosen(shown, kept, left)
        return tuple(layout.put_together(_texts(layout, kept[layout.source.n], words)) for layout in shown)

    def _chosen(self, layouts: Sequence[Layout], kept: Kept, left: int) -> set[_Word]:
        """The words that fit, likeliest first; a sentence's first one moves the marks around it."""
        by_number = {layout.source.n: layout for layout in layouts}
        words = [word for layout in layouts for word in self._words(layout, kept[layout.source.n])]
        costs = dict(zip(words, self._counter.counts([word.text for word in words]), strict=True))
        chosen: set[_Word] = set()
        begun = {n: set(positions) for n, positions in kept.items()}
        for word in sorted(words, key=lambda one: (-one.chance, one.source, one.position, one.order)):
            cost = costs[word] + by_number[word.source].marks_added(begun[word.source], word.position)
            if cost <= left:
                chosen.add(word)
                begun[word.source].add(word.position)
                left -= cost
        return chosen

    def _words(self, layout: Layout, kept: set[int]) -> Iterator[_Word]:
        sentences = [part for part in layout.parts if part.unit.kind is UnitKind.SENTENCE]
        for part, words in zip(sentences, self._judged([layout.text_of(part) for part in sentences]), strict=True):
            if part.unit.position not in kept:
                best = max((chance for _, chance in words), default=0.0)
                for order, (text, chance) in enumerate(words):
                    sure = best if _INSEPARABLE.fullmatch(text) else chance
                    yield _Word(layout.source.n, part.unit.position, order, text, sure)

    def _judged(self, sentences: Sequence[str]) -> list[list[tuple[str, float]]]:
        """Each sentence's words with their chances: the mean over a word's tokens, read among the other sentences."""
        text = "\n".join(sentences).encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair becomes "?"
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        chances = self._chances(encoding.ids)
        places = np.array([start for start, _ in encoding.offsets], dtype=np.int64)
        judged, done = [], 0
        for sentence in sentences:
            spans = [(done + word.start(), done + word.end()) for word in _WORD.finditer(sentence)]
            found = ((start, end, np.searchsorted(places, (start, end))) for start, end in spans)
            judged.append([(text[start:end], _mean(chances[first:last])) for start, end, (first, last) in found])
            done += len(sentence) + 1
        return judged

    def _chances(self, ids: Sequence[int]) -> Floats:
        windows = [ids[at : at + self._room] for at in range(0, len(ids), self._room)]
        if not windows:
            return np.empty(0)
        return np.concatenate(list(self._cores.map(self._window_chances, windows)))

    def _window_chances(self, ids: Sequence[int]) -> Floats:
        logits = self._logits([*self._head, *ids, *self._tail])
        drop, keep = logits[len(self._head) : len(self._head) + len(ids)].T
        chances: Floats = 1 / (1 + np.exp(np.clip(drop - keep, -700, 700)))
        if not np.isfinite(chances).all():
            raise Unavailable(f"the compressing model {self._name} gives no numbers for a text: export it again")
        return chances

    def _logits(self, ids: Sequence[int]) -> Floats:
        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
        feed = {name: np.array([values[name]], kind) for name, kind in self._inputs.items()}
        try:
            logits = np.asarray(self._session.run([self._output], feed)[0], np.float64)
        except Exception as error:  # onnxruntime's own errors share no other base
            reason = " ".join(str(error).split())[:200]
            raise Misconfigured(
                f"The compressing model {self._name} cannot take {len(ids)} tokens at once: {reason}. "
                "Export it for windows of that many."
            ) from error
        if logits.shape != (1, len(ids), KEEP + 1):
            raise Misconfigured(
                f"The compressing model {self._name} answers {len(ids)} tokens with numbers of shape {logits.shape}; "
                "LLMLingua-2 gives two a token. Export it for token classification."
            )
        return np.asarray(logits[0])


def from_folder(folder: Path, counter: TokenCounter, *, window_tokens: int = WINDOW_TOKENS) -> LlmLingua2:
    """The compressor in a folder with model.onnx and tokenizer.json, after one trial that fills its window."""
    files = model_files(folder, of="compressing")
    session, tokenizer = open_session(files.model), open_tokenizer(files.tokenizer)
    made = LlmLingua2(session, tokenizer, counter, name=folder.resolve().name, window_tokens=window_tokens)
    made._judged(["a " * window_tokens])
    return made


def _keep_blocks(layouts: Sequence[Layout], kept: Kept, left: int) -> int:
    """Add the blocks of code and the tables that fit, best first; what is left of the room."""
    by_number = {layout.source.n: layout for layout in layouts}
    for part in best_parts(part for layout in layouts for part in layout.parts):
        n, position = part.unit.source, part.unit.position
        if part.unit.kind is UnitKind.SENTENCE or position in kept[n]:
            continue
        cost = by_number[n].tokens(kept[n] | {position}) - by_number[n].tokens(kept[n])
        if cost <= left:
            kept[n].add(position)
            left -= cost
    return left


def _texts(layout: Layout, whole: set[int], words: set[_Word]) -> Mapping[int, str]:
    """What each unit of a source still says, by position."""
    thinned: dict[int, list[_Word]] = {}
    for word in words:
        if word.source == layout.source.n:
            thinned.setdefault(word.position, []).append(word)
    said = {at: " ".join(one.text for one in sorted(some, key=lambda one: one.order)) for at, some in thinned.items()}
    return said | {part.unit.position: layout.text_of(part) for part in _whole(layout, whole)}


def _whole(layout: Layout, positions: set[int]) -> Iterator[Part]:
    return (part for part in layout.parts if part.unit.position in positions)


def _mean(chances: Floats) -> float:
    return float(chances.mean()) if chances.size else 0.0
