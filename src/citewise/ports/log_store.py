"""Log store: the rows of the query log, and how long they are kept."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from citewise.model.ids import DocumentId
from citewise.model.logged import Logged, Whose
from citewise.model.scope import Scope


class LogStore(Protocol):
    """Keeps rows for as long as its retention says, and no more of them than it may; the oldest go first.

    Promises: rows and counts of one `write` are there together or not at all; `rows` gives exactly what `Whose.admits`
    at or after `since`, newest first, never more than `limit`, and nothing that is older than the retention, swept or
    not; writing removes what is too old; after `sweep` the bytes of removed rows are no longer in the file, nor any row
    if nothing is to be kept. `shown` names every document of any row; after `forget` no row names these. A store that
    is not there yet is empty; one that cannot be used raises Unavailable or Misconfigured.
    """

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None: ...
    def rows(self, whose: Whose, *, since: float, limit: int) -> tuple[Logged, ...]: ...
    def lost(self, scope: Scope, *, since: float) -> int: ...  # rows that were dropped instead of written
    def shown(self) -> frozenset[DocumentId]: ...
    def forget(self, documents: Collection[DocumentId]) -> None: ...
    def sweep(self) -> None: ...
