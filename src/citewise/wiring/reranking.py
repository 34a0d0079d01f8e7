"""Settings -> a reranker, loaded when first asked: what is wrong with it degrades a search and does no more."""

from pathlib import Path

from citewise.adapters.lazy import Lazy, lazily
from citewise.errors import Misconfigured
from citewise.ports.models import Reranker
from citewise.settings import Settings

DOWNLOAD_SECONDS = 120.0  # for a model by its hub name; the question that fetches it waits, others do without
RETRY_SECONDS = 60.0  # after which what could not be loaded is tried again


def reranker_of(settings: Settings) -> Reranker | None:
    """The reranker that the settings name; None if they name none."""
    chosen = settings.rerank
    if chosen.provider == "none":
        return None
    load, name = (_http, chosen.style) if chosen.provider == "http" else (_onnx, chosen.path)
    name = chosen.model or name
    return lazily(Lazy(name, lambda: load(settings), retry_seconds=RETRY_SECONDS), name=name)


def _onnx(settings: Settings) -> Reranker:
    from citewise.adapters.onnx.hub import downloaded
    from citewise.adapters.onnx.reranker import from_folder

    chosen = settings.rerank
    if not chosen.path and not chosen.model:
        raise Misconfigured("rerank.provider is onnx: set rerank.path to the model's folder, or rerank.model")
    folder = (
        Path(chosen.path).expanduser()
        if chosen.path
        else downloaded(chosen.model, settings.cache, deadline_seconds=DOWNLOAD_SECONDS)
    )
    return from_folder(folder, window_tokens=chosen.window_tokens)


def _http(settings: Settings) -> Reranker:
    from citewise.adapters.openai.reranker import RETRY, HttpReranker, RerankStyle
    from citewise.wiring.remote import remote_of

    chosen = settings.rerank
    if not chosen.base_url:
        raise Misconfigured("rerank.provider is http: set rerank.base_url to what stands in front of /rerank")
    return HttpReranker(
        remote_of(settings, "rerank", RETRY),
        style=RerankStyle(chosen.style),
        are_logits=chosen.scores == "logits",
        deadline_seconds=chosen.timeout_seconds,
    )
