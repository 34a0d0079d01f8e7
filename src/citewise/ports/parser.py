"""Parser: makes blocks and metadata of a file's text."""

from typing import Protocol

from citewise.model.block import Parsed


class Parser(Protocol):
    """Understands one family of files.

    Promises: never raises on any text; every line of the body with a word on it lies in some block,
    except HTML comments and MDX imports; blocks come in order with true line numbers; what it could
    not make sense of is a warning.
    """

    @property
    def version(self) -> str: ...  # changes when the same text may parse differently
    def parse(self, text: str) -> Parsed: ...
