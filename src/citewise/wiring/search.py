"""Settings and an open library -> a search."""

from collections.abc import Callable
from concurrent.futures import Executor

from citewise.context.urls import Addresses
from citewise.flows.search import Search, refinements
from citewise.ports.reranker import Reranker
from citewise.retrieve.arms import Arms
from citewise.retrieve.boost import Boost
from citewise.retrieve.freshness import Freshness
from citewise.retrieve.fuse import Fusion, MinMax, Nearness, ReciprocalRanks
from citewise.retrieve.hydrate import Hydrate
from citewise.retrieve.rerank import Rerank
from citewise.settings import SearchSettings, Settings
from citewise.wiring.full import OpenLibrary


def search_of(library: OpenLibrary, *, reranker: Reranker | None, threads: Executor) -> Search:
    """The search that the library's settings describe."""
    settings = library.settings
    return Search(
        Arms(library.embedding.embedder, library.project.analyzer, library.index, threads),
        Hydrate(library.passages) if reranker is None else Hydrate(library.passages, settings.rerank.depth),
        addresses_of(settings),
        _fusion(settings.search),
        refinements(
            Rerank(reranker, settings.rerank.depth),
            Freshness(settings.search.half_life_days, settings.search.freshness_weight),
            Boost(settings.search.boosts),
        ),
    )


def addresses_of(settings: Settings) -> Addresses:
    """Where cited documents can be read."""
    return Addresses(settings.citations.sites, settings.citations.repositories)


def _fusion(chosen: SearchSettings) -> Fusion:
    kinds: dict[str, Callable[..., Fusion]] = {"nearness": Nearness, "minmax": MinMax, "rrf": ReciprocalRanks}
    kind = kinds[chosen.fusion]
    return kind(chosen.weights) if chosen.weights else kind()
