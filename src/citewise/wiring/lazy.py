"""An embedder that is loaded when it is first needed: most runs of a command find nothing new to embed."""

import threading
from collections.abc import Callable, Sequence

from citewise.model.vector import EmbeddingFailure, EmbeddingModel, Vector
from citewise.ports.embedder import Embedder


class LazyEmbedder:
    """Knows its model from the start, loads it once."""

    def __init__(self, model: EmbeddingModel, load: Callable[[], Embedder]) -> None:
        self._model = model
        self._load = load
        self._loaded: Embedder | None = None
        self._lock = threading.Lock()

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        return self._ready().documents(texts) if texts else ()

    def query(self, text: str) -> Vector:
        return self._ready().query(text)

    def _ready(self) -> Embedder:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded
