"""The files behind the documents of a scope: what else is the same file, and whether a text is still in its place."""

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from citewise.errors import BadData, BadRequest, Misconfigured
from citewise.ingest.moves import shares_half
from citewise.ingest.policy import Rules, at_or_above
from citewise.ingest.prepare import Prepare
from citewise.ingest.targets import Target
from citewise.model.document import Item, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import Digest, document_id
from citewise.ports.catalog import Catalog
from citewise.ports.sources import Source

_MAX_BYTES = 100_000_000  # of a file that is read to compare it: what is larger was never ingested


@dataclass(frozen=True, slots=True)
class Neighbor:
    """Another folder of the scope that is a source: it may hold the same files."""

    source: SourceRef
    folder: Path
    root: Path  # of the source that is ingested
    rules: Rules

    def path_of(self, path: str) -> str | None:
        """The path there of a file of the source that is ingested."""
        return _below(path, self.root, self.folder)

    def holds(self, document: str, *aliases: str) -> bool:
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

    def is_in_place(self, source: SourceRef, inner: str) -> bool:
        """Whether the file of a document is where it was: it may hold several documents, and is not behind a link."""
        folder = self._folders.get(source.mount)
        if folder is None:
            return source.mount == self._target.source.mount and not self.listed.keys().isdisjoint(at_or_above(inner))
        return self._file(folder, inner) is not None

    def has_text(self, source: SourceRef, inner: str, texts: frozenset[Digest], *, beside: str) -> bool:
        """Whether the file of a document still has its text, and is another one than that at a path of the target."""
        try:
            return shares_half(self._texts_at(source, inner, beside), texts)
        except (OSError, BadData, BadRequest, Misconfigured):  # it may have been moved
            return False

    def is_text(self, path: str, texts: frozenset[Digest]) -> bool:
        """Whether the file at a path of the target has the text of a document."""
        item = self.listed[path]
        try:
            return shares_half(self._prepare.texts(self._target, item, self._source.read(item)), texts)
        except (BadData, BadRequest):  # it is reported when its turn comes
            return False

    def beside(self, *paths: str) -> list[tuple[Neighbor, str]]:
        """The same files in other sources, by their paths there: of a folder above or below, or by hard links."""
        there = [(neighbor, neighbor.path_of(path)) for neighbor in self.neighbors for path in paths]
        held = [(neighbor, path) for neighbor, path in there if path is not None]
        return [*held, *(each for path in paths for each in self.linked(path))] if self.neighbors else []

    def seen_from(self, target: Target) -> "Files":
        return Files(self._catalog, target, self._prepare, self._source)

    def linked(self, path: str) -> list[tuple[Neighbor, str]]:
        """The documents of other sources that are hard links to the file at a path, by their paths there."""
        try:
            status = os.stat(self._target.root / path)
        except OSError:  # it is reported when it is read
            return []
        return self._by_file.get((status.st_dev, status.st_ino), []) if status.st_nlink > 1 else []

    @cached_property
    def _by_file(self) -> Mapping[tuple[int, int], list[tuple[Neighbor, str]]]:
        """The documents of other sources that are hard links, by the files they came from."""
        found = defaultdict(list)
        for neighbor in self.neighbors:
            for document in self._catalog.paths(self._target.scope, mount=neighbor.source.mount):
                path = neighbor.source.inner(document)
                try:
                    status = os.stat(neighbor.folder / path)
                except OSError:
                    continue
                if status.st_nlink > 1:
                    found[status.st_dev, status.st_ino].append((neighbor, path))
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

    def _texts_at(self, source: SourceRef, inner: str, beside: str) -> frozenset[Digest]:
        folder = self._folders.get(source.mount)
        if folder is None:  # not a folder: only the source that is ingested can be read
            item = next((self.listed[name] for name in at_or_above(inner) if name in self.listed), None)
            is_other = item is not None and item.path != beside and source.mount == self._target.source.mount
            return (
                self._prepare.texts(self._target, item, self._source.read(item)) if item and is_other else frozenset()
            )
        name = self._file(folder, inner)
        if name is None or (folder / name).stat().st_size > _MAX_BYTES:
            return frozenset()
        if self._target.source.kind == "folder" and (folder / name).samefile(self._target.root / beside):
            return frozenset()
        where, id_ = Where(self._target.scope, None), document_id(self._target.scope, source.mounted(inner))
        document = self._catalog.document(where, id_)
        if document is None:
            return frozenset()
        data = (folder / name).read_bytes()
        return self._prepare.texts(self._target, Item(name, len(data), document.media_type), data)
