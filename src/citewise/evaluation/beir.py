"""A BEIR corpus in a library: each row of corpus.jsonl is a Markdown document, ingested once below the set's name."""

import ast
import logging
import os
import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote_to_bytes

from citewise.api import Library
from citewise.errors import BadData, Unavailable
from citewise.evaluation.cases import counted
from citewise.evaluation.sets import BeirRow, path_of
from citewise.ingest.pipeline import Ingest
from citewise.ingest.prepare import IngestRequest
from citewise.library import OpenLibrary
from citewise.model.access import Scope
from citewise.model.document import FileProblem, Item, SourceRef
from citewise.model.report import IngestEvent, IngestReport

_log = logging.getLogger(__name__)

CORPUS = "corpus"  # the kind of a source whose documents are the rows of a corpus
MAX_ROW_BYTES = 10_000_000  # of one document; a longer line is skipped
MAX_PARSED = 100_000  # characters that are parsed to see whether they are Python; more would take seconds

_TICKS = re.compile(r"`+")


def page(title: str, text: str) -> str:
    """A document as a Markdown file: its title as the heading, Python as a code block."""
    body = _fenced(text) if _is_python(text) else text
    line = " ".join(title.split())
    return f"# {line}\n\n{body}\n" if line else f"{body}\n"


class BeirSource:
    """The rows of corpus.jsonl, in its order. Only their offsets are kept in memory."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: dict[str, tuple[int, int]] = {}  # offset and length, by path

    def items(self) -> Iterator[Item | FileProblem]:
        self._rows.clear()
        try:
            with self._file.open("rb") as opened:
                for number, (offset, length, line) in enumerate(_lines(opened), start=1):
                    if line.strip():
                        yield self._item(number, line, offset, length)
        except OSError as error:
            raise Unavailable(f"cannot read {self._file}: {str(error.strerror).lower()}") from error

    def read(self, item: Item) -> bytes:
        offset, length = self._rows[item.path]
        try:
            with self._file.open("rb") as opened:
                opened.seek(offset)
                line = opened.read(length)
        except OSError as error:
            raise BadData(str(error.strerror).lower()) from error
        row = BeirRow.read(line)
        if path_of(row.id) != item.path:
            raise BadData("the file has changed while it was read: try again")
        return page(row.title or "", row.text).encode("utf-8", "replace")

    def _item(self, number: int, line: bytes, offset: int, length: int) -> Item | FileProblem:
        place = f"{self._file.name}:{number}"
        if length > MAX_ROW_BYTES:
            return FileProblem(place, f"longer than {MAX_ROW_BYTES:,} bytes")
        try:
            id_ = BeirRow.read(line).id
        except BadData as error:
            return FileProblem(place, str(error))
        path = path_of(id_)
        if path in self._rows:
            return FileProblem(place, f"its _id {id_!r} occurred before")
        self._rows[path] = (offset, length)
        return Item(path, length, "text/markdown")


def _lines(opened: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Offset, length and content of each line; of one that is too long, only the beginning."""
    offset = 0
    while line := opened.readline(MAX_ROW_BYTES + 1):
        end = line
        length = len(line)
        while not end.endswith(b"\n") and (end := opened.readline(MAX_ROW_BYTES)):
            length += len(end)
        yield offset, length, line
        offset += length


def _fenced(code: str) -> str:
    """A code block with a fence that is longer than any in the code."""
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(code)), default=0))
    return f"{fence}python\n{code}\n{fence}"


def _is_python(text: str) -> bool:
    starts_like_python = text.lstrip().startswith(("def ", "class ", "async def ", "@"))
    if "def " not in text and "class " not in text:
        return False
    if len(text) > MAX_PARSED:
        return starts_like_python
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about somebody else's code
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return starts_like_python
    return True


