"""Settings -> models and what answers with them, or those that a caller handed in.

An adapter is imported inside the branch that picks it, and a model is loaded when it is first used. Selected text is
answered with these alone, so nothing of a store may be imported here.
"""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from citewise.adapters.files import bytes_below
from citewise.adapters.lazy import lazily
from citewise.adapters.resources import require_memory
from citewise.errors import CitewiseError, Misconfigured
from citewise.model.chunk import EmbeddingModel
from citewise.ports import models
from citewise.settings import Settings
from citewise.text.urls import Addresses

if TYPE_CHECKING:
    from citewise.adapters.http import Remote, Retry
    from citewise.adapters.onnx.embedder import OnnxEmbedder
    from citewise.adapters.onnx.minilm import MiniLm
    from citewise.adapters.openai.embedder import OpenAIEmbedder
    from citewise.answer.compress import Compress
    from citewise.answer.pipeline import AnswerPipeline
    from citewise.ports.catalog import Catalog
    from citewise.ports.indexes import TextIndex, VectorIndex
    from citewise.ports.stores import LogStore, QueryCache

CHARS_PER_TOKEN = 3  # of a remote model, whose tokenizer is not here: a careful guess, so that no text is cut off
DOWNLOAD_SECONDS = 120.0  # for a model by its hub name; the question that fetches it waits, others do without
RETRY_SECONDS = 60.0  # after which a model that could not be loaded is tried again


class LibraryParts(TypedDict, total=False):
    """Parts that a caller hands in; where there is none, the settings choose. They are their owner's to close."""

    embedder: models.Embedder | None
    token_counter: models.TokenCounter | None
    word_embedder: models.WordEmbedder | None
    reranker: models.Reranker | None
    generator: models.Generator | None
    compressor: models.Compressor | None
    quality_evaluator: models.QualityEvaluator | None
    vector_index: "VectorIndex | None"
    text_index: "TextIndex | None"
    catalog: "Catalog | None"
    cache: "QueryCache | None"
    query_log: "LogStore | None"


NO_PARTS = LibraryParts()


def check_memory(work: Literal["search", "write"], parts: LibraryParts, *, mapped_bytes: int = 0) -> None:
    """Raise Unavailable if there is too little for our indexes, before anything of them is imported."""
    if None in (parts.get("vector_index"), parts.get("text_index")):
        require_memory(work, mapped_bytes=mapped_bytes)


def answer_pipeline(
    settings: Settings, embedding: models.Embedding, generator: models.Generator, parts: LibraryParts = NO_PARTS
) -> "AnswerPipeline":
    """The pipeline for the library and for selected text."""
    from citewise.answer.ground import Ground
    from citewise.answer.pack import Pack
    from citewise.answer.pipeline import AnswerPipeline
    from citewise.answer.quality import CalibratedQuality

    chosen = settings.answer
    return AnswerPipeline(
        Pack(embedding.counter, addresses_of(settings), chosen.budget_tokens),
        Ground(embedding.for_readers or embedding.embedder, embedding.counter),
        generator,
        compress_of(settings, embedding.counter, parts.get("compressor")),
        parts.get("quality_evaluator") or CalibratedQuality(),
        min_confidence=chosen.min_confidence or None,
    )


def addresses_of(settings: Settings) -> Addresses:
    """Where cited documents can be read."""
    return Addresses(settings.citations.sites, settings.citations.repositories)


def embedding_of(settings: Settings, parts: LibraryParts = NO_PARTS) -> models.Embedding:
    """The embedding that the settings name, with what was handed in."""
    given, counter, words = parts.get("embedder"), parts.get("token_counter"), parts.get("word_embedder")
    if given is not None and counter is not None:
        return models.Embedding(given, counter, words=words)
    make = {"minilm": _minilm, "onnx": _onnx_embedding, "openai": _openai_embedding}[settings.embedding.provider]
    made = make(settings)
    if given is not None:
        return models.Embedding(given, made.counter, words=words)
    return replace(made, counter=counter or made.counter, words=words or made.words)


def _minilm(settings: Settings) -> models.Embedding:
    from citewise.adapters.onnx import MINILM
    from citewise.adapters.onnx.wordpiece import WordPieceCounter

    def load() -> "MiniLm":
        require_memory("model")
        from citewise.adapters.onnx.minilm import MiniLm

        return MiniLm()

    embedder = lazily(MINILM.name, load, model=MINILM)

    def warm() -> None:
        with suppress(CitewiseError, RuntimeError):  # the first real use reports it; or the program ends meanwhile
            embedder.counts([])

    return models.Embedding(embedder, WordPieceCounter(), warm, embedder if settings.embedding.word_vectors else None)


def _onnx_embedding(settings: Settings) -> models.Embedding:
    chosen = settings.embedding
    folder, window_tokens = Path(chosen.path).expanduser(), chosen.window_tokens or 512

    def load() -> "OnnxEmbedder":
        if not chosen.path:
            raise Misconfigured("embedding.provider is onnx: set embedding.path to the model's folder")
        require_memory("model", heap_bytes=bytes_below(folder))
        from citewise.adapters.onnx.embedder import OnnxEmbedder

        prefixes = {"query_prefix": chosen.query_prefix, "document_prefix": chosen.document_prefix}
        return OnnxEmbedder.from_folder(folder, window_tokens=window_tokens, **prefixes)

    embedder = lazily(folder.name, load)
    # Only its files tell its name and its dimensions, so it is loaded for those; a list of documents needs neither.
    model = lazily(folder.name, lambda: embedder.model, window_tokens=window_tokens)
    return models.Embedding(lazily(folder.name, lambda: embedder, model=model), counter=embedder)


