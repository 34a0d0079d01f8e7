"""Parts that are loaded when they are first needed: most commands find nothing new to embed or to count."""

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from citewise.errors import CitewiseError, Unavailable

T = TypeVar("T")


class Lazy(Generic[T]):
    """Loads a part at the first call and keeps it. Threads may share it.

    With `retry_seconds` it is for a part that a question can do without: nobody waits while another thread loads it,
    and a failure is repeated for so long. 0: whoever calls waits, and the next call tries again; an hour: what was
    repaired goes unnoticed for as long.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], T],
        *,
        retry_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._load = load
        self._retry_seconds = retry_seconds
        self._clock = clock
        self._part: T | None = None
        self._failure: tuple[float, CitewiseError] | None = None
        self._lock = threading.Lock()

    def __call__(self) -> T:
        if self._part is not None:
            return self._part
        self._repeat_failure()  # before the lock: whoever merely repeats it is not loading anything
        if not self._lock.acquire(blocking=not self._retry_seconds):
            raise Unavailable(f"{self._name} is still being loaded")
        try:
            if self._part is None:
                self._repeat_failure()  # of the thread that had the lock a moment ago
                self._part = self._load()
            return self._part
        except CitewiseError as error:
            self._failure = (self._clock() + self._retry_seconds, error)
            raise
        finally:
            self._lock.release()

    def _repeat_failure(self) -> None:
        failure = self._failure
        if failure and self._clock() < failure[0]:
            raise failure[1].with_traceback(None)  # else it would grow by each caller's frames, and keep all they hold


def lazily(load: Callable[[], T], **known: object) -> T:
    """Stands for the part that `load` returns; what is known of it (its name, its model) is answered without it."""
    return cast("T", _Proxy(load, known))


class _Proxy:
    def __init__(self, load: Callable[[], object], known: dict[str, object]) -> None:
        self.__dict__.update(known)
        self._load = load

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)
