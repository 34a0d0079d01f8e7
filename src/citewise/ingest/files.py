"""The files behind the documents of a scope: what else is the same file, and whether a text is still in its place."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from citewise.errors import BadData, BadRequest, Misconfigured
from citewise.ingest.moves import shares_half, shares_words
from citewise.ingest.policy import Rules, at_or_above
from citewise.ingest.prepare import Prepare
from citewise.ingest.targets import Target
from citewise.model.document import Item, KnownDocument, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import Digest, document_id
from citewise.ports.catalog import Catalog
from citewise.ports.sources import Source

_BYTES_PER_CHARACTER = 4  # at most: a file that is larger than its stored text has another one now
_SPARE_BYTES = 10_000  # of secrets that were masked, and of line ends


@dataclass(frozen=True, slots=True)
class Neighbor:
    """Another folder of the scope that is a source: it may hold the same files."""

    source: SourceRef
    folder: Path
    root: Path  # of the source that is ingested
    rules: Rules

    @property
    def is_nested(self) -> bool:
        """Whether one of the two folders holds the other: only then they share files without links."""
        return self.folder.is_relative_to(self.root) or self.root.is_relative_to(self.folder)

    def contains(self, document: str, *aliases: str) -> bool:
        """Whether the file of a document from there, or a link to it, is a file of the source that is ingested."""
        names = (self.source.inner(document), *aliases)
        return any(_below(name, self.folder, self.root) is not None for name in names)


def _below(path: str, old: Path, new: Path) -> str | None:
    """The path of a file below another root, if it is there."""
    full = old / path
    return full.relative_to(new).as_posix() if full.is_relative_to(new) else None


class Files:
    """Looks at the files of stored documents, in the source that is ingested and in the other folders of its scope."""

    def __init__(self, catalog: Catalog, target: Target, prepare: Prepare, source: Source) -> None:
        self._catalog = catalog
        self._target = target
        self._prepare = prepare
        self._source = source
        self.listed: Mapping[str, Item] = {}  # what the source has now, by path
        self.neighbors = [Neighbor(ref, folder, target.root, Rules(ref)) for ref, folder in target.others]
        self._folders = {each.source.mount: each.folder for each in self.neighbors}
        if target.source.kind == "folder":
            self._folders[target.source.mount] = target.root
        self._real: dict[Path, str] = {}  # folders without any links, by folder
        self._has_text: dict[tuple[str, Digest], bool] = {}  # whether the file of a document says what is stored

    def is_in_place(self, source: SourceRef, inner: str) -> bool:
        """Whether the file of a document is where it was: it may hold several documents, and is not behind a link."""
        folder = self._folders.get(source.mount)
        if folder is None:
            return source.mount == self._target.source.mount and not self.listed.keys().isdisjoint(at_or_above(inner))
        return self._file(folder, inner) is not None

    def has_text(self, source: SourceRef, document: str, known: KnownDocument, *, beside: str = "") -> bool:
        """Whether the file of a document still says what is stored, and is another one than that at a path of the
        target."""
        inner, stored = source.inner(document), (document, known.stamp)
        if stored not in self._has_text:
            try:
                self._has_text[stored] = self._says_the_same(source, inner)
            except (OSError, BadData, BadRequest, Misconfigured):  # it may have been moved
                self._has_text[stored] = False
        return self._has_text[stored] and not (beside and self._is_same_file(source, inner, beside))

    def is_text(self, path: str, texts: frozenset[Digest]) -> bool:
        """Whether the file at a path of the target has the text of a document."""
        item = self.listed[path]
        try:
            return shares_half(self._prepare.texts(self._target, item, self._source.read(item))[0], texts)
        except (BadData, BadRequest):  # it is reported when its turn comes
            return False

    def same_files(self, *paths: str) -> list[tuple[Neighbor, str]]:
        """The same files in other sources, by their paths there: of a folder above or below, or by hard links."""
        if not self.neighbors:
            return []
        files = [self._target.root / path for path in paths]
        return self._in_neighbors([*files, *(link for file in files for link in self._links(file))])

    def linked(self, path: str) -> list[tuple[Neighbor, str]]:
        """The names of the file at a path in other sources, if documents there are hard links to it."""
        return self._in_neighbors(self._links(self._target.root / path)) if self.neighbors else []

    def of_neighbor(self, target: Target) -> "Files":
        return Files(self._catalog, target, self._prepare, self._source)

    def _in_neighbors(self, files: Iterable[Path]) -> list[tuple[Neighbor, str]]:
        there = ((neighbor, file, neighbor.folder) for file in dict.fromkeys(files) for neighbor in self.neighbors)
        return [
            (neighbor, file.relative_to(folder).as_posix())
            for neighbor, file, folder in there
            if file.is_relative_to(folder)
        ]

    def _links(self, file: Path) -> list[Path]:
        """Files of documents of other sources that are hard links to a file."""
        try:
            status = os.lstat(file)
        except OSError:  # it is reported when it is read
            return []
        return self._by_file.get((status.st_dev, status.st_ino), []) if status.st_nlink > 1 else []

    @cached_property
    def _by_file(self) -> Mapping[tuple[int, int], list[Path]]:
        """The files of documents of other sources that have several names."""
        found = defaultdict(list)
        for neighbor in self.neighbors:
            for document in self._catalog.paths(self._target.scope, mount=neighbor.source.mount):
                file = neighbor.folder / neighbor.source.inner(document)
                try:
                    status = os.lstat(file)
                except OSError:
                    continue
                if status.st_nlink > 1:
                    found[status.st_dev, status.st_ino].append(file)
        return found

    def _file(self, folder: Path, inner: str) -> str | None:
        for name in at_or_above(inner)[:-1]:
            full = folder / name
            if full.is_file():
                is_real = not full.is_symlink() and self._realpath(full.parent) == self._expected(folder, name)
                return name if is_real else None
        return None

    def _expected(self, folder: Path, name: str) -> str:
        return os.path.dirname(os.path.join(self._realpath(folder), name))

    def _realpath(self, folder: Path) -> str:
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return self._real[folder]

    def _is_same_file(self, source: SourceRef, inner: str, beside: str) -> bool:
        folder = self._folders.get(source.mount)
        if folder is None or self._target.source.kind != "folder":
            return source.mount == self._target.source.mount and beside in at_or_above(inner)
        name = self._file(folder, inner)
        try:
            return name is not None and (folder / name).samefile(self._target.root / beside)
        except OSError:
            return True

    def _says_the_same(self, source: SourceRef, inner: str) -> bool:
        path = source.mounted(inner)
        document = self._catalog.document(Where(self._target.scope, None), document_id(self._target.scope, path))
        if document is None:
            return False
        folder = self._folders.get(source.mount)
        if folder is not None:
            name, max_bytes = self._file(folder, inner), _BYTES_PER_CHARACTER * len(document.text) + _SPARE_BYTES
            data = None if name is None else _read(folder / name, max_bytes)
            item = Item(name or "", 0, document.media_type)
        elif found := next((self.listed[each] for each in at_or_above(inner) if each in self.listed), None):
            item = found  # not a folder: only the source that is ingested can be read
            data = self._source.read(item) if source.mount == self._target.source.mount else None
        else:
            return False
        if data is None:
            return False
        texts, text = self._prepare.texts(self._target, item, data)
        stored = self._catalog.texts(self._target.scope, [path]).get(path, frozenset())
        return shares_half(texts, stored) or shares_words(document.text, text)


def _read(file: Path, max_bytes: int) -> bytes | None:
    """None for a file that has grown: it has another text now."""
    with file.open("rb") as opened:
        data = opened.read(max_bytes + 1)
    return data if len(data) <= max_bytes else None
