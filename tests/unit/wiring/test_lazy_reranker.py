"""A reranker that is loaded at the first call: nobody waits for another's loading, and no failure is repeated."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewise.model.errors import Misconfigured, Unavailable
from citewise.ports.reranker import Reranker
from citewise.wiring.reranking import LazyReranker


class Ready:
    """A reranker that finds everything equally good."""

    name = "ready"

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return (0.5,) * len(texts)


class Loading:
    """Fails as often as it is told to, then gives a reranker; the clock beside it stands where it is put."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries = 0
        self.now = 1000.0

    def __call__(self) -> Reranker:
        self.tries += 1
        if self.tries <= self.failures:
            raise Misconfigured(f"try {self.tries} failed")
        return Ready()


def lazy(loading: Loading) -> LazyReranker:
    return LazyReranker("m", loading, clock=lambda: loading.now)


def test_it_is_loaded_once_and_not_before_it_is_asked() -> None:
    loading = Loading(0)
    reranker = lazy(loading)
    assert (reranker.name, loading.tries) == ("m", 0)
    assert [reranker.scores("why?", ["a", "b"]) for _ in range(3)] == [(0.5, 0.5)] * 3
    assert loading.tries == 1


def test_who_asks_while_another_loads_is_told_at_once() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load() -> Reranker:
        begun.set()
        assert go_on.wait(20)
        return Ready()

    reranker = LazyReranker("m", load)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(reranker.scores, "why?", ["a"])
        assert begun.wait(20)
        second = threads.submit(reranker.scores, "why?", ["a"])
        try:
            with pytest.raises(Unavailable, match="m is still being loaded"):
                second.result(timeout=10)
        finally:
            go_on.set()
        assert first.result(timeout=20) == (0.5,)
    assert reranker.scores("why?", ["a"]) == (0.5,)


@pytest.mark.parametrize(("seconds", "tries"), [(0.0, 1), (59.0, 1), (61.0, 2)])
def test_a_failure_is_remembered_for_a_minute(seconds: float, tries: int) -> None:
    loading = Loading(5)
    reranker = lazy(loading)
    with pytest.raises(Misconfigured, match="try 1 failed"):
        reranker.scores("why?", ["a"])
    loading.now += seconds
    with pytest.raises(Misconfigured, match=f"try {tries} failed"):
        reranker.scores("why?", ["a"])
    assert loading.tries == tries


def test_after_a_minute_it_may_be_there() -> None:
    loading = Loading(1)
    reranker = lazy(loading)
    with pytest.raises(Misconfigured):
        reranker.scores("why?", ["a"])
    loading.now += 61
    assert reranker.scores("why?", ["a"]) == (0.5,)
