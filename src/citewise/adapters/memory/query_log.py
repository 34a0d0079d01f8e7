"""The query log off the query's path: rows wait in memory until a thread writes them, many at once."""

import atexit
import logging
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from citewise.errors import CitewiseError
from citewise.model.access import Scope
from citewise.model.logged import Logged
from citewise.ports.stores import LogStore

_log = logging.getLogger(__name__)

LINGER_SECONDS = 0.5  # to wait for more rows before a write; 0: a write for each row; more: a kill loses more
CLOSE_SECONDS = 5.0  # that a program's end waits for a disk; then rows are given up


class QueuedLog:
    """The port `QueryLog` over any store. A thread lives from the first row that waits until it is written."""

    def __init__(
        self,
        store: LogStore,
        *,
        redact: Callable[[str], str | None],
        max_waiting: int,
        linger_seconds: float = LINGER_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self._store = store
        self._redact = redact
        self._max_waiting = max_waiting
        self._linger_seconds = linger_seconds
        self._close_seconds = close_seconds
        self._begin()
        _OPEN.add(self)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._guard = threading.RLock()  # the garbage collector may log an abandoned answer in the middle of `add`
        self._writing = threading.Lock()
        self._hurry = threading.Event()
        self._waiting: list[Logged] = []
        self._lost: Counter[Scope] = Counter()  # rows that are neither waiting nor written
        self._unwritten = 0  # rows that were added and are in the store neither as rows nor as lost
        self._reported = 0  # how many of those were said to be missing; 0: the last write worked
        self._writer: threading.Thread | None = None  # the last one that was started
        self._is_due = False  # whether it has yet to take what is waiting

    def add(self, row: Logged) -> None:
        if self._process != os.getpid():
            self._begin()  # forked: what was waiting is the parent's to write
        with self._guard:
            self._unwritten += 1
            if len(self._waiting) < self._max_waiting and self._has_writer():
                self._waiting.append(row)
            else:
                self._lost[row.scope] += 1

    def flush(self) -> None:
        """Wait for the last writer: it writes after every other one, and all that was added before."""
        writer = self._writer
        if writer is None or self._process != os.getpid():
            return
        self._hurry.set()
        writer.join(self._close_seconds)
        if writer.is_alive() and self._reported < self._unwritten:
            self._reported = self._unwritten
            _log.warning(
                "the query log was not written within %g seconds; questions that are lost if the program ends now: %d",
                self._close_seconds,
                self._reported,
            )

    def close(self) -> None:
        if self._lost and not self._reported:  # to try again what has just failed would make the program's end wait
            self._has_writer()
        self.flush()
        if self._unwritten > self._reported > 0:
            self._reported = self._unwritten
            _log.warning("questions that were answered but not logged, in all: %d", self._reported)

    def _has_writer(self) -> bool:
        """Start one if there is none; not possible if the system has no thread left, or the interpreter is ending."""
        if not self._is_due:
            writer = threading.Thread(target=self._write, name="citewise-log", daemon=True)
            try:
                writer.start()
            except RuntimeError:
                return False
            self._writer, self._is_due = writer, True
        return True

    def _write(self) -> None:
        self._hurry.wait(self._linger_seconds)  # asleep: to wake for each row would disturb the queries
        with self._writing:
            with self._guard:
                rows, self._waiting = self._waiting, []
                lost, self._lost = self._lost, Counter()
                self._is_due = False
                self._hurry.clear()
            is_written, count = False, len(rows) + lost.total()
            try:
                redacted = [row if row.text is None else replace(row, text=self._redact(row.text)) for row in rows]
                self._store.write(redacted, lost=lost)
                is_written = True
            except CitewiseError as error:
                if not self._reported:  # once, until it works again: a broken disk must not fill the logs too
                    self._reported = count
                    _log.warning("questions are answered but not logged, %d so far: %s", count, error)
            finally:
                with self._guard:
                    if is_written:
                        self._unwritten -= count
                        self._reported = 0
                    else:
                        self._lost.update(lost)
                        self._lost.update(row.scope for row in rows)


class NoLog:
    """The port `QueryLog` where questions are not remembered."""

    def add(self, row: Logged) -> None:
        pass

    def flush(self) -> None:
        pass


_OPEN: "weakref.WeakSet[QueuedLog]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """What is waiting when a program ends is written first."""
    for log in list(_OPEN):
        log.close()
