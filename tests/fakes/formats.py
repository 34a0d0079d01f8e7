"""A source, two parsers and a chunker for items that are no Markdown files: scanned books and chat threads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewise.errors import BadData
from citewise.model.chunk import Piece
from citewise.model.document import Block, BlockKind, BlockSpan, FileProblem, Heading, Item, Location, ParsedDocument
from citewise.text.encoding import NotText
from citewise.text.secrets import masked

BOOKS, THREAD = "application/x-books", "application/x-thread"
_MAGIC = b"\x89BOOKS\x00"  # no text: whoever decodes it before it is parsed fails
_HOUR = 3600.0


def books(*documents: Mapping[str, Any]) -> bytes:
    """A binary file of several books: {"name", "title", "pages": [text, …]}."""
    return _MAGIC + json.dumps(documents).encode()


def thread(channel: str, *messages: tuple[str, float, str]) -> bytes:
    """A thread of messages: author, seconds since 1970, text."""
    return json.dumps({"channel": channel, "messages": messages}).encode()


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Items in memory: media type and bytes by path; None in place of the bytes is an item that cannot be read."""

    content: Mapping[str, tuple[str, bytes | None]]

    def items(self) -> Iterator[Item | FileProblem]:
        for path, (media_type, data) in sorted(self.content.items()):
            yield (
                Item(path, len(data or b""), media_type, uri=f"memory:{path}")
                if data != b""
                else FileProblem(path, "empty")
            )

    def read(self, item: Item) -> bytes:
        _, data = self.content[item.path]
        if data is None:
            raise BadData("cannot be read")
        return data


class BookParser:
    """One item, several documents, each a title and pages."""

    version = "books-1"

    def parse(self, data: bytes, item: Item) -> Sequence[ParsedDocument]:
        if not data.startswith(_MAGIC):
            raise NotText("no file of books")
        return [self._document(book) for book in json.loads(data.removeprefix(_MAGIC))]

    def _document(self, book: Mapping[str, Any]) -> ParsedDocument:
        pages = [masked(page) for page in book["pages"]]
        title = Block(
            BlockKind.HEADING, book["title"], Location("pages", 1, 1), heading=Heading(1, book["title"], "title")
        )
        blocks = [
            Block(BlockKind.PARAGRAPH, page.text, Location("pages", n, n)) for n, page in enumerate(pages, start=1)
        ]
        counts: dict[str, int] = {}
        for page in pages:
            counts.update(page.counts)
        text = "\f".join(page.text for page in pages)
        return ParsedDocument(text, (title, *blocks), name=book["name"], masked=counts)


class ThreadParser:
    """One item, one conversation, a block for each message."""

    version = "thread-1"

    def parse(self, data: bytes, item: Item) -> Sequence[ParsedDocument]:
        read = json.loads(data)
        blocks, counts = [], dict[str, int]()
        for n, (author, sent_at, text) in enumerate(read["messages"], start=1):
            clean = masked(text)
            counts.update(clean.counts)
            location = Location("messages", n, n, read["channel"], author, sent_at)
            blocks.append(Block(BlockKind.PARAGRAPH, f"{author}: {clean.text}", location))
        text = "\n".join(block.text for block in blocks)
        return [
            ParsedDocument(
                text,
                tuple(blocks),
                title=f"#{read['channel']}",
                corpus_type="CONVO_SLACK",
                access=("project",),
                masked=counts,
            )
        ]


class ThreadChunker:
    """Cuts a conversation where nobody wrote for an hour."""

    version = "thread-1"

    def __call__(self, blocks: Sequence[Block], *, title: str | None) -> tuple[Piece, ...]:
        runs: list[list[Block]] = []
        for block in blocks:
            if runs and _sent_at(block) - _sent_at(runs[-1][-1]) < _HOUR:
                runs[-1].append(block)
            else:
                runs.append([block])
        return tuple(self._piece(run, ordinal, title or "") for ordinal, run in enumerate(runs))

    def _piece(self, run: Sequence[Block], ordinal: int, title: str) -> Piece:
        text, spans = "", []
        for block in run:
            text += "\n" if text else ""
            spans.append(BlockSpan(block.kind, len(text), len(text) + len(block.text)))
            text += block.text
        return Piece(
            anchor="",
            ordinal=ordinal,
            section=title,
            breadcrumb=(title,),
            text=text,
            location=Location.spanning([block.location for block in run]),
            tokens=len(text.split()),
            kind=None,
            has_code=False,
            has_equations=False,
            language=None,
            blocks=tuple(spans),
        )


def _sent_at(block: Block) -> float:
    assert block.location.unit == "messages"
    return block.location.sent_at or 0.0
