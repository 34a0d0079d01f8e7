"""Where documents come from, and how they are understood: sources, parsers and chunkers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewise.model.chunk import Piece
from citewise.model.document import Block, FileProblem, Item, ParsedDocument


class Source(Protocol):
    """Lists items and reads them.

    Promises: the same source lists the same items in the same order, each path once; everything that is there is an
    Item or a FileProblem with a reason; `read` raises BadData with a reason that a person can act on.
    """

    def items(self) -> Iterator[Item | FileProblem]: ...
    def read(self, item: Item) -> bytes: ...


class Parser(Protocol):
    """Understands one kind of item.

    Promises: data that is no such item raises BadData, and NotText where its author could not mend it. Otherwise it
    gives one document or several with different names. Secrets are masked in the text, the blocks and the metadata.
    Every word of the text is in some block, unless it is no content (comments, imports); blocks come in order, each
    with its location. What could not be understood is a warning. The version changes when the same data may be parsed
    differently.
    """

    @property
    def version(self) -> str: ...
    def parse(self, data: bytes, item: Item) -> Sequence[ParsedDocument]: ...


class Chunker(Protocol):
    """Cuts a document into pieces.

    Promises: every word of every block is in a piece; pieces come in the order of the document, each with its own
    anchor and ordinal, and know their blocks; `title` is the document's own, None where it has none. The version
    changes when the same blocks may be cut differently.
    """

    @property
    def version(self) -> str: ...
    def __call__(self, blocks: Sequence[Block], *, title: str | None) -> tuple[Piece, ...]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of item becomes documents and chunks."""

    media_type: str
    suffixes: tuple[str, ...]  # of files of this kind, in lower case
    parser: Parser
    chunker: Chunker
