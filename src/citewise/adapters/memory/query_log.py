"""The query log off the query's path: a bounded queue, and one thread that writes what is in it, many rows at once."""

import atexit
import logging
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from citewise.errors import CitewiseError
from citewise.model.access import Scope
from citewise.model.logged import Logged
from citewise.ports.stores import LogStore

_log = logging.getLogger(__name__)

LINGER_SECONDS = 0.5  # more rows are waited for before they are written; 0: each by itself; more: lost if killed
# That a program's end waits for a disk; then rows are given up. Only where no thread could be started, or it died, does
# the closing one write what was lost by itself, and wait for as long as the store does (a locked file: half a minute).
CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Mark:
    """Stands in a queue behind the rows that somebody waits for."""

    is_last: bool
    is_reached: threading.Event = field(default_factory=threading.Event)


class _Queue:
    """A queue and the thread that empties it, from the first row to a last mark.

    SimpleQueue, since its `put` may be interrupted by itself: an abandoned answer is logged by the garbage collector,
    which runs in the middle of anything.
    """

    def __init__(self, write: Callable[[Sequence[Logged]], None], linger_seconds: float) -> None:
        self._write = write
        self._linger_seconds = linger_seconds
        self._hurry = threading.Event()
        self.waiting: SimpleQueue[Logged | _Mark] = SimpleQueue()
        self.thread = threading.Thread(target=self._empty, name="citewise-log", daemon=True)

    def reach(self, mark: _Mark) -> None:
        """Go there without waiting for more rows."""
        self.waiting.put(mark)
        self._hurry.set()

    def drained(self, *taken: Logged | _Mark) -> tuple[list[Logged], list[_Mark]]:
        """All that is waiting, behind what was taken already."""
        found = list(taken)
        try:
            while True:
                found.append(self.waiting.get_nowait())
        except Empty:
            rows = [entry for entry in found if isinstance(entry, Logged)]
            return rows, [entry for entry in found if isinstance(entry, _Mark)]

    def _empty(self) -> None:
        is_over = False
        while not is_over:
            first = self.waiting.get()
            if isinstance(first, Logged):
                self._hurry.wait(self._linger_seconds)  # asleep: to wake for each row would disturb the queries
            self._hurry.clear()
            rows, marks = self.drained(first)
            self._write(rows)
            for mark in marks:
                mark.is_reached.set()
            is_over = any(mark.is_last for mark in marks)


class QueuedLog:
    """The port `QueryLog` over any store. Its thread begins with the first row."""

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
        self._queue: _Queue | None = None
        self._reset()
        _OPEN.add(self)

    def add(self, row: Logged) -> None:
        """Hand a row over."""
        if self._process != os.getpid():
            self._reset()  # the thread stayed with the parent, which also writes what was waiting
        with self._guard:  # for microseconds, so that no row comes behind a last mark
            self._unwritten += 1
            queue = self._queue
            if queue is None or not queue.thread.is_alive():
                queue = self._begun()
            if queue is None or queue.waiting.qsize() >= self._max_waiting:
                self._lose([row])
            else:
                queue.waiting.put(row)

    def flush(self) -> None:
        queue = self._queue
        if queue is not None and self._process == os.getpid():
            self._wait_for(queue, _Mark(is_last=False))

    def close(self) -> None:
        if self._process != os.getpid():
            return  # a forked child that logged nothing: rows and lock are its parent's
        with self._guard:
            queue, self._queue = self._queue, None
        if queue is None or self._wait_for(queue, _Mark(is_last=True)):
            self._finish(queue.drained()[0] if queue else ())

    def _reset(self) -> None:
        self._process = os.getpid()
        self._guard = threading.RLock()
        self._lost: Counter[Scope] = Counter()
        self._unwritten = 0  # rows that were added and are in the store neither as rows nor as lost
        self._reported = 0  # how many of those were said to be missing; 0: the last write worked
        self._has_complained = False
        self._queue = None

    def _begun(self) -> _Queue | None:
        """None where no thread can be started: the system has none left, or the interpreter is ending."""
        if self._queue is not None:
            self._lose(self._queue.drained()[0])
        queue = _Queue(self._write, self._linger_seconds)
        try:
            queue.thread.start()
        except RuntimeError:
            return None
        self._queue = queue
        return queue

    def _wait_for(self, queue: _Queue, mark: _Mark) -> bool:
        """Whether all that stands before it is written, or the thread is no more."""
        queue.reach(mark)
        is_reached = not queue.thread.is_alive() or mark.is_reached.wait(self._close_seconds)
        if not is_reached:
            self._reported = self._unwritten
            _log.warning(
                "the query log was not written within %g seconds; questions that are lost if the program ends now: %d",
                self._close_seconds,
                self._reported,
            )
        return is_reached

    def _finish(self, rows: Sequence[Logged]) -> None:
        """Write what a thread that died left and what was dropped; if that cannot be, say how much is missing."""
        if self._reported:
            self._lose(rows)  # to try again what has just failed would only make the program's end wait
        else:
            self._write(rows)
        if self._unwritten > self._reported > 0:
            self._reported = self._unwritten
            _log.warning("questions that were answered but not logged, in all: %d", self._reported)

    def _write(self, rows: Sequence[Logged]) -> None:
        with self._guard:
            lost, self._lost = self._lost, Counter()
        if not rows and not lost:
            return
        is_written, count = False, len(rows) + lost.total()
        try:
            self._store.write([self._redacted(row) for row in rows], lost=lost)
            is_written = True
        except CitewiseError as error:
            if not self._has_complained:  # once, until it works again: a broken disk must not fill the logs too
                self._reported = max(self._reported, count)
                _log.warning("questions are answered but not logged, %d so far: %s", count, error)
            self._has_complained = True
        finally:
            with self._guard:
                if is_written:
                    self._unwritten -= count
                    self._reported, self._has_complained = 0, False
                else:
                    self._lose(rows)
                    self._lost.update(lost)

    def _redacted(self, row: Logged) -> Logged:
        return row if row.text is None else replace(row, text=self._redact(row.text))

    def _lose(self, rows: Sequence[Logged]) -> None:
        with self._guard:
            self._lost.update(row.scope for row in rows)


class NoLog:
    """The port `QueryLog` where questions are not remembered."""

    def add(self, row: Logged) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


_OPEN: "weakref.WeakSet[QueuedLog]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """What is waiting when a program ends is written first."""
    for log in list(_OPEN):
        log.close()
