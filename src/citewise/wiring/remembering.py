"""Settings -> the memory of questions that were answered before."""

from citewise.adapters.memory.cache import MemoryCache
from citewise.model.ids import digest
from citewise.search.adjust import Freshness
from citewise.search.cached import Cached
from citewise.search.sameness import Sameness
from citewise.settings import Settings
from citewise.wiring.searching import Searching


def cached_of(settings: Settings, searching: Searching) -> Cached | None:
    """What remembers a library's answers in this process; None if nothing is to be remembered."""
    chosen, search = settings.query_cache, settings.search
    if not chosen.megabytes:
        return None
    return Cached(
        cache=MemoryCache(max_bytes=int(chosen.megabytes * 1_000_000), ttl_seconds=chosen.ttl_seconds),
        version=searching.version,
        embedder=searching.embedding.embedder,
        sameness=Sameness(),
        freshness=Freshness(search.half_life_days, search.freshness_weight),
        recipe=digest(repr(settings), searching.reranker.name if searching.reranker else ""),
        ttl_seconds=chosen.ttl_seconds,
        min_cosine=chosen.min_cosine,
        renewed=searching.renewed,
    )