def _openai_embedding(settings: Settings) -> models.Embedding:
    from citewise.adapters.onnx.wordpiece import WordPieceCounter

    chosen = settings.embedding
    window_tokens = chosen.window_tokens or 8191

    def described() -> EmbeddingModel:
        if not chosen.model or chosen.dimensions <= 0:
            raise Misconfigured(
                "embedding.provider is openai: set embedding.model and embedding.dimensions, "
                "for example text-embedding-3-small and 1536"
            )
        prefixes = "".join(f"|{prefix}" for prefix in (chosen.query_prefix, chosen.document_prefix) if prefix)
        return EmbeddingModel(f"{chosen.model}{prefixes}", chosen.dimensions, window_tokens)

    def load() -> "OpenAIEmbedder":
        from citewise.adapters.openai.embedder import RETRY, OpenAIEmbedder

        return OpenAIEmbedder(
            _remote(settings, "embedding", RETRY),
            model=described(),
            batch_size=chosen.batch_size,
            query_prefix=chosen.query_prefix,
            document_prefix=chosen.document_prefix,
            max_input_chars=window_tokens * CHARS_PER_TOKEN,
        )

    # WordPiece cuts English a little finer than the large vocabularies of remote models: a safe side to err on.
    model = lazily(chosen.model, described, window_tokens=window_tokens)
    embedder = lazily(chosen.model, load, model=model)
    for_readers = lazily(chosen.model, lambda: embedder.for_readers(), model=model)
    return models.Embedding(embedder, WordPieceCounter(), for_readers=for_readers)


def reranker_of(settings: Settings) -> models.Reranker | None:
    """The reranker that the settings name, loaded when it is first asked; None if they name none."""
    chosen = settings.rerank
    if chosen.provider == "none":
        return None

    def load() -> models.Reranker:
        if chosen.provider == "http":
            from citewise.adapters.openai.reranker import RETRY, HttpReranker

            if not chosen.base_url:
                raise Misconfigured("rerank.provider is http: set rerank.base_url to the URL in front of /rerank")
            remote, are_logits = _remote(settings, "rerank", RETRY), chosen.scores == "logits"
            return HttpReranker(remote, chosen.style, are_logits, deadline_seconds=chosen.timeout_seconds)
        from citewise.adapters.onnx.hub import downloaded
        from citewise.adapters.onnx.reranker import OnnxReranker

        if not chosen.path and not chosen.model:
            raise Misconfigured("rerank.provider is onnx: set rerank.path to the model's folder, or rerank.model")
        folder = Path(chosen.path).expanduser()
        if not chosen.path:
            folder = downloaded(chosen.model, settings.cache, deadline_seconds=DOWNLOAD_SECONDS)
        return OnnxReranker(folder, window_tokens=chosen.window_tokens)

    name = chosen.model or (chosen.style if chosen.provider == "http" else chosen.path)
    return lazily(name, load, retry_seconds=RETRY_SECONDS, name=name, is_local=chosen.provider == "onnx")


def _remote(settings: Settings, section: Literal["embedding", "rerank", "answer"], retry: "Retry") -> "Remote":
    """The server that a section of the settings names, with a circuit breaker of its own."""
    from citewise.adapters.http import NAMES, Breaker, Remote

    chosen, limits = getattr(settings, section), settings.guard
    guard = Breaker(NAMES[section], limits.failures, limits.pause_seconds)
    key, seconds = chosen.api_key_variable, chosen.timeout_seconds
    return Remote.at(chosen.base_url, section, chosen.model, key, seconds, retry, guard)


def generator_of(settings: Settings) -> models.Generator:
    """The generator that the settings name, made for the first answer: it may hold a connection."""
    chosen = settings.answer

    def load() -> models.Generator:
        if chosen.generator == "extractive":
            from citewise.answer.extractive import ExtractiveGenerator

            return ExtractiveGenerator()
        from citewise.adapters.openai.generator import RETRY, OpenAIGenerator

        if not chosen.model:
            raise Misconfigured("answer.generator is openai: set answer.model to the model's name there")
        remote, seconds = _remote(settings, "answer", RETRY), chosen.timeout_seconds
        return OpenAIGenerator(remote, max_tokens=chosen.max_tokens, first_seconds=seconds)

    return lazily("the generator", load)


def compress_of(
    settings: Settings, counter: models.TokenCounter, compressor: models.Compressor | None = None
) -> "Compress":
    """Compression of sources. Its model is loaded when first asked: a failure to load it fails no question."""
    from citewise.answer.compress import Compress

    chosen = settings.answer
    if compressor is None and chosen.compression == "llmlingua":
        folder = Path(chosen.compression_path).expanduser()

        def load() -> models.Compressor:
            from citewise.adapters.onnx.llmlingua import LlmLingua2

            return LlmLingua2(folder, counter)

        compressor = lazily(folder.name, load, retry_seconds=RETRY_SECONDS, name=folder.name)
    return Compress(compressor, is_on=chosen.compression != "none", tokens=chosen.compressed_tokens)
