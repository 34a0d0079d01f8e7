"""A circuit breaker for parts behind a network: what keeps failing is left alone for a while."""

import logging
import time
from collections.abc import Callable
from threading import Lock

from citewise.errors import Unavailable

_log = logging.getLogger(__name__)


class Breaker:
    """Counts the failures in a row of one remote part. Threads may share it."""

    def __init__(
        self,
        part: str,
        *,
        max_failures: int = 5,  # in a row; 1: opens at a single hiccup; many: a dead part is waited for often
        pause_seconds: float = 30.0,  # short: a dead part is waited for again and again; long: its return goes unseen
        clock: Callable[[], float] = lambda: time.monotonic(),
    ) -> None:
        self._part = part
        self._max_failures = max_failures
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._last_error = ""
        self._retry_at: float | None = None  # None: closed

    def admit(self) -> None:
        """Let a call through, or raise Unavailable.

        After the pause one call goes through, and its outcome decides for the others; if none is recorded, another may
        try after another pause.
        """
        with self._lock:
            if self._retry_at is None:
                return
            now = self._clock()
            if now >= self._retry_at:
                self._retry_at = now + self._pause_seconds
                return
            left = self._retry_at - now
        raise Unavailable(
            f"{self._part} failed {self._failures} times in a row and is not asked for another {left:.0f} s; "
            f"last error: {self._last_error}"
        )

    def record_success(self) -> None:
        with self._lock:
            was_open = self._retry_at is not None
            self._failures, self._retry_at = 0, None
        if was_open:
            _log.info("%s answers again", self._part)

    def record_failure(self, error: str) -> None:
        with self._lock:
            self._failures += 1
            self._last_error = error
            opens = self._retry_at is not None or self._failures >= self._max_failures
            if opens:
                self._retry_at = self._clock() + self._pause_seconds
        if opens:
            _log.warning("%s is not asked for %.0f s: %s", self._part, self._pause_seconds, error)
