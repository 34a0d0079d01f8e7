"""Settings -> an embedder and the token counter that goes with it. Each provider is imported in its own branch."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citewise.errors import Misconfigured
from citewise.model.chunk import EmbeddingModel
from citewise.ports.models import Embedder, TokenCounter, WordEmbedder
from citewise.settings import Settings
from citewise.wiring.lazy import LazyCounter, LazyEmbedder, LazyWords, Once
from citewise.wiring.remote import client_of

if TYPE_CHECKING:
    from citewise.adapters.onnx.minilm import MiniLm

CHARACTERS_A_TOKEN = 3  # of a remote model, whose tokenizer is not here: a careful guess, so that no text is cut off


@dataclass(frozen=True, slots=True)
class Embedding:
    """The sides of a model: what it makes of text, how it counts it, and what it makes of its words."""

    embedder: Embedder
    counter: TokenCounter
    warm: Callable[[], None] = lambda: None  # loads what takes a while; for a local model, before it is needed
    words: WordEmbedder | None = None  # where the model tells a text's words apart, and this is wanted


def embedding_of(settings: Settings) -> Embedding:
    """The embedding that the settings name."""
    makers: dict[str, Callable[[Settings], Embedding]] = {"minilm": _minilm, "onnx": _onnx, "openai": _openai}
    maker = makers.get(settings.embedding.provider)
    if maker is None:
        raise Misconfigured(f"embedding.provider is {settings.embedding.provider!r}; it can be {', '.join(makers)}")
    return maker(settings)


def _minilm(settings: Settings) -> Embedding:
    from citewise.adapters.onnx.minilm_graph import MODEL

    def load() -> "MiniLm":
        from citewise.adapters.onnx.minilm import load

        return load(settings.cache)

    loaded = Once(load)
    embedder = LazyEmbedder(MODEL, lambda: loaded().embedder)
    words = LazyWords(lambda: loaded().words) if settings.embedding.word_vectors else None
    return Embedding(embedder, LazyCounter(_wordpiece), embedder.warm, words)


def _wordpiece() -> TokenCounter:
    from citewise.adapters.onnx.wordpiece import WordPieceCounter, uncased_tokenizer

    return WordPieceCounter(uncased_tokenizer())


def _onnx(settings: Settings) -> Embedding:
    from citewise.adapters.onnx.embedder import Prefixes, from_folder

    chosen = settings.embedding
    if not chosen.path:
        raise Misconfigured("embedding.provider is onnx: set embedding.path to the model's folder")
    prefixes = Prefixes(chosen.query_prefix, chosen.document_prefix)
    embedder, counter = from_folder(
        Path(chosen.path).expanduser(), window_tokens=chosen.window_tokens or 512, prefixes=prefixes
    )
    return Embedding(embedder, counter)


def _openai(settings: Settings) -> Embedding:
    chosen = settings.embedding
    if not chosen.model or chosen.dimensions <= 0:
        raise Misconfigured(
            "embedding.provider is openai: set embedding.model and embedding.dimensions, "
            "for example text-embedding-3-small and 1536"
        )
    window = chosen.window_tokens or 8191
    prefixes = "".join(f"|{prefix}" for prefix in (chosen.query_prefix, chosen.document_prefix) if prefix)
    model = EmbeddingModel(f"{chosen.model}{prefixes}", chosen.dimensions, window)
    # WordPiece cuts English a little finer than the large vocabularies of remote models: a safe side to err on.
    return Embedding(LazyEmbedder(model, lambda: _remote(settings, model)), LazyCounter(_wordpiece))


def _remote(settings: Settings, model: EmbeddingModel) -> Embedder:
    from citewise.adapters.openai.embedder import OpenAIEmbedder

    chosen = settings.embedding
    client = client_of("embedding", chosen.base_url, chosen.api_key_variable, chosen.timeout_seconds)
    return OpenAIEmbedder(
        client,
        model=model,
        remote_name=chosen.model,
        key_variable=chosen.api_key_variable,
        batch_size=chosen.batch_size,
        query_prefix=chosen.query_prefix,
        document_prefix=chosen.document_prefix,
        max_input_chars=model.window_tokens * CHARACTERS_A_TOKEN,
    )
