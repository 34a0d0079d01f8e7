"""Settings -> a library that answers: search and ask, remembered and logged."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from citewise.adapters.memory.embeddings import RememberingEmbedder
from citewise.model.answer import AnswerEvents, Message
from citewise.model.paging import PageRequest
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.ports.models import Generator, Reranker
from citewise.request_log import LoggedAsk, LoggedSearch
from citewise.settings import Settings
from citewise.wiring.compressing import compress_of
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import GivenIndexes
from citewise.wiring.insights import query_log_of
from citewise.wiring.remembering import cached_of
from citewise.wiring.searching import Searching

if TYPE_CHECKING:
    from citewise.answer.pipeline import AnswerPipeline


class Answering:
    """Search and ask. Every part can be handed in; what is not comes from the settings.

    From the outside in: the log notes what was asked and what came of it, the cache gives again what it has, and only
    then is anything searched.
    """

    def __init__(
        self,
        settings: Settings,
        embedding: Embedding,
        generator: Callable[[], Generator],
        reranker: Reranker | None = None,
        indexes: GivenIndexes | None = None,
    ) -> None:
        self._settings = settings
        remembering = replace(embedding, embedder=RememberingEmbedder(embedding.embedder))
        self._searching = Searching(settings, remembering, reranker, indexes)
        self._generator = generator
        self._made: tuple[Generator, AnswerPipeline] | None = None
        self._compress = compress_of(settings, embedding.counter)
        self._cached = cached_of(settings, self._searching)
        self._log = query_log_of(settings)
        self._logged_search = LoggedSearch(self._remembered_search, self._log, count=self._tokens)
        self._logged_ask = LoggedAsk(self._remembered_ask, self._log, count=self._tokens)

    def search(self, query: Query, page: PageRequest | None = None) -> SearchResult:
        """One search, or one page of it. To leaf on is no other question: the log has it from the first page."""
        if page is not None and page.cursor is not None:
            return self._remembered_search(query, page)
        return self._logged_search(query, page)

    def ask(self, query: Query, history: Sequence[Message] = ()) -> AnswerEvents:
        """The answer's events. The library is needed for its search alone: a slow generator keeps nothing open."""
        return self._logged_ask(query, history)

    def flush_log(self) -> None:
        """Everything that was asked until now is in the log when this returns."""
        self._log.flush()

    def close(self) -> None:
        """Everything that was asked is in the log when this returns."""
        self._log.close()
        if self._cached is not None:
            self._cached.cache.forget()
        self._searching.close()

    def _tokens(self, text: str) -> int:
        return self._searching.embedding.counter.counts([text])[0]

    def _remembered_search(self, query: Query, page: PageRequest | None) -> SearchResult:
        if self._cached is None:
            return self._searching(query, page)
        return self._cached.search(query, partial(self._searching, page=page), page=page)

    def _remembered_ask(self, query: Query, history: Sequence[Message]) -> AnswerEvents:
        generator = self._generator()
        ask = partial(self._pipeline(generator).ask, search=self._searching, history=history)
        if self._cached is None:
            return ask(query)
        return self._cached.ask(query, ask, generator=generator.name, history=history)

    def _pipeline(self, generator: Generator) -> "AnswerPipeline":
        """The same for as long as the generator is. Imported here: a search needs none of it, and starts the sooner."""
        from citewise.wiring.selected import answer_pipeline

        made = self._made
        if made is None or made[0] is not generator:
            pipeline = answer_pipeline(self._settings, self._searching.embedding, generator, self._compress)
            made = self._made = (generator, pipeline)
        return made[1]
