"""Vectors of the questions that were asked last, so that a search and its cache embed a question once."""

from collections.abc import Sequence
from functools import lru_cache

from citewise.model.chunk import EmbeddingFailure, EmbeddingModel, Vector
from citewise.ports.models import Embedder

MAX_QUESTIONS = 256  # half a megabyte at 384 components; 1: threads that ask at once make each other forget


class RememberingEmbedder:
    """The port `Embedder` over another one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vector_of = lru_cache(maxsize=MAX_QUESTIONS)(embedder.query)

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        return self._embedder.documents(texts)

    def query(self, text: str) -> Vector:
        return self._vector_of(text)
