"""Settings -> compression of sources. Its model is loaded when first asked: what is wrong with it fails no question."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from citewise.context.compress import Compress
from citewise.model.context import Evidence, Shortened, Source
from citewise.model.errors import CitewiseError, Unavailable
from citewise.ports.compressor import Compressor
from citewise.ports.token_counter import TokenCounter
from citewise.settings import Settings

RETRY_SECONDS = 60.0  # after which what could not be loaded is tried again


def compress_of(settings: Settings, counter: TokenCounter) -> Compress:
    """What the settings describe. Make it once: it holds the model."""
    chosen = settings.answer
    compressor = None
    if chosen.compression == "llmlingua":
        folder = Path(chosen.compression_path).expanduser()
        compressor = LazyCompressor(folder.name, lambda: _llmlingua(folder, counter))
    return Compress(compressor, is_on=chosen.compression != "none", tokens=chosen.compressed_tokens)


class LazyCompressor:
    """Loads the real one at the first call. Whoever asks meanwhile is not kept waiting, nor is a failure repeated."""

    def __init__(self, name: str, load: Callable[[], Compressor], clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._load = load
        self._clock = clock
        self._loaded: Compressor | None = None
        self._failure: tuple[float, CitewiseError] | None = None
        self._loading = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    def shortened(
        self,
        question: str,
        sources: Sequence[Source],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        most_tokens: int,
    ) -> tuple[Shortened, ...]:
        return self._ready().shortened(
            question, sources, evidence, wanted_tokens=wanted_tokens, most_tokens=most_tokens
        )

    def _ready(self) -> Compressor:
        if self._loaded is not None:
            return self._loaded
        if not self._loading.acquire(blocking=False):
            raise Unavailable(f"{self._name} is still being loaded")
        try:
            if self._loaded is None:
                self._loaded = self._tried()
            return self._loaded
        finally:
            self._loading.release()

    def _tried(self) -> Compressor:
        if self._failure and self._clock() < self._failure[0]:
            raise self._failure[1]
        try:
            return self._load()
        except CitewiseError as error:
            self._failure = (self._clock() + RETRY_SECONDS, error)
            raise


def _llmlingua(folder: Path, counter: TokenCounter) -> Compressor:
    from citewise.adapters.compress.llmlingua import from_folder

    return from_folder(folder, counter)
