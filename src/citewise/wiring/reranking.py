"""Settings -> a reranker, loaded when first asked: what is wrong with it degrades a search and does no more."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from citewise.model.errors import CitewiseError, Misconfigured, Unavailable
from citewise.ports.reranker import Reranker
from citewise.settings import RerankSettings, Settings
from citewise.wiring.remote import client_of

RETRY_SECONDS = 60.0  # after which what could not be loaded is tried again
PATIENCE_SECONDS = 120.0  # for fetching a model by its hub name; one question waits for it, others do without


def reranker_of(settings: Settings, guarded: Callable[[Reranker], Reranker] = lambda one: one) -> Reranker | None:
    """The reranker that the settings name, guarded once it is loaded; None if they name none."""
    chosen = settings.rerank
    if chosen.provider == "none":
        return None
    if chosen.provider == "http":
        return LazyReranker(chosen.model or chosen.style, lambda: guarded(_http(chosen)))
    return LazyReranker(chosen.model or chosen.path, lambda: guarded(_onnx(settings)))


class LazyReranker:
    """Loads the real one at the first call. Whoever asks meanwhile is not kept waiting, nor is a failure repeated."""

    def __init__(self, name: str, load: Callable[[], Reranker], clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._load = load
        self._clock = clock
        self._loaded: Reranker | None = None
        self._failure: tuple[float, CitewiseError] | None = None
        self._loading = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return self._ready().scores(question, texts)

    def _ready(self) -> Reranker:
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

    def _tried(self) -> Reranker:
        if self._failure and self._clock() < self._failure[0]:
            raise self._failure[1]
        try:
            return self._load()
        except CitewiseError as error:
            self._failure = (self._clock() + RETRY_SECONDS, error)
            raise


def _onnx(settings: Settings) -> Reranker:
    from citewise.adapters.rerank.hub import fetched
    from citewise.adapters.rerank.onnx import from_folder

    chosen = settings.rerank
    if not chosen.path and not chosen.model:
        raise Misconfigured("rerank.provider is onnx: set rerank.path to the model's folder, or rerank.model")
    folder = (
        Path(chosen.path).expanduser()
        if chosen.path
        else fetched(chosen.model, settings.cache, patience_seconds=PATIENCE_SECONDS)
    )
    return from_folder(folder, window_tokens=chosen.window_tokens)


def _http(chosen: RerankSettings) -> Reranker:
    from citewise.adapters.rerank.http import HttpReranker
    from citewise.adapters.rerank.http_answers import RerankStyle

    if not chosen.base_url:
        raise Misconfigured("rerank.provider is http: set rerank.base_url to what stands in front of /rerank")
    return HttpReranker(
        client_of("rerank", chosen.base_url, chosen.api_key_variable, chosen.timeout_seconds),
        model=chosen.model,
        style=RerankStyle(chosen.style),
        are_logits=chosen.scores == "logits",
        deadline_seconds=chosen.timeout_seconds,
    )
