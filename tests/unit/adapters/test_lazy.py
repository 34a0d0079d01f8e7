"""Parts are loaded at the first call: once, with failures repeated and nobody waiting where a part is optional."""

import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewise.adapters.lazy import Lazy, lazily
from citewise.errors import Misconfigured, Unavailable
from tests.fakes.clock import Clock
from tests.fakes.counters import HashEmbedder

RETRY_SECONDS = 60.0


class Tries:
    """Fails as often as it is told to, then gives what is wanted."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        if self.count <= self.failures:
            raise Misconfigured(f"try {self.count} failed")
        return "there"


def optional(load: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> Lazy[str]:
    return Lazy("m", load, retry_seconds=RETRY_SECONDS, clock=clock)


def test_it_is_loaded_once_and_not_before_it_is_needed() -> None:
    tries = Tries(0)
    lazy = optional(tries)
    assert tries.count == 0
    assert [lazy() for _ in range(3)] == ["there"] * 3
    assert tries.count == 1


def test_who_needs_an_optional_part_while_another_loads_it_does_not_wait() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load() -> str:
        begun.set()
        assert go_on.wait(60)
        return "there"

    lazy = optional(load)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lazy)
        assert begun.wait(60)
        second = threads.submit(lazy)
        try:
            with pytest.raises(Unavailable, match="m is still being loaded"):
                second.result(timeout=30)
        finally:
            go_on.set()
        assert first.result(timeout=60) == "there"
    assert lazy() == "there"


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 1), (RETRY_SECONDS - 1, 1), (RETRY_SECONDS + 1, 2)])
def test_a_failure_of_an_optional_part_is_repeated_for_a_while(seconds: float, count: int) -> None:
    tries, clock = Tries(5), Clock()
    lazy = optional(tries, clock)
    with pytest.raises(Misconfigured, match="try 1 failed"):
        lazy()
    clock.now += seconds
    with pytest.raises(Misconfigured, match=f"try {count} failed"):
        lazy()
    assert tries.count == count


def test_a_failure_that_is_repeated_keeps_no_frames_of_earlier_callers() -> None:
    lazy = optional(Tries(1), Clock())
    depths = []
    for _ in range(4):
        with pytest.raises(Misconfigured) as failure:
            lazy()
        depths.append(len(list(traceback.walk_tb(failure.value.__traceback__))))
    assert len(set(depths[1:])) == 1


def test_after_that_while_it_may_be_there() -> None:
    clock = Clock()
    lazy = optional(Tries(1), clock)
    with pytest.raises(Misconfigured):
        lazy()
    clock.now += RETRY_SECONDS + 1
    assert lazy() == "there"


def test_whoever_needs_a_part_at_the_same_time_waits_for_the_one_that_loads_it() -> None:
    tries, gate = Tries(0), threading.Barrier(4)
    lazy = Lazy("m", tries)

    def need(_: int) -> str:
        gate.wait(60)
        return lazy()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(need, range(4))) == ["there"] * 4
    assert tries.count == 1


def test_a_needed_part_that_failed_is_tried_again_by_the_next_call() -> None:
    lazy = Lazy("m", Tries(1))
    with pytest.raises(Misconfigured, match="try 1 failed"):
        lazy()
    assert lazy() == "there"


def test_a_stand_in_answers_what_is_known_and_loads_for_the_rest() -> None:
    loaded: list[HashEmbedder] = []

    def load() -> HashEmbedder:
        loaded.append(HashEmbedder())
        return loaded[-1]

    plain = HashEmbedder()
    embedder = lazily(Lazy("m", load), model=plain.model)
    assert (embedder.model, loaded) == (plain.model, [])
    assert (embedder.query("tide"), embedder.documents(["tide"])) == (plain.query("tide"), plain.documents(["tide"]))
    assert len(loaded) == 1
