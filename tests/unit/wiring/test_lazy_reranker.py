"""A reranker is loaded by the first question that needs it."""

from collections.abc import Sequence

from citewise.wiring.lazy import Loading
from citewise.wiring.reranking import LazyReranker


class Ready:
    """A reranker that finds everything equally good."""

    name = "ready"

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return (0.5,) * len(texts)


def test_it_has_its_name_before_it_is_loaded_and_scores_when_asked() -> None:
    loaded: list[Ready] = []

    def load() -> Ready:
        loaded.append(Ready())
        return loaded[-1]

    reranker = LazyReranker(Loading("m", load))
    assert (reranker.name, loaded) == ("m", [])
    assert [reranker.scores("why?", ["a", "b"]) for _ in range(2)] == [(0.5, 0.5)] * 2
    assert len(loaded) == 1
