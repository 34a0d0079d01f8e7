"""Cancellation: tells work that waits in another thread to stop."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, RLock

from citewise.errors import Cancelled


class Cancellation:
    """Shared between the thread that works and any other that may tell it to stop."""

    def __init__(self) -> None:
        self._event = Event()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._lock = RLock()  # re-entrant: a garbage collected stream may cancel in the middle of anything

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        """Stop the work: run the callbacks in this thread. A second call does nothing."""
        with self._lock:
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """While the block lasts, have `cancel` call this, to end what the block waits for.

        Where it is cancelled already, the callback runs at once. It may run while the block ends.
        """
        key = object()
        with self._lock:
            is_late = self.cancelled
            if not is_late:
                self._callbacks[key] = callback
        if is_late:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(key, None)

    def raise_if_cancelled(self) -> None:
        if self.cancelled:
            raise Cancelled("cancelled by the caller")

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until it is cancelled."""
        self._event.wait(seconds)
