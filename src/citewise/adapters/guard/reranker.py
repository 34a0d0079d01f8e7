"""A reranker behind a guard."""

from collections.abc import Sequence

from citewise.adapters.guard.guard import Guard
from citewise.ports.reranker import Reranker


class GuardedReranker:
    """The port `Reranker` around another."""

    def __init__(self, reranker: Reranker, guard: Guard) -> None:
        self._reranker = reranker
        self._guard = guard

    @property
    def name(self) -> str:
        return self._reranker.name

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return self._guard(lambda: self._reranker.scores(question, texts))
