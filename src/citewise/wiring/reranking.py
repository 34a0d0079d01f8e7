"""Settings -> a reranker, loaded when first asked: what is wrong with it degrades a search and does no more."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from citewise.model.errors import Misconfigured
from citewise.ports.reranker import Reranker
from citewise.settings import RerankSettings, Settings
from citewise.wiring.keys import key_of


def reranker_of(settings: Settings) -> Reranker | None:
    """The reranker that the settings name; None if they name none."""
    chosen = settings.rerank
    if chosen.provider == "none":
        return None
    if chosen.provider == "http":
        return LazyReranker(chosen.model or chosen.style, lambda: _http(chosen))
    return LazyReranker(chosen.model or chosen.path, lambda: _onnx(settings))


class LazyReranker:
    """Loads the real one at the first call; a failure is tried again at the next."""

    def __init__(self, name: str, load: Callable[[], Reranker]) -> None:
        self._name = name
        self._load = load
        self._loaded: Reranker | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
        return self._loaded.scores(question, texts)


def _onnx(settings: Settings) -> Reranker:
    from citewise.adapters.rerank.hub import fetched
    from citewise.adapters.rerank.onnx import from_folder

    chosen = settings.rerank
    if not chosen.path and not chosen.model:
        raise Misconfigured("rerank.provider is onnx: set rerank.path to the model's folder, or rerank.model")
    folder = Path(chosen.path).expanduser() if chosen.path else fetched(chosen.model, settings.cache)
    return from_folder(folder, window_tokens=chosen.window_tokens)


def _http(chosen: RerankSettings) -> Reranker:
    import httpx

    from citewise.adapters.rerank.http import HttpReranker
    from citewise.adapters.rerank.http_answers import RerankStyle

    if not chosen.base_url:
        raise Misconfigured("rerank.provider is http: set rerank.base_url to what stands in front of /rerank")
    client = httpx.Client(
        base_url=chosen.base_url, headers=key_of(chosen.api_key_variable), timeout=chosen.timeout_seconds
    )
    return HttpReranker(
        client, model=chosen.model, style=RerankStyle(chosen.style), deadline_seconds=chosen.timeout_seconds
    )
