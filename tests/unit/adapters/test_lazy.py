"""Parts are loaded at the first use: once, with failures repeated and nobody waiting where a part is optional."""

import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from citewise.adapters.lazy import lazily
from citewise.errors import Misconfigured, Unavailable
from tests.fakes.clock import Clock
from tests.fakes.counters import HashEmbedder

RETRY_SECONDS = 60.0


class Part:
    state = "there"


class Tries:
    """Fails as often as it is told to, then gives what is wanted."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.count = 0

    def __call__(self) -> Part:
        self.count += 1
        if self.count <= self.failures:
            raise Misconfigured(f"try {self.count} failed")
        return Part()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("citewise.adapters.lazy.time", SimpleNamespace(monotonic=made))
    return made


def optional(load: Callable[[], Part]) -> Part:
    return lazily("m", load, retry_seconds=RETRY_SECONDS)


def test_it_is_loaded_once_and_not_before_it_is_needed() -> None:
    tries = Tries(0)
    part = optional(tries)
    assert tries.count == 0
    assert [part.state for _ in range(3)] == ["there"] * 3
    assert tries.count == 1


def test_who_needs_an_optional_part_while_another_loads_it_does_not_wait() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load() -> Part:
        begun.set()
        assert go_on.wait(60)
        return Part()

    part = optional(load)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: part.state)
        assert begun.wait(60)
        second = threads.submit(lambda: part.state)
        try:
            with pytest.raises(Unavailable, match="m is still being loaded"):
                second.result(timeout=30)
        finally:
            go_on.set()
        assert first.result(timeout=60) == "there"
    assert part.state == "there"


def test_a_failure_of_an_optional_part_is_repeated_for_a_while_and_then_it_may_be_there(clock: Clock) -> None:
    tries = Tries(2)
    part = optional(tries)
    for seconds, count in ((0.0, 1), (0.0, 1), (RETRY_SECONDS - 1, 1), (2.0, 2)):
        clock.now += seconds
        with pytest.raises(Misconfigured, match=f"try {count} failed"):
            _ = part.state
        assert tries.count == count
    clock.now += RETRY_SECONDS + 1
    assert part.state == "there"


@pytest.mark.usefixtures("clock")
def test_a_failure_that_is_repeated_keeps_no_frames_of_earlier_callers() -> None:
    part = optional(Tries(1))
    depths = []
    for _ in range(4):
        with pytest.raises(Misconfigured) as failure:
            _ = part.state
        depths.append(len(list(traceback.walk_tb(failure.value.__traceback__))))
    assert len(set(depths[1:])) == 1


def test_whoever_needs_a_part_at_the_same_time_waits_for_the_one_that_loads_it() -> None:
    tries, gate = Tries(0), threading.Barrier(4)
    part = lazily("m", tries)

    def need(_: int) -> str:
        gate.wait(60)
        return part.state

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(need, range(4))) == ["there"] * 4
    assert tries.count == 1


def test_a_needed_part_that_failed_is_tried_again_by_the_next_call() -> None:
    part = lazily("m", Tries(1))
    with pytest.raises(Misconfigured, match="try 1 failed"):
        _ = part.state
    assert part.state == "there"


def test_a_stand_in_answers_what_is_known_and_loads_for_the_rest() -> None:
    loaded: list[HashEmbedder] = []

    def load() -> HashEmbedder:
        loaded.append(HashEmbedder())
        return loaded[-1]

    plain = HashEmbedder()
    embedder = lazily("m", load, model=plain.model)
    assert (embedder.model, loaded) == (plain.model, [])
    assert (embedder.query("tide"), embedder.documents(["tide"])) == (plain.query("tide"), plain.documents(["tide"]))
    assert len(loaded) == 1
