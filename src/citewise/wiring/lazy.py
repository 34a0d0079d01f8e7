"""What is loaded when it is first needed: most runs of a command find nothing new to embed or to count."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from citewise.errors import CitewiseError, Unavailable
from citewise.model.chunk import EmbeddedText, EmbeddingFailure, EmbeddingModel, Vector, WordVectors
from citewise.ports.models import Embedder, TokenCounter, WordEmbedder

# After which what could not be loaded is tried again. 0: every question waits until it has failed once more; an hour:
# what was put right is not noticed for as long.
RETRY_SECONDS = 60.0

T = TypeVar("T")


class Loading(Generic[T]):
    """A part that a question can do without, loaded at the first call.

    Whoever asks meanwhile is not kept waiting, nor is a failure repeated.
    """

    def __init__(self, name: str, load: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self._load = load
        self._clock = clock
        self._loaded: T | None = None
        self._failure: tuple[float, CitewiseError] | None = None
        self._loading = threading.Lock()

    def ready(self) -> T:
        if self._loaded is not None:
            return self._loaded
        self._repeat_failure()  # before the lock: who merely repeats it is not loading anything
        if not self._loading.acquire(blocking=False):
            raise Unavailable(f"{self.name} is still being loaded")
        try:
            if self._loaded is None:
                self._loaded = self._tried()
            return self._loaded
        finally:
            self._loading.release()

    def _tried(self) -> T:
        self._repeat_failure()  # of who held the lock a moment ago
        try:
            return self._load()
        except CitewiseError as error:
            self._failure = (self._clock() + RETRY_SECONDS, error)
            raise

    def _repeat_failure(self) -> None:
        failure = self._failure
        if failure and self._clock() < failure[0]:
            raise failure[1].with_traceback(None)  # else it would grow by each caller's frames, and keep all they hold


class Once(Generic[T]):
    """Made at the first call, by one caller while others wait; what failed is tried again by the next."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self._lock = threading.Lock()

    def __call__(self) -> T:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


class LazyEmbedder:
    """Knows its model from the start, loads it once. Most questions need it, so whoever asks meanwhile waits."""

    def __init__(self, model: EmbeddingModel, load: Callable[[], Embedder]) -> None:
        self._model = model
        self._ready = Once(load)

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        return self._ready().documents(texts) if texts else ()

    def query(self, text: str) -> Vector:
        return self._ready().query(text)

    def warm(self) -> None:
        """Load it now. What is wrong with it is said to whoever needs it."""
        with contextlib.suppress(CitewiseError):
            self._ready()


class LazyWords:
    """The port `WordEmbedder` over one that is loaded at the first call."""

    def __init__(self, load: Callable[[], WordEmbedder]) -> None:
        self._load = load

    def embedded(self, texts: Sequence[str]) -> tuple[EmbeddedText | EmbeddingFailure, ...]:
        return self._load().embedded(texts) if texts else ()

    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]:
        return self._load().closeness(question, texts)


class LazyCounter:
    """A token counter whose vocabulary is read at the first count."""

    def __init__(self, load: Callable[[], TokenCounter]) -> None:
        self._load = load

    @cached_property
    def _loaded(self) -> TokenCounter:
        return self._load()

    def counts(self, texts: Sequence[str]) -> list[int]:
        return self._loaded.counts(texts)
