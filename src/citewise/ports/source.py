"""Source: a place that documents come from."""

from collections.abc import Iterator
from typing import Protocol

from citewise.model.source import Found, Skipped


class Source(Protocol):
    """Lists files and reads them.

    Promises: the same tree is walked in the same order; every file is either Found or Skipped with a
    reason, never passed over in silence; `read` raises BadData with a reason a person can act on.
    """

    def walk(self) -> Iterator[Found | Skipped]: ...
    def read(self, found: Found) -> bytes: ...
