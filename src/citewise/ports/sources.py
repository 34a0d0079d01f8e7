"""Parser: makes blocks and metadata of a file's text."""

from collections.abc import Iterator
from typing import Protocol

from citewise.model.document import Found, Parsed, Skipped


class Source(Protocol):
    """Lists files and reads them.

    Promises: the same tree is walked in the same order; every file is either Found or Skipped with a
    reason, never passed over in silence; `read` raises BadData with a reason a person can act on.
    """

    def walk(self) -> Iterator[Found | Skipped]: ...
    def read(self, found: Found) -> bytes: ...


class Parser(Protocol):
    """Understands one family of files.

    Promises: never raises on any text; every line of the body with a word on it lies in some block,
    except HTML comments and MDX imports; blocks come in order with true line numbers; what it could
    not make sense of is a warning.
    """

    @property
    def version(self) -> str: ...  # changes when the same text may parse differently
    def parse(self, text: str) -> Parsed: ...
