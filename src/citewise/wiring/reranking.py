"""Settings -> a reranker, loaded when first asked: what is wrong with it degrades a search and does no more."""

from collections.abc import Callable, Sequence
from pathlib import Path

from citewise.errors import Misconfigured
from citewise.ports.models import Reranker
from citewise.settings import RerankSettings, Settings
from citewise.wiring.lazy import Loading
from citewise.wiring.remote import client_of

PATIENCE_SECONDS = 120.0  # for fetching a model by its hub name; one question waits for it, others do without


def reranker_of(settings: Settings, guarded: Callable[[Reranker], Reranker] = lambda one: one) -> Reranker | None:
    """The reranker that the settings name, guarded once it is loaded; None if they name none."""
    chosen = settings.rerank
    if chosen.provider == "none":
        return None
    if chosen.provider == "http":
        return LazyReranker(Loading(chosen.model or chosen.style, lambda: guarded(_http(chosen))))
    return LazyReranker(Loading(chosen.model or chosen.path, lambda: guarded(_onnx(settings))))


class LazyReranker:
    """The port `Reranker` over one that is loaded when it is first asked."""

    def __init__(self, loading: Loading[Reranker]) -> None:
        self._loading = loading

    @property
    def name(self) -> str:
        return self._loading.name

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return self._loading.ready().scores(question, texts)


def _onnx(settings: Settings) -> Reranker:
    from citewise.adapters.onnx.hub import fetched
    from citewise.adapters.onnx.reranker import from_folder

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
    from citewise.adapters.openai.reranker import HttpReranker, RerankStyle

    if not chosen.base_url:
        raise Misconfigured("rerank.provider is http: set rerank.base_url to what stands in front of /rerank")
    return HttpReranker(
        client_of("rerank", chosen.base_url, chosen.api_key_variable, chosen.timeout_seconds),
        model=chosen.model,
        style=RerankStyle(chosen.style),
        key_variable=chosen.api_key_variable,
        are_logits=chosen.scores == "logits",
        deadline_seconds=chosen.timeout_seconds,
    )
