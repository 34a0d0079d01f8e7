"""Settings and an open library -> a search."""

from collections.abc import Callable
from concurrent.futures import Executor

from citewise.ports.models import Reranker
from citewise.search.adjust import Boost, Cut, Deduplicate, Freshness
from citewise.search.features import Features
from citewise.search.fuse import Fusion, MinMax, Nearness, ReciprocalRanks
from citewise.search.hydrate import MIN_CANDIDATES, Hydrate
from citewise.search.late import Late
from citewise.search.pipeline import Search, Stage
from citewise.search.rankings import LARGE_INDEX_BYTES, Retrieve
from citewise.search.rerank import Rerank
from citewise.settings import SearchSettings, Settings
from citewise.text.urls import Addresses
from citewise.wiring.full import OpenLibrary


def search_of(library: OpenLibrary, *, reranker: Reranker | None, threads: Executor) -> Search:
    """The search that the library's settings describe."""
    settings = library.settings
    without = frozenset(settings.search.without)
    refine: tuple[Stage, ...] = (
        Features(settings.search.features),
        Late(library.embedding.words, library.catalog, settings.search.late),
        Rerank(reranker, settings.rerank.depth),
        Freshness(settings.search.half_life_days, settings.search.freshness_weight),
        Boost(settings.search.boosts),
        Deduplicate(),
        Cut(),
    )
    min_candidates = MIN_CANDIDATES if reranker is None else settings.rerank.depth
    return Search(
        Retrieve(
            library.embedding.embedder,
            library.vectors,
            library.texts,
            threads if library.vectors.size_bytes() >= LARGE_INDEX_BYTES else None,
            without,
        ),
        Hydrate(library.catalog, min_candidates, library.catalog.request_reingest),
        tuple(stage for stage in refine if stage.name not in without),
        addresses_of(settings),
        _fusion(settings.search),
    )


def addresses_of(settings: Settings) -> Addresses:
    """Where cited documents can be read."""
    return Addresses(settings.citations.sites, settings.citations.repositories)


def _fusion(chosen: SearchSettings) -> Fusion:
    kinds: dict[str, Callable[..., Fusion]] = {"nearness": Nearness, "minmax": MinMax, "rrf": ReciprocalRanks}
    kind = kinds[chosen.fusion]
    return kind(chosen.weights) if chosen.weights else kind()
