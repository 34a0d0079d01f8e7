"""Query log: where a question is handed over once it has been answered."""

from typing import Protocol

from citewise.model.logged import Logged


class QueryLog(Protocol):
    """Takes one row for each question.

    Promises: `add` never waits for a disk and never raises; what cannot be kept is dropped and counted. After `flush`,
    what was added before is written, or counted as lost; it waits for a bounded time. `close` flushes and lets go of
    everything; a later `add` begins anew.
    """

    def add(self, row: Logged) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
