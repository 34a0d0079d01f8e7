"""A breaker lets calls through, none, or one; and the guard that retries behind it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewise.adapters.guard import Breaker, Guard, Phase, checks_of
from citewise.errors import BadData, BadRequest, Locked, Misconfigured, Unavailable
from tests.fakes.clock import Clock

PAUSE = 30.0


class Panic(BaseException):
    """What a native library raises when it gives up, as tantivy does: not an Exception."""


class Part:
    """Answers, or fails with what it is told to; counts how often it is asked."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


@pytest.fixture
def clock() -> Clock:
    return Clock()


def a_breaker(clock: Clock, failures: int = 3) -> Breaker:
    return Breaker("the catalog", remedy="look at the disk", failures=failures, pause_seconds=PAUSE, clock=clock)


def a_guard(clock: Clock, *, failures: int = 3, retries: bool = True) -> Guard:
    return Guard(a_breaker(clock, failures), 0.05, retries=retries, sleep=clock.sleep)


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(Unavailable, match="disk gone"), breaker.watching():
            raise Unavailable("disk gone")


def phase_of(breaker: Breaker) -> Phase:
    return breaker.state().phase


# The breaker


def test_it_opens_after_so_many_failures_in_a_row_and_not_before(clock: Clock) -> None:
    breaker = a_breaker(clock)
    fail(breaker, 2)
    assert phase_of(breaker) is Phase.CLOSED
    fail(breaker)
    assert phase_of(breaker) is Phase.OPEN


def test_a_success_in_between_begins_the_count_anew(clock: Clock) -> None:
    breaker = a_breaker(clock)
    for _ in range(5):
        fail(breaker, 2)
        with breaker.watching():
            pass
    assert phase_of(breaker) is Phase.CLOSED


def test_while_it_is_open_calls_fail_at_once_and_say_which_part_rests_for_how_long_and_why(clock: Clock) -> None:
    breaker = a_breaker(clock)
    fail(breaker, 3)
    clock.now += 10
    with pytest.raises(Unavailable) as refused, breaker.watching():
        raise AssertionError("a call was let through")
    assert str(refused.value) == (
        "the catalog failed 3 times in a row and is left alone for another 20.0 s; last: disk gone"
    )
    assert breaker.refusal() == str(refused.value)


def test_after_the_pause_one_call_goes_through_and_its_success_closes_it(clock: Clock) -> None:
    breaker = a_breaker(clock)
    fail(breaker, 3)
    clock.now += PAUSE
    assert phase_of(breaker) is Phase.HALF_OPEN
    with breaker.watching():
        assert "is being tried again" in (breaker.refusal() or "")
        with pytest.raises(Unavailable, match="is being tried again"), breaker.watching():
            raise AssertionError("a second call was let through")
    assert phase_of(breaker) is Phase.CLOSED
    fail(breaker, 2)  # from here it counts from nothing
    assert phase_of(breaker) is Phase.CLOSED


def test_a_trial_that_fails_opens_it_for_another_whole_pause(clock: Clock) -> None:
    breaker = a_breaker(clock)
    fail(breaker, 3)
    clock.now += PAUSE
    fail(breaker)
    state = breaker.state()
    assert (state.phase, state.rests_seconds, state.failures) == (Phase.OPEN, PAUSE, 4)


@pytest.mark.parametrize("error", [BadRequest("?"), Misconfigured("?"), BadData("?"), ValueError("?")])
def test_what_is_no_failure_of_the_part_counts_for_nothing(clock: Clock, error: Exception) -> None:
    breaker = a_breaker(clock)
    for _ in range(5):
        with pytest.raises(type(error)), breaker.watching():
            raise error
    assert breaker.state().failures == 0
    fail(breaker, 2)
    with pytest.raises(type(error)), breaker.watching():
        raise error
    fail(breaker)  # nor does it break a row
    assert phase_of(breaker) is Phase.OPEN


def test_a_trial_that_tells_nothing_leaves_its_turn_to_the_next_call(clock: Clock) -> None:
    breaker = a_breaker(clock)
    fail(breaker, 3)
    clock.now += PAUSE
    with pytest.raises(KeyboardInterrupt), breaker.watching():
        raise KeyboardInterrupt
    assert phase_of(breaker) is Phase.HALF_OPEN
    with breaker.watching():
        pass
    assert phase_of(breaker) is Phase.CLOSED


def test_a_trial_that_never_ends_is_given_up_after_another_pause(clock: Clock) -> None:
    breaker = a_breaker(clock)
    fail(breaker, 3)
    clock.now += PAUSE
    hanging = breaker.watching()
    hanging.__enter__()
    clock.now += PAUSE
    with breaker.watching():
        pass
    assert phase_of(breaker) is Phase.CLOSED
    hanging.__exit__(Unavailable, Unavailable("at last"), None)
    assert breaker.state().failures == 0  # what the lost trial says now is about another time


