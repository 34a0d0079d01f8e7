"""Settings -> the memory of questions that were answered before."""

from citewise.adapters.analyze.english import EnglishAnalyzer
from citewise.adapters.cache.memory import MemoryCache
from citewise.flows.cached import Cached
from citewise.model.ids import digest
from citewise.retrieve.freshness import Freshness
from citewise.retrieve.sameness import Sameness
from citewise.settings import Settings
from citewise.wiring.searching import Searching


def cached_of(settings: Settings, searching: Searching) -> Cached | None:
    """What remembers a library's answers in this process; None if nothing is to be remembered."""
    chosen, search = settings.query_cache, settings.search
    if not chosen.megabytes:
        return None
    return Cached(
        cache=MemoryCache(most_bytes=int(chosen.megabytes * 1_000_000), ttl_seconds=chosen.ttl_seconds),
        version=searching.version,
        embedder=searching.embedding.embedder,
        sameness=Sameness(EnglishAnalyzer()),
        freshness=Freshness(search.half_life_days, search.freshness_weight),
        recipe=digest(repr(settings), searching.reranker.name if searching.reranker else ""),
        ttl_seconds=chosen.ttl_seconds,
        least_cosine=chosen.least_cosine,
        renewed=searching.renewed,
    )
