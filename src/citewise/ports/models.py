"""What is needed of models: vectors, token counts, scores, answers, shorter sources."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewise.errors import Unavailable
from citewise.model.answer import Citation, ContextSource, Evidence, Prompt, Quality, Shortened
from citewise.model.cancellation import Cancellation
from citewise.model.chunk import EmbeddingModel, Vector, WordVectors


class Embedder(Protocol):
    """Turns text into vectors of meaning.

    Promises: one outcome per text, in order; unit length; every token counts, however long the text;
    the same text gives the same vector whatever its neighbors in the call; a text that cannot be
    embedded is Unavailable and does not affect the others; wrong credentials raise Misconfigured.
    """

    @property
    def model(self) -> EmbeddingModel: ...
    def documents(self, texts: Sequence[str]) -> tuple[Vector | Unavailable, ...]: ...
    def query(self, text: str) -> Vector: ...


class WordEmbedder(Protocol):
    """Turns text into a vector of its meaning and vectors of its words, in one pass.

    Promises: one outcome per text, in order; the vector is the very one that the model's Embedder gives; a text that
    cannot be embedded is Unavailable and does not affect the others. `closeness` is how near, on average, each word of
    the question finds one in a text, beyond what one of its length has by chance: higher is nearer, and only texts for
    the same question can be compared; but for rounding it does not depend on a text's neighbors; what cannot be vectors
    of this model raises BadData. `part_closeness` is the same for the parts of texts: each comes with all its parts in
    order, cut at white space; the first, its headings, is counted into every other and has no score of its own.
    """

    def embedded(self, texts: Sequence[str]) -> tuple[tuple[Vector, WordVectors] | Unavailable, ...]: ...
    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]: ...
    def part_closeness(
        self, question: str, texts: Sequence[tuple[WordVectors, Sequence[str]]]
    ) -> tuple[tuple[float, ...], ...]: ...


class TokenCounter(Protocol):
    """Counts tokens as the embedding model does, special ones left out.

    Promises: one count per text, in order; the count of two texts joined by a line break is the sum of theirs.
    """

    def counts(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Embedding:
    """A model's embedder, the counter of its tokens, and the vectors of words where they are wanted."""

    embedder: Embedder
    counter: TokenCounter
    warm: Callable[[], None] = lambda: None  # loads a local model before it is needed
    words: WordEmbedder | None = None
    for_readers: Embedder | None = None  # of the same vectors, with less patience; None: the embedder itself


class Reranker(Protocol):
    """Scores passages against a question.

    Promises: one score per text, in order, each in 0..1 (a model's logits through a sigmoid); the same pair gives
    the same score whatever its neighbors; no texts give (); what is unreachable, too slow, or returns an invalid
    response raises Unavailable. One that computes in this process has an attribute `is_local = True`: only a few
    searches at a time ask it, where any number may wait for a server.
    """

    @property
    def name(self) -> str: ...
    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]: ...


class Generator(Protocol):
    """Writes an answer that rests on a prompt's sources.

    Promises: pieces of text in order, nothing but the answer, with `[n]` where source n is meant; closing the iterator
    stops the work; `cancellation.cancel()` from any thread ends a read that waits, before the first piece as well, and
    the stream raises Cancelled; a server that refuses, is too slow or breaks off raises Unavailable, wrong credentials
    or an unknown model Misconfigured. One that can only quote has an attribute `only_quotes = True`: it is
    asked only where the sources are likely to answer, since it cannot say that they do not.
    """

    @property
    def name(self) -> str: ...  # shown with the answer: an extractive one never passes for a language model
    def stream(self, prompt: Prompt, cancellation: Cancellation | None = None) -> Iterator[str]: ...


class QualityEvaluator(Protocol):
    """Says how far an answer can be trusted.

    Promises: every part in 0..1, or None where it was not measured; a warning wherever a reader should check more than
    usual. `faithfulness` is the share of sentences that their sources support, None for a text that answers nothing.
    """

    def quality(
        self, prompt: Prompt, text: str, *, citations: Sequence[Citation], faithfulness: float | None
    ) -> Quality: ...


class Compressor(Protocol):
    """Leaves out of sources what is not worth its tokens.

    Promises: what is kept stands in the order of the document, word for word, with `…` where a whole unit was left
    out; headings stay; code and tables are whole or not there; every source that is kept has its best unit that fits,
    unchanged; a source of which nothing fits is not in the outcome, which may be empty. As blocks of a context, the
    outcome takes `wanted_tokens`; more only where the best source's best unit does, and then no other one of that
    source; never over `max_tokens`, as far as tokens of parts add up to those of the whole. What cannot be loaded or
    breaks raises a CitewiseError.
    """

    @property
    def name(self) -> str: ...
    def shortened(
        self,
        question: str,
        sources: Sequence[ContextSource],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> tuple[Shortened, ...]: ...