def test_calls_that_began_before_it_opened_neither_close_nor_prolong_it(clock: Clock) -> None:
    breaker = a_breaker(clock)
    slow_well, slow_failing = breaker.watching(), breaker.watching()
    slow_well.__enter__()
    slow_failing.__enter__()
    fail(breaker, 3)
    clock.now += 10
    slow_well.__exit__(None, None, None)
    slow_failing.__exit__(Unavailable, Unavailable("late"), None)
    assert (breaker.state().phase, breaker.state().rests_seconds) == (Phase.OPEN, 20.0)


def test_a_success_that_began_before_it_opened_does_not_end_the_trial_of_another(clock: Clock) -> None:
    breaker = a_breaker(clock)
    slow = breaker.watching()
    slow.__enter__()
    fail(breaker, 3)
    clock.now += PAUSE
    with breaker.watching():
        slow.__exit__(None, None, None)
        assert (breaker.state().phase, breaker.state().failures) == (Phase.HALF_OPEN, 3)
    assert phase_of(breaker) is Phase.CLOSED


def test_of_many_threads_exactly_one_is_let_through_after_the_pause(clock: Clock) -> None:
    breaker = a_breaker(clock)
    fail(breaker, 3)
    clock.now += PAUSE
    start, finish = threading.Barrier(8, timeout=20), threading.Barrier(8, timeout=20)

    def call(_: int) -> bool:
        start.wait()
        try:
            with breaker.watching():
                finish.wait()  # the trial lasts until every other thread was turned away
                return True
        except Unavailable:
            finish.wait()
            return False

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(call, range(8))) == 1
    assert phase_of(breaker) is Phase.CLOSED


# The guard


def test_what_is_unavailable_is_tried_once_more_after_the_backoff(clock: Clock) -> None:
    guard, part = a_guard(clock), Part(Unavailable("busy"))
    assert guard(part) == "answer"
    assert (part.asked, clock.slept, guard.breaker.state().failures) == (2, [0.05], 0)


def test_a_call_that_fails_twice_counts_once_and_says_what_happened_last(clock: Clock) -> None:
    guard, part = a_guard(clock), Part(Unavailable("busy"), Locked("still busy"))
    with pytest.raises(Locked, match="still busy"):
        guard(part)
    assert (part.asked, guard.breaker.state().failures) == (2, 1)


def test_an_adapter_that_tries_again_by_itself_is_asked_once(clock: Clock) -> None:
    part = Part(Unavailable("busy"))
    with pytest.raises(Unavailable, match="busy"):
        a_guard(clock, retries=False)(part)
    assert (part.asked, clock.slept) == (1, [])


@pytest.mark.parametrize("error", [BadRequest("?"), Misconfigured("?"), BadData("?"), KeyboardInterrupt()])
def test_what_another_try_would_not_change_passes_untouched(clock: Clock, error: BaseException) -> None:
    guard, part = a_guard(clock), Part(error)
    with pytest.raises(type(error)) as raised:
        guard(part)
    assert raised.value is error
    assert (part.asked, clock.slept, guard.breaker.state().failures) == (1, [], 0)


@pytest.mark.parametrize("error", [RuntimeError, Panic])
def test_what_is_no_error_of_ours_comes_out_as_unavailable_without_its_message(
    clock: Clock, error: type[BaseException]
) -> None:
    guard = a_guard(clock)
    with pytest.raises(Unavailable) as raised:
        guard(Part(error("key=hunter2"), error("key=hunter2")))
    assert str(raised.value) == f"the catalog broke ({error.__name__})"
    assert isinstance(raised.value.__cause__, error)
    assert guard.breaker.state().failures == 1


def test_a_part_that_rests_is_not_asked(clock: Clock) -> None:
    guard, part = a_guard(clock, failures=1), Part(Unavailable("gone"), Unavailable("gone"))
    with pytest.raises(Unavailable, match="gone"):
        guard(part)
    with pytest.raises(Unavailable, match="is left alone"):
        guard(part)
    assert (part.asked, clock.slept) == (2, [0.05])


# What doctor hears


def test_doctor_hears_of_each_phase_and_what_to_do(clock: Clock) -> None:
    breaker = a_breaker(clock)
    seen = [*checks_of([breaker])]
    fail(breaker)
    seen += checks_of([breaker])
    fail(breaker, 2)
    seen += checks_of([breaker])
    clock.now += PAUSE
    seen += checks_of([breaker])
    with breaker.watching():
        seen += checks_of([breaker])
    assert [one.detail for one in seen] == [
        "closed",
        "closed; failed once, last: disk gone",
        "open, left alone for another 30.0 s; failed 3 times in a row, last: disk gone",
        "half-open, tried again by the next call; failed 3 times in a row, last: disk gone",
        "half-open, being tried again; failed 3 times in a row, last: disk gone",
    ]
    assert {one.name for one in seen} == {"breaker: the catalog"}
    assert [one.remedy for one in seen] == ["", "", *["look at the disk"] * 3]
    assert [one.is_ok for one in (*seen, *checks_of([breaker]))] == [True, True, False, False, False, True]
