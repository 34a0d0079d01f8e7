"""Parts that are loaded when they are first needed: most commands find nothing new to embed or to count."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar, cast

from citewise.errors import CitewiseError, Unavailable

T = TypeVar("T")


def lazily(title: str, load: Callable[[], T], *, retry_seconds: float = 0.0, **known: object) -> T:
    """Stands for the part that `load` returns; what is known of it (its name, its model) is answered without it.

    It is loaded once; threads may share it. With `retry_seconds` it is for a part that a question can do without:
    nobody waits while another thread loads it, and a failure is repeated for so long. 0: whoever calls waits, and the
    next call tries again; an hour: what was repaired goes unnoticed for as long.
    """
    return cast("T", _Lazy(title, load, retry_seconds, known))


class _Lazy:
    def __init__(self, title: str, load: Callable[[], object], retry_seconds: float, known: dict[str, object]) -> None:
        self.__dict__.update(known)
        self._title, self._load, self._retry_seconds = title, load, retry_seconds
        self._part: object = None
        self._failure: tuple[float, CitewiseError] | None = None
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part if self._part is not None else self._loaded(), name)

    def _loaded(self) -> object:
        self._repeat_failure()  # before the lock: whoever merely repeats it is not loading anything
        if not self._lock.acquire(blocking=not self._retry_seconds):
            raise Unavailable(f"{self._title} is still being loaded")
        try:
            if self._part is None:
                self._repeat_failure()  # of the thread that had the lock a moment ago
                self._part = self._load()
            return self._part
        except CitewiseError as error:
            self._failure = (time.monotonic() + self._retry_seconds, error)
            raise
        finally:
            self._lock.release()

    def _repeat_failure(self) -> None:
        failure = self._failure
        if failure and time.monotonic() < failure[0]:
            raise failure[1].with_traceback(None)  # else it would grow by each caller's frames, and keep all they hold