def ingest_corpus(library: Library, corpus: Path, scope: Scope) -> Generator[IngestEvent, None, str]:
    """Bring the library up to date with a corpus; returns what the paths of its documents start with.

    The library is opened for writing only if something has changed: a library that may only be read can be measured.
    """
    source = BeirSource(corpus)
    items = _checked_items(source, corpus)
    stored = library._stored()
    if stored.settings.library.exists():
        with stored.reading() as opened:
            for mount in _candidates(opened, corpus, scope):
                if Ingest(opened.prepare, opened.writer).is_current(
                    source, _request(opened, corpus, scope, mount), items
                ):
                    return mount
    with stored.writing() as opened:
        mount = _free_mount(opened, corpus, scope)
        opened.catalog.register(scope, SourceRef(mount, _root(opened, corpus), kind=CORPUS))
        for event in Ingest(opened.prepare, opened.writer)(source, _request(opened, corpus, scope, mount)):
            yield event
            if isinstance(event, IngestReport):
                opened.catalog.record_ingest(event.summary(datetime.now(UTC).isoformat(timespec="seconds")))
                for what, entries in (("left out", event.skipped), ("failed", event.failed)):
                    for first in entries[:1]:
                        rows = counted(len(entries), "row")
                        _log.warning("%s: %s %s, such as %s: %s", corpus, rows, what, first.path, first.reason)
    return mount


def _checked_items(source: BeirSource, corpus: Path) -> Sequence[Item]:
    entries = tuple(source.items())
    items = [entry for entry in entries if isinstance(entry, Item)]
    if not items:
        first = next((f" ({entry.path}: {entry.reason})" for entry in entries if isinstance(entry, FileProblem)), "")
        raise BadData(
            f"{corpus} has no document{first}: each line must be a JSON object with _id, title and text. "
            "If judgments name documents of the library by their paths, remove the file"
        )
    return items


def _request(opened: OpenLibrary, corpus: Path, scope: Scope, mount: str) -> IngestRequest:
    return IngestRequest(scope, opened.policy(SourceRef(mount, str(corpus))))


def _candidates(opened: OpenLibrary, corpus: Path, scope: Scope) -> list[str]:
    """Mounts that may have the corpus: its own, else those of sets with its name, since folders are copied."""
    corpora, others = _mounts(opened, scope)
    own = [mount for mount, root in corpora.items() if root == _root(opened, corpus)]
    names = sorted(_names(corpus, len(corpora) + len(others) + 1))
    stored = [mount for mount in names if opened.catalog.paths(scope, mount=mount)]
    return [mount for mount in own or stored if mount not in others]


def _free_mount(opened: OpenLibrary, corpus: Path, scope: Scope) -> str:
    """The name of the set, unless a source of the owner or another set has it."""
    corpora, taken = _mounts(opened, scope)
    root = _root(opened, corpus)
    taken |= {path.split("/")[0] for path in opened.catalog.paths(scope, mount="")}
    own = [mount for mount, known in corpora.items() if known == root and mount not in taken]
    home = opened.storage.root.resolve()
    for mount, known in corpora.items():
        if known != root and (home / os.fsdecode(unquote_to_bytes(known))).is_file():
            taken.add(mount)
    return next(mount for mount in (*own, *_names(corpus, len(taken) + 1)) if mount not in taken)


def _mounts(opened: OpenLibrary, scope: Scope) -> tuple[dict[str, str], set[str]]:
    """The roots of corpora by mount, and the mounts of all other sources."""
    sources = opened.catalog.sources(scope)
    corpora = {source.mount: source.root for source in sources if source.kind == CORPUS}
    return corpora, {source.mount for source in sources if source.kind != CORPUS}


def _names(corpus: Path, count: int) -> list[str]:
    name = quote(corpus.resolve().parent.name, safe="") or "corpus"
    return [name, *(f"{name}-{number}" for number in range(2, count + 1))]


def _root(opened: OpenLibrary, corpus: Path) -> str:
    """Relative to the library, so that both can be moved together; quoted, since a name may be any bytes."""
    return quote(os.fsencode(os.path.relpath(corpus.resolve(), opened.storage.root.resolve())))
