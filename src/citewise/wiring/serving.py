"""Settings -> a service: searches and answers over a library that is held open, logged and cached."""

from collections.abc import Callable
from dataclasses import replace

from citewise.adapters.memory.embeddings import RememberingEmbedder
from citewise.model.ids import digest
from citewise.ports.models import Generator, Reranker
from citewise.ports.stores import QueryCache, QueryLog
from citewise.search.adjust import Freshness
from citewise.search.cache import ResultCache
from citewise.service import Answers, Service
from citewise.settings import Settings
from citewise.wiring.compressing import compress_of
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import GivenIndexes
from citewise.wiring.insights import query_log_of
from citewise.wiring.search import addresses_of
from citewise.wiring.searching import Searching


class OpenService(Service):
    """A service, and the library that it holds open."""

    def __init__(
        self,
        settings: Settings,
        embedding: Embedding,
        generator: Callable[[], Generator],
        reranker: Reranker | None = None,
        indexes: GivenIndexes | None = None,
        cache: QueryCache | None = None,
        log: QueryLog | None = None,
    ) -> None:
        remembering = replace(embedding, embedder=RememberingEmbedder(embedding.embedder))
        self.searching = Searching(settings, remembering, reranker, indexes)
        compress = compress_of(settings, embedding.counter)

        def pipeline() -> Answers:
            """Imported here: a search needs none of it, and starts the sooner."""
            from citewise.wiring.selected import answer_pipeline

            return answer_pipeline(settings, self.searching.embedding, generator(), compress)

        super().__init__(
            self.searching,
            pipeline,
            log=log or query_log_of(settings),
            cache=cache_of(settings, self.searching, cache),
            addresses=addresses_of(settings),
            count_tokens=lambda text: embedding.counter.counts([text])[0],
        )

    def close(self) -> None:
        super().close()
        self.searching.close()


def cache_of(settings: Settings, searching: Searching, store: QueryCache | None = None) -> ResultCache | None:
    """The cache of a library's results in this process; None if the settings want none."""
    chosen, search = settings.query_cache, settings.search
    if store is None and not chosen.megabytes:
        return None
    if store is None:
        from citewise.adapters.memory.cache import MemoryCache

        store = MemoryCache(max_bytes=int(chosen.megabytes * 1_000_000), ttl_seconds=chosen.ttl_seconds)
    return ResultCache(
        store,
        version=searching.version,
        renewed=searching.renewed,
        settings=digest(repr(settings), searching.reranker.name if searching.reranker else ""),
        ttl_seconds=chosen.ttl_seconds,
        freshness=Freshness(search.half_life_days, search.freshness_weight),
        embed=searching.embedding.embedder.query,
        min_cosine=chosen.min_cosine,
    )
