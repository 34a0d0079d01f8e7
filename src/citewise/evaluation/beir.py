"""A judged set's corpus.jsonl as a source: each row is a Markdown document, as a writer would have made it."""

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from citewise.adapters.folder.source import plain_reason
from citewise.errors import BadData, Unavailable
from citewise.model.document import Item, Skipped

SUFFIX = ".md"
MAX_ROW_BYTES = 10_000_000  # of one document; a longer line is skipped

MAX_PARSED = 100_000  # characters that are parsed to see whether they are a program; more would take seconds

_TICKS = re.compile(r"`+")


def path_of(id_: str) -> str:
    """Where the document with this id stands: safe whatever it is made of, and another for each id."""
    return quote(id_, safe="", errors="surrogatepass") + SUFFIX


def page(title: str, text: str) -> str:
    """A document as a Markdown file: its title as the heading, code as a block of code."""
    body = _fenced(text) if _is_python(text) else text
    line = " ".join(title.split())
    return f"# {line}\n\n{body}\n" if line else f"{body}\n"


@dataclass(frozen=True, slots=True)
class _Row:
    offset: int
    length: int


class BeirSource:
    """The rows of one file, in its order. Where each begins is remembered, not what it says."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: dict[str, _Row] = {}  # by path, once walked

    def items(self) -> Iterator[Item | Skipped]:
        self._rows.clear()
        try:
            with self._file.open("rb") as opened:
                for number, (row, line) in enumerate(_lines(opened), start=1):
                    if line.strip():
                        yield self._entry(number, line, row)
        except OSError as error:
            raise Unavailable(f"cannot read {self._file}: {plain_reason(error)}") from error

    def read(self, item: Item) -> bytes:
        row = self._rows[item.path]
        try:
            with self._file.open("rb") as opened:
                opened.seek(row.offset)
                line = opened.read(row.length)
        except OSError as error:
            raise BadData(plain_reason(error)) from error
        id_, title, text = _fields(line)
        if path_of(id_) != item.path:
            raise BadData("the file has changed since it was looked at: try again")
        return page(title, text).encode("utf-8", "replace")

    def _entry(self, number: int, line: bytes, row: _Row) -> Item | Skipped:
        place = f"{self._file.name}:{number}"
        if row.length > MAX_ROW_BYTES:
            return Skipped(place, f"longer than {MAX_ROW_BYTES:,} bytes")
        try:
            id_, _, _ = _fields(line)
        except BadData as error:
            return Skipped(place, str(error))
        path = path_of(id_)
        if path in self._rows:
            return Skipped(place, f"its _id {id_!r} occurred before")
        self._rows[path] = row
        return Item(path, row.length, "text/markdown")


def _lines(opened: BinaryIO) -> Iterator[tuple[_Row, bytes]]:
    """Each line with its place; of one that is too long only the beginning is held."""
    offset = 0
    while line := opened.readline(MAX_ROW_BYTES + 1):
        end = line
        length = len(line)
        while not end.endswith(b"\n") and (end := opened.readline(MAX_ROW_BYTES)):
            length += len(end)
        yield _Row(offset, length), line
        offset += length


def _fields(line: bytes) -> tuple[str, str, str]:
    """Id, title and text of a row; BadData says what is wrong with it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadData("not a line of JSON") from error
    if not isinstance(row, dict):
        raise BadData("not a JSON object")
    id_, title, text = row.get("_id"), row.get("title") or "", row.get("text")
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    if not isinstance(id_, str) or not id_:
        raise BadData("has no _id that is text")
    if not isinstance(title, str) or not isinstance(text, str):
        raise BadData("has no text, or a title that is none")
    return id_, title, text


def _fenced(code: str) -> str:
    """A block of code whose fence is longer than any that the code itself holds."""
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(code)), default=0))
    return f"{fence}python\n{code}\n{fence}"


def _is_python(text: str) -> bool:
    if "def " not in text and "class " not in text:
        return False
    if len(text) > MAX_PARSED:
        return _begins_like_python(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of somebody's code is not this reader's business
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _begins_like_python(text)
    return True


def _begins_like_python(text: str) -> bool:
    return text.lstrip().startswith(("def ", "class ", "async def ", "@"))
