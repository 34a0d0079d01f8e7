"""Embedder: turns text into vectors of meaning."""

from collections.abc import Sequence
from typing import Protocol

from citewise.model.vector import EmbeddingFailure, EmbeddingModel, Vector


class Embedder(Protocol):
    """Turns text into vectors of meaning.

    Promises: one outcome per text, in order; unit length; every token counts, however long the text;
    the same text gives the same vector whatever its neighbors in the call; a text that cannot be
    embedded is an EmbeddingFailure and spoils no other; wrong credentials raise Misconfigured.
    """

    @property
    def model(self) -> EmbeddingModel: ...
    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]: ...
    def query(self, text: str) -> Vector: ...
