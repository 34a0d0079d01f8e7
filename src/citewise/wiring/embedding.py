"""Settings -> an embedding model. Each provider is imported in its own branch."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citewise.adapters.lazy import Lazy, lazily
from citewise.errors import CitewiseError, Misconfigured
from citewise.model.chunk import EmbeddingModel
from citewise.ports.models import Embedder, TokenCounter, WordEmbedder
from citewise.settings import Settings

if TYPE_CHECKING:
    from citewise.adapters.onnx.minilm import MiniLm

CHARS_PER_TOKEN = 3  # of a remote model, whose tokenizer is not here: a careful guess, so that no text is cut off


@dataclass(frozen=True, slots=True)
class Embedding:
    """A model's embedder, the counter of its tokens, and the vectors of words where they are wanted."""

    embedder: Embedder
    counter: TokenCounter
    warm: Callable[[], None] = lambda: None  # loads a local model before it is needed
    words: WordEmbedder | None = None


def embedding_of(settings: Settings) -> Embedding:
    """The embedding that the settings name."""
    makers: dict[str, Callable[[Settings], Embedding]] = {"minilm": _minilm, "onnx": _onnx, "openai": _openai}
    maker = makers.get(settings.embedding.provider)
    if maker is None:
        raise Misconfigured(f"embedding.provider is {settings.embedding.provider!r}; it can be {', '.join(makers)}")
    return maker(settings)


def _minilm(settings: Settings) -> Embedding:
    from citewise.adapters.onnx import MINILM

    def load() -> "MiniLm":
        from citewise.adapters.onnx.minilm import load

        return load()

    loaded = Lazy(MINILM.name, load)

    def warm() -> None:
        with suppress(CitewiseError):  # whoever needs it is told
            loaded()

    words = lazily(lambda: loaded().words) if settings.embedding.word_vectors else None
    return Embedding(lazily(lambda: loaded().embedder, model=MINILM), _wordpiece_counter(), warm, words)


def _wordpiece_counter() -> TokenCounter:
    def load() -> TokenCounter:
        from citewise.adapters.onnx.wordpiece import WordPieceCounter, uncased_tokenizer

        return WordPieceCounter(uncased_tokenizer())

    return lazily(Lazy("the token counter", load))


def _onnx(settings: Settings) -> Embedding:
    from citewise.adapters.onnx.embedder import Prefixes, from_folder

    chosen = settings.embedding
    if not chosen.path:
        raise Misconfigured("embedding.provider is onnx: set embedding.path to the model's folder")
    prefixes = Prefixes(chosen.query_prefix, chosen.document_prefix)
    folder, window_tokens = Path(chosen.path).expanduser(), chosen.window_tokens or 512
    return Embedding(*from_folder(folder, window_tokens=window_tokens, prefixes=prefixes))


def _openai(settings: Settings) -> Embedding:
    chosen = settings.embedding
    if not chosen.model or chosen.dimensions <= 0:
        raise Misconfigured(
            "embedding.provider is openai: set embedding.model and embedding.dimensions, "
            "for example text-embedding-3-small and 1536"
        )
    prefixes = "".join(f"|{prefix}" for prefix in (chosen.query_prefix, chosen.document_prefix) if prefix)
    model = EmbeddingModel(f"{chosen.model}{prefixes}", chosen.dimensions, chosen.window_tokens or 8191)

    def load() -> Embedder:
        from citewise.adapters.openai.embedder import RETRY, OpenAIEmbedder
        from citewise.wiring.remote import remote_of

        return OpenAIEmbedder(
            remote_of(settings, "embedding", RETRY),
            model=model,
            batch_size=chosen.batch_size,
            query_prefix=chosen.query_prefix,
            document_prefix=chosen.document_prefix,
            max_input_chars=model.window_tokens * CHARS_PER_TOKEN,
        )

    # WordPiece cuts English a little finer than the large vocabularies of remote models: a safe side to err on.
    return Embedding(lazily(Lazy(model.name, load), model=model), _wordpiece_counter())
