"""The circuit breaker: when it opens, when it lets a call through again, and what it says meanwhile."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from citewise.adapters.http import Breaker
from citewise.errors import Cancelled, Misconfigured, Unavailable
from tests.fakes.clock import Clock

PAUSE = 30.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("the server", max_failures=3, pause_seconds=PAUSE, clock=clock)


def raising(error: Exception) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def fail(breaker: Breaker, times: int) -> None:
    for number in range(times):
        with pytest.raises(Unavailable, match=f"failure {number}"):
            breaker(raising(Unavailable(f"failure {number}")))


def is_admitted(breaker: Breaker) -> bool:
    """Whether a call goes through, by one that says nothing about the server."""
    with pytest.raises((Cancelled, Unavailable)) as caught:
        breaker(raising(Cancelled("by the test")))
    return isinstance(caught.value, Cancelled)


@pytest.mark.parametrize("error", [None, Misconfigured("no such model")], ids=["a success", "an error of the caller"])
def test_an_answer_in_between_starts_the_count_again(breaker: Breaker, error: Exception | None) -> None:
    fail(breaker, 2)
    with nullcontext() if error is None else pytest.raises(Misconfigured):
        assert breaker(raising(error) if error else lambda: "fine") == "fine"
    fail(breaker, 2)
    assert is_admitted(breaker)


def test_it_opens_and_says_why_and_for_how_long(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    with pytest.raises(Unavailable) as refused:
        breaker(lambda: "fine")
    assert str(refused.value) == "the server failed 3 times in a row: circuit breaker open for another 20 s"


def test_a_trial_that_succeeds_closes_it(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += PAUSE
    breaker(lambda: "fine")
    fail(breaker, 2)
    assert is_admitted(breaker)


def test_a_trial_that_fails_opens_it_for_another_pause(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += PAUSE
    fail(breaker, 1)
    clock.now += PAUSE - 1
    assert not is_admitted(breaker)
    clock.now += 1
    assert is_admitted(breaker)


def test_a_trial_that_never_ends_gives_way_after_a_pause(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += PAUSE
    assert is_admitted(breaker)
    clock.now += PAUSE
    assert is_admitted(breaker)


def test_after_the_pause_a_single_call_goes_through_however_many_threads_there_are(
    breaker: Breaker, clock: Clock
) -> None:
    fail(breaker, 3)
    clock.now += PAUSE
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(lambda _: is_admitted(breaker), range(64))) == 1
    assert not is_admitted(breaker)
