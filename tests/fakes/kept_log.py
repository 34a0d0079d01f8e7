"""Log stores that are nothing but the definition, and one that always fails."""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from citewise.errors import Unavailable
from citewise.model.access import Scope
from citewise.model.ids import DocumentId
from citewise.model.logged import Logged, LogScope


class KeptLog:
    """Keeps rows in a list and looks at every one of them."""

    def __init__(self, *, retention_days: float = 90.0, now: float = 0.0) -> None:
        self.written: list[Logged] = []
        self.batches: list[int] = []
        self._lost: list[tuple[float, Scope, int]] = []
        self._retention_days = retention_days
        self.now = now
        self._lock = threading.Lock()

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None:
        with self._lock:
            self.batches.append(len(rows))
            self.written += rows
            self._lost += [(self.now, scope, count) for scope, count in lost.items()]
            self.sweep()

    def rows(self, log_scope: LogScope, *, since: float, limit: int) -> tuple[Logged, ...]:
        since = max(since, self._oldest())
        found = [(row.at, at, row) for at, row in enumerate(self.written) if log_scope.admits(row) and row.at >= since]
        return tuple(row for _, _, row in sorted(found, key=lambda one: one[:2], reverse=True)[:limit])

    def lost(self, scope: Scope, *, since: float) -> int:
        return sum(count for at, whose, count in self._lost if whose == scope and at >= max(since, self._oldest()))

    def shown(self) -> frozenset[DocumentId]:
        return frozenset(document for row in self.written for _, document in row.shown)

    def forget(self, documents: Collection[DocumentId]) -> None:
        self.written = [
            replace(row, shown=tuple(pair for pair in row.shown if pair[1] not in documents)) for row in self.written
        ]

    def sweep(self) -> None:
        self.written = [row for row in self.written if self._retention_days and row.at >= self._oldest()]
        self._lost = [one for one in self._lost if one[0] >= self._oldest()]

    def _oldest(self) -> float:
        return self.now - self._retention_days * 86_400.0


class BrokenLog:
    """A store on a disk that has gone."""

    def __init__(self) -> None:
        self.tries = 0
        self.is_mended = False
        self.rows_written: list[Logged] = []
        self.lost_written = 0

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None:
        self.tries += 1
        if not self.is_mended:
            raise Unavailable("the disk has gone")
        self.rows_written += rows
        self.lost_written += sum(lost.values())

    def rows(self, log_scope: LogScope, *, since: float, limit: int) -> NoReturn:
        raise Unavailable("the disk has gone")

    def lost(self, scope: Scope, *, since: float) -> NoReturn:
        raise Unavailable("the disk has gone")

    def shown(self) -> NoReturn:
        raise Unavailable("the disk has gone")

    def forget(self, documents: Collection[DocumentId]) -> NoReturn:
        raise Unavailable("the disk has gone")

    def sweep(self) -> NoReturn:
        raise Unavailable("the disk has gone")
