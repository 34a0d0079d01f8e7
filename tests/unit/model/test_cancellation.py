"""Cancellation: callbacks run once, late ones at once, and a wait ends when it is cancelled."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from citewise.errors import Cancelled
from citewise.model.cancellation import Cancellation


def test_a_callback_runs_once_and_only_within_its_block() -> None:
    cancellation, calls = Cancellation(), list[str]()
    with cancellation.on_cancel(lambda: calls.append("over")):
        pass
    with cancellation.on_cancel(lambda: calls.append("current")):
        cancellation.cancel()
        cancellation.cancel()
    assert calls == ["current"]


def test_a_callback_that_comes_too_late_runs_at_once() -> None:
    cancellation, calls = Cancellation(), list[str]()
    cancellation.cancel()
    with cancellation.on_cancel(lambda: calls.append("late")):
        assert calls == ["late"]


def test_it_raises_once_it_is_cancelled() -> None:
    cancellation = Cancellation()
    cancellation.raise_if_cancelled()
    cancellation.cancel()
    assert cancellation.cancelled
    with pytest.raises(Cancelled):
        cancellation.raise_if_cancelled()


def test_a_wait_ends_when_another_thread_cancels() -> None:
    cancellation = Cancellation()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cancellation.wait, 600)
        cancellation.cancel()
        waiting.result(timeout=60)
