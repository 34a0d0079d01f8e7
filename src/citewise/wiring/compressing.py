"""Settings -> compression of sources. Its model is loaded when first asked: what is wrong with it fails no question."""

from pathlib import Path

from citewise.adapters.lazy import Lazy, lazily
from citewise.answer.compress import Compress
from citewise.ports.models import Compressor, TokenCounter
from citewise.settings import Settings
from citewise.wiring.reranking import RETRY_SECONDS


def compress_of(settings: Settings, counter: TokenCounter) -> Compress:
    """What the settings describe. Make it once: it holds the model."""
    chosen = settings.answer
    folder = Path(chosen.compression_path).expanduser()

    def load() -> Compressor:
        from citewise.adapters.onnx.llmlingua import from_folder

        return from_folder(folder, counter)

    compressor = None
    if chosen.compression == "llmlingua":
        compressor = lazily(Lazy(folder.name, load, retry_seconds=RETRY_SECONDS), name=folder.name)
    return Compress(compressor, is_on=chosen.compression != "none", tokens=chosen.compressed_tokens)
