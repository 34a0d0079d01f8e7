"""Settings and an open library -> a search."""

from concurrent.futures import Executor

from citewise.context.urls import Addresses
from citewise.flows.search import Search, refinements
from citewise.ports.reranker import Reranker
from citewise.retrieve.arms import Arms
from citewise.retrieve.boost import Boost
from citewise.retrieve.freshness import Freshness
from citewise.retrieve.fuse import Fusion, MinMax, ReciprocalRanks
from citewise.retrieve.rerank import Rerank
from citewise.settings import SearchSettings, Settings
from citewise.wiring.full import OpenLibrary


def search_of(library: OpenLibrary, *, reranker: Reranker | None, threads: Executor) -> Search:
    """The search that the library's settings describe."""
    settings = library.settings
    return Search(
        library.passages,
        Arms(library.embedding.embedder, library.project.analyzer, library.index, threads),
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
    kind = ReciprocalRanks if chosen.fusion == "rrf" else MinMax
    return kind(chosen.weights) if chosen.weights else kind()
