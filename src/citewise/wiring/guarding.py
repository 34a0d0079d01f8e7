"""Settings -> guards: which parts of a search have a breaker, and what is put behind each."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from citewise.adapters.guard import (
    Breaker,
    Guard,
    GuardedEmbedder,
    GuardedPassages,
    GuardedReranker,
    checks_of,
)
from citewise.model.report import Check
from citewise.ports.models import Reranker
from citewise.search.pipeline import Search
from citewise.settings import GuardSettings
from citewise.wiring.embedding import Embedding

EMBEDDING, RERANKER = "embedding model", "reranker"  # what checks call the models


@dataclass(frozen=True, slots=True)
class GuardedSearch:
    """A search over one open library, and the breakers of its store."""

    search: Search
    breakers: tuple[Breaker, ...]


class Guards:
    """Makes guards. Those of the models live as long as this does; a library that is opened anew gets its own.

    Another generation has other files, which nobody has seen fail: the old one's breakers must not close it off.
    """

    def __init__(
        self,
        settings: GuardSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._sleep = sleep
        # Remote models are tried again by their own adapters, within one deadline; a local one gains nothing by it.
        check = "check its settings under `{}`, and its server"
        self._embedder = self._guard("the embedding model", check.format("embedding"), retries=False)
        self._reranker = self._guard("the reranker", check.format("rerank"), retries=False)

    def embedding(self, embedding: Embedding) -> Embedding:
        """The same model, as questions may use it."""
        return replace(embedding, embedder=GuardedEmbedder(embedding.embedder, self._embedder))

    def reranker(self, reranker: Reranker) -> Reranker:
        return GuardedReranker(reranker, self._reranker)

    def of_model(self, name: str) -> Breaker | None:
        """The breaker of a model as checks call it; None for what has none."""
        guards = {EMBEDDING: self._embedder, RERANKER: self._reranker}
        return guards[name].breaker if name in guards else None

    def search(self, search: Search) -> GuardedSearch:
        """The same search with its catalog behind a breaker, which is closed."""
        catalog = self._guard("the catalog", "check that the library's disk is there, readable and has room")
        store = GuardedPassages(search.hydrate.store, catalog)
        return GuardedSearch(replace(search, hydrate=replace(search.hydrate, store=store)), (catalog.breaker,))

    def checks(self, search: GuardedSearch | None) -> tuple[Check, ...]:
        """How each part does, for doctor; of the store, once a library is open."""
        of_store = search.breakers if search else ()
        return checks_of((*of_store, self._embedder.breaker, self._reranker.breaker))

    def _guard(self, part: str, remedy: str, *, retries: bool = True) -> Guard:
        chosen = self._settings
        breaker = Breaker(
            part, remedy=remedy, failures=chosen.failures, pause_seconds=chosen.pause_seconds, clock=self._clock
        )
        return Guard(breaker, chosen.backoff_seconds, retries=retries, sleep=self._sleep)
