"""A process of its own for work that may crash, hang or end in a segmentation fault: each of these is an outcome."""

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self

STARTING_SECONDS = 120.0  # for a process to start and to import what its task needs, on a busy machine
_SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit the threads and locks of the test process


@dataclass(frozen=True, slots=True)
class Died:
    """The work did not end by itself."""

    why: str


class Worker:
    """Runs calls one after the other in one process, and starts another process after one that died.

    `task` and its arguments are pickled, so a task is a function of a module. One that gives no sign of life for
    `limit_seconds` hangs, and is killed; between two pieces of work it calls `alive()`.
    """

    def __init__(self, *, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._process: BaseProcess | None = None
        self._ours: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def run(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """The task's result; or Died, also if it raised."""
        ours = self._started()
        try:
            ours.send((task, arguments))
            limit = STARTING_SECONDS
            while ours.poll(limit):
                is_done, result = ours.recv()
                if is_done:
                    return result
                limit = self._limit_seconds
            self._stop()
            return Died(f"no sign of life for {self._limit_seconds:g} s")
        except (EOFError, OSError):
            assert self._process is not None
            self._process.join()
            code = self._process.exitcode
            self._stop()
            return Died(f"the process ended with {code}")

    def _started(self) -> Connection:
        if self._ours is None:
            self._ours, theirs = _SPAWN.Pipe()
            self._process = _SPAWN.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        return self._ours

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._ours is not None:
            self._ours.close()
        self._process = self._ours = None


_parent: Connection | None = None  # in a worker's process: where signs of life go


def alive() -> None:
    """Tell the test process that work goes on."""
    if _parent is not None:
        _parent.send((False, None))


def _serve(parent: Connection) -> None:
    global _parent
    _parent = parent
    while True:
        try:
            task, arguments = parent.recv()
        except EOFError:
            return
        alive()
        try:
            result = task(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever a task raises is its outcome
            result = Died(f"{type(error).__name__}: {error}")
        parent.send((True, result))
