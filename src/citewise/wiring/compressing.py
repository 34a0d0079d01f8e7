"""Settings -> compression of sources. Its model is loaded when first asked: what is wrong with it fails no question."""

from collections.abc import Sequence
from pathlib import Path

from citewise.answer.compress import Compress
from citewise.model.answer import Evidence, Shortened, Source
from citewise.ports.models import Compressor, TokenCounter
from citewise.settings import Settings
from citewise.wiring.lazy import Loading


def compress_of(settings: Settings, counter: TokenCounter) -> Compress:
    """What the settings describe. Make it once: it holds the model."""
    chosen = settings.answer
    compressor = None
    if chosen.compression == "llmlingua":
        folder = Path(chosen.compression_path).expanduser()
        compressor = LazyCompressor(Loading(folder.name, lambda: _llmlingua(folder, counter)))
    return Compress(compressor, is_on=chosen.compression != "none", tokens=chosen.compressed_tokens)


class LazyCompressor:
    """The port `Compressor` over one that is loaded when it is first asked."""

    def __init__(self, loading: Loading[Compressor]) -> None:
        self._loading = loading

    @property
    def name(self) -> str:
        return self._loading.name

    def shortened(
        self,
        question: str,
        sources: Sequence[Source],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> tuple[Shortened, ...]:
        return self._loading.ready().shortened(
            question, sources, evidence, wanted_tokens=wanted_tokens, max_tokens=max_tokens
        )


def _llmlingua(folder: Path, counter: TokenCounter) -> Compressor:
    from citewise.adapters.onnx.llmlingua import from_folder

    return from_folder(folder, counter)
