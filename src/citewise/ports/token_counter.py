"""TokenCounter: how much of a model's window a text fills."""

from collections.abc import Sequence
from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens as the embedding model does, special ones left out.

    Promises: one count per text, in order; the count of two texts joined by a line break is the sum of theirs.
    """

    def counts(self, texts: Sequence[str]) -> list[int]: ...
