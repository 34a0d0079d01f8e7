"""Settings -> answers from selected text. Adds a generator and an embedder, and no store."""

from citewise.answer.ask_selected import AskSelected
from citewise.answer.compress import Compress
from citewise.answer.pack import Pack
from citewise.answer.write import Write
from citewise.ports.models import Generator
from citewise.settings import Settings
from citewise.text.urls import Addresses
from citewise.wiring.compressing import compress_of
from citewise.wiring.embedding import Embedding
from citewise.wiring.grounding import ground_of


def ask_selected(
    settings: Settings, embedding: Embedding, generator: Generator, compress: Compress | None = None
) -> AskSelected:
    """The flow that the settings describe; a compressor may hold a model, and is handed in by who keeps one."""
    citations = settings.citations
    return AskSelected(
        Pack(
            embedding.counter,
            Addresses(citations.sites, citations.repositories),
            settings.answer.budget_tokens,
        ),
        ground_of(settings, embedding),
        Write(generator),
        compress or compress_of(settings, embedding.counter),
    )
