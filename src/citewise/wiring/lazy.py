"""What is loaded when it is first needed: most runs of a command find nothing new to embed or to count."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import cached_property

from citewise.model.errors import CitewiseError
from citewise.model.vector import EmbeddingFailure, EmbeddingModel, Vector
from citewise.ports.embedder import Embedder
from citewise.ports.token_counter import TokenCounter


class LazyEmbedder:
    """Knows its model from the start, loads it once."""

    def __init__(self, model: EmbeddingModel, load: Callable[[], Embedder]) -> None:
        self._model = model
        self._load = load
        self._loaded: Embedder | None = None
        self._last: tuple[str, Vector] | None = None
        self._lock = threading.Lock()

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        return self._ready().documents(texts) if texts else ()

    def query(self, text: str) -> Vector:
        """The last one is remembered: an answer asks for its question's vector twice, to search and to weigh."""
        last = self._last
        if last is None or last[0] != text:
            last = self._last = (text, self._ready().query(text))
        return last[1]

    def warm(self) -> None:
        """Load it now. What is wrong with it is said to whoever needs it."""
        with contextlib.suppress(CitewiseError):
            self._ready()

    def _ready(self) -> Embedder:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


class LazyCounter:
    """A token counter whose vocabulary is read at the first count."""

    def __init__(self, load: Callable[[], TokenCounter]) -> None:
        self._load = load

    @cached_property
    def _loaded(self) -> TokenCounter:
        return self._load()

    def counts(self, texts: Sequence[str]) -> list[int]:
        return self._loaded.counts(texts)
