"""Reranker: reads question and passage together and says how well they fit."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores passages against a question.

    Promises: one score per text, in order, each in 0..1 (a model's logits through a sigmoid); the same pair gives
    the same score whatever its neighbors; no texts give (); what is unreachable, too slow, or answers nonsense
    raises Unavailable.
    """

    @property
    def name(self) -> str: ...
    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]: ...
