"""An embedder behind a guard, as a question uses it."""

from collections.abc import Sequence

from citewise.adapters.guard.guard import Guard
from citewise.model.vector import EmbeddingFailure, EmbeddingModel, Vector
from citewise.ports.embedder import Embedder


class GuardedEmbedder:
    """The port `Embedder` around another. Questions count; of other texts, one that fails says nothing of the model."""

    def __init__(self, embedder: Embedder, guard: Guard) -> None:
        self._embedder = embedder
        self._guard = guard

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        refusal = self._guard.breaker.refusal()
        if refusal:  # an answer weighs its sources by words then, and does not wait
            return (EmbeddingFailure(refusal),) * len(texts)
        return self._embedder.documents(texts)

    def query(self, text: str) -> Vector:
        return self._guard(lambda: self._embedder.query(text))
