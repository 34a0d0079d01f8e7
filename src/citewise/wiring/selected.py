"""Settings -> answers. Adds a generator and an embedder, and no store: selected text is answered with this alone."""

from citewise.answer.compress import Compress
from citewise.answer.ground import Ground
from citewise.answer.pack import Pack
from citewise.answer.pipeline import AnswerPipeline
from citewise.ports.models import Generator
from citewise.settings import Settings
from citewise.text.urls import Addresses
from citewise.wiring.compressing import compress_of
from citewise.wiring.embedding import Embedding


def answer_pipeline(
    settings: Settings, embedding: Embedding, generator: Generator, compress: Compress | None = None
) -> AnswerPipeline:
    """The pipeline that the settings describe. A compressor may hold a model: hand it in to keep it."""
    chosen, citations = settings.answer, settings.citations
    return AnswerPipeline(
        Pack(embedding.counter, Addresses(citations.sites, citations.repositories), chosen.budget_tokens),
        Ground(embedding.embedder, embedding.counter),
        generator,
        compress or compress_of(settings, embedding.counter),
        min_confidence=chosen.min_confidence or None,
    )
