"""Settings -> a library that answers: search and ask over one that is held open."""

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from citewise.flows.search import Search
from citewise.model.answer import AnswerEvents
from citewise.model.context import Message
from citewise.model.query import Query
from citewise.model.result import SearchResult
from citewise.ports.generator import Generator
from citewise.ports.reranker import Reranker
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import OpenLibrary
from citewise.wiring.reading import Reader
from citewise.wiring.reranking import reranker_of
from citewise.wiring.search import addresses_of, search_of

if TYPE_CHECKING:
    from citewise.flows.ask import Ask


class Answering:
    """Search and ask. Every part can be handed in; what is not comes from the settings."""

    def __init__(
        self,
        settings: Settings,
        embedding: Embedding,
        reranker: Reranker | None = None,
        generator: Generator | None = None,
    ) -> None:
        self._settings = settings
        self._embedding = embedding
        self._reranker = reranker or reranker_of(settings)
        self._generator = generator
        self._reader = Reader(settings, embedding)

    def search(self, query: Query) -> SearchResult:
        with self._reader.library() as library:
            return self._search(library)(query)

    def ask(self, query: Query, history: Sequence[Message] = ()) -> AnswerEvents:
        """The answer's events; the library stays open until the last one, or until the iterator is closed."""
        with self._reader.library() as library, closing(self._ask(library)(query, history=history)) as events:
            yield from events

    def close(self) -> None:
        self._reader.close()

    def _search(self, library: OpenLibrary) -> Search:
        return search_of(library, reranker=self._reranker, threads=self._reader.threads)

    def _ask(self, library: OpenLibrary) -> "Ask":
        """Imported here: a search needs none of it, and starts the sooner."""
        from citewise.answer.write import Write
        from citewise.context.ground import Ground
        from citewise.context.pack import Pack
        from citewise.flows.ask import Ask
        from citewise.wiring.generating import generator_of

        if self._generator is None:
            self._generator = generator_of(self._settings)
        analyzer, counter = library.project.analyzer, self._embedding.counter
        return Ask(
            self._search(library),
            Pack(counter, addresses_of(self._settings), self._settings.answer.budget_tokens),
            Ground(self._embedding.embedder, analyzer, counter),
            Write(self._generator, analyzer),
        )
