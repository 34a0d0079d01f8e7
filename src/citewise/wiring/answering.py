"""Settings -> a library that answers: search and ask over one that is held open."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from citewise.flows.search import Search
from citewise.model.answer import AnswerEvents
from citewise.model.context import Message
from citewise.model.errors import Unavailable
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
        generator: Callable[[], Generator],
        reranker: Reranker | None = None,
    ) -> None:
        self._settings = settings
        self._embedding = embedding
        self._reranker = reranker or reranker_of(settings)
        self._generator = generator
        self._reader = Reader(settings, embedding)
        self._made: tuple[OpenLibrary, Search] | None = None

    def search(self, query: Query) -> SearchResult:
        """One search; once more if the library was replaced under it."""
        with self._reader.library() as library:
            try:
                return self._search(library)(query)
            except Unavailable:
                if self._reader.is_current(library):
                    raise
        return self.search(query)

    def ask(self, query: Query, history: Sequence[Message] = ()) -> AnswerEvents:
        """The answer's events. The library is needed for its search alone: a slow generator keeps nothing open."""
        return self._ask()(query, history=history)

    def close(self) -> None:
        self._reader.close()

    def _search(self, library: OpenLibrary) -> Search:
        """The same for as long as the library is: to put one together takes a hundredth of a search."""
        made = self._made
        if made is None or made[0] is not library:
            made = (library, search_of(library, reranker=self._reranker, threads=self._reader.threads))
            self._made = made
        return made[1]

    def _ask(self) -> "Ask":
        """Imported here: a search needs none of it, and starts the sooner."""
        from citewise.adapters.analyze.english import EnglishAnalyzer
        from citewise.answer.write import Write
        from citewise.context.pack import Pack
        from citewise.flows.ask import Ask
        from citewise.wiring.grounding import ground_of

        analyzer, counter = EnglishAnalyzer(), self._embedding.counter
        return Ask(
            self.search,
            Pack(counter, addresses_of(self._settings), self._settings.answer.budget_tokens),
            ground_of(self._settings, self._embedding, analyzer),
            Write(self._generator(), analyzer),
        )
