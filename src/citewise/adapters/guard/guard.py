"""What stands between a search and a part that may fail: one retry, behind a breaker."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from citewise.adapters.guard.breaker import Breaker
from citewise.model.errors import CitewiseError, Unavailable

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Guard:
    """Makes calls into one part. What is Unavailable is tried once more; a breaker counts the calls that failed twice.

    Errors that another try would not change (BadRequest, Misconfigured, BadData) pass as they are. What is no error of
    ours comes out as Unavailable, so that a part which breaks costs a search that part and no more. No call is cut
    short: each adapter keeps its own time limits, and a thread inside a library cannot be stopped.
    """

    breaker: Breaker
    backoff_seconds: float = 0.05  # before the retry; 0: at once; more: every failing call takes so much longer
    retries: bool = True  # False for an adapter that tries again by itself, within its own deadline
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, call: Callable[[], T]) -> T:
        with self.breaker.watching():
            try:
                return self._answered(call)
            except Unavailable:
                if not self.retries:
                    raise
            self.sleep(self.backoff_seconds)
            return self._answered(call)

    def _answered(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (CitewiseError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a native library's panic (tantivy's, for one) is no Exception
            _log.warning("%s broke", self.breaker.part, exc_info=True)
            raise Unavailable(f"{self.breaker.part} broke ({type(error).__name__})") from error
