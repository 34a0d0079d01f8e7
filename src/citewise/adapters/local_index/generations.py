"""Generations of an index below one folder: which one is active, and what of it this process has open.

    root/tenant/project/manifest     the active generation: its number, its position and its files
    root/tenant/project/manifest.3   a generation that is being built
    root/tenant/project/3/           the files of generation 3

A manifest is written last and replaced by renaming, so it never names a file that is not there, and activating a
generation is one rename. Readers look at the manifest before each search and open what changed, so several processes
may search while one writes.
"""

import json
import logging
import shutil
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar

from citewise.adapters.files import bytes_below, flush_folder, identity, write_whole
from citewise.errors import Unavailable
from citewise.model.access import Scope
from citewise.ports.catalog import ProjectionState
from citewise.ports.indexes import IndexBatch

_log = logging.getLogger(__name__)

FORMAT = 4  # of the folder as a whole; another one is rebuilt from the catalog
MAX_TRIES = 5  # at opening the files of a manifest while a writer replaces them
MANIFEST = "manifest"

Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True)
class FileMark:
    """Size and checksum that a file must have."""

    name: str
    size: int
    crc: int

    @classmethod
    def write(cls, file: Path, parts: Sequence[bytes]) -> Self:
        write_whole(file, parts)
        return cls(file.name, sum(map(len, parts)), reduce(lambda crc, part: zlib.crc32(part, crc), parts, 0))

    def is_of(self, file: Path) -> bool:
        return file.is_file() and file.stat().st_size == self.size and self.crc_of(file, self.size) == self.crc

    @staticmethod
    def crc_of(file: Path, size: int) -> int:
        """CRC-32 of the first `size` bytes of a file."""
        crc = 0
        with file.open("rb") as opened:
            while size > 0 and (block := opened.read(min(size, 1 << 22))):
                crc = zlib.crc32(block, crc)
                size -= len(block)
        return crc


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of a generation and its position in the change log."""

    generation: int
    position: int = 0
    writes: int = 0  # grows with every write; new file names come from it
    segments: tuple[FileMark, ...] = ()
    deleted: FileMark | None = None  # the deleted rows of the segments, as a bitmap
    head: tuple[int, int] | None = (
        None  # of an index that another library writes: its stamp, and the CRC-32 of its head
    )

    @property
    def marks(self) -> tuple[FileMark, ...]:
        return (*self.segments, *((self.deleted,) if self.deleted else ()))


class _Current(NamedTuple, Generic[Opened]):
    """The manifest that searches use, and what was opened for it."""

    manifest: Manifest
    opened: Opened


class _Shard(Generic[Opened]):
    """One scope's folder. Searches wait for each other only while a newer manifest is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest_file = folder / MANIFEST
        self.lock = threading.Lock()
        self.seen: tuple[int, int] | None = None  # identifies the manifest file that was last opened
        self.current: _Current[Opened] | None = None
        self.is_damaged = False

    def manifest_of(self, generation: int) -> Path:
        current = self.current
        is_active = current is not None and current.manifest.generation == generation
        return self.manifest_file if is_active else self.folder / f"{MANIFEST}.{generation}"


class Generations(ABC, Generic[Opened]):
    """What the embedded indexes have in common: every scope's generations below one folder."""

    name: ClassVar[str]

    def __init__(self, root: Path) -> None:
        self._root = root
        self._shards: dict[Scope, _Shard[Opened]] = {}

    @abstractmethod
    def _open_files(self, folder: Path, manifest: Manifest, before: Opened | None) -> Opened:
        """What searches need of a manifest's files; raises OSError or ValueError if they are damaged."""

    @abstractmethod
    def _write_files(self, folder: Path, before: Manifest, batch: IndexBatch) -> Manifest:
        """Write a batch to the folder of a generation, and return the manifest that has it."""

    def state(self, scope: Scope) -> ProjectionState | None:
        with self._unavailable("open", scope):
            shard = self._refreshed(scope)
        if shard.is_damaged or shard.current is None or not shard.manifest_file.exists():
            return None
        return ProjectionState(shard.current.manifest.generation, shard.current.manifest.position)

    def write(self, scope: Scope, generation: int, batch: IndexBatch) -> None:
        with self._unavailable("write", scope):
            shard = self._refreshed(scope)
            with shard.lock:
                manifest_file, folder = shard.manifest_of(generation), shard.folder / str(generation)
                folder.mkdir(parents=True, exist_ok=True)
                manifest = self._write_files(folder, _read_manifest(manifest_file) or Manifest(generation), batch)
                _write_manifest(manifest_file, manifest)
                named = {mark.name for mark in manifest.marks}
                for file in folder.iterdir():  # open readers keep what they have mapped
                    if file.suffix in (".rows", ".deleted", ".new") and file.name not in named:
                        file.unlink(missing_ok=True)
            self._refreshed(scope)

    def activate(self, scope: Scope, generation: int) -> None:
        with self._unavailable("activate", scope):
            shard = self._refreshed(scope)
            with shard.lock:
                built = shard.manifest_of(generation)
                (shard.folder / str(generation)).mkdir(parents=True, exist_ok=True)
                if built.exists():
                    built.replace(shard.manifest_file)
                    flush_folder(shard.folder)
                else:  # nothing was written to it: it is empty
                    _write_manifest(shard.manifest_file, Manifest(generation))
                for file in shard.folder.iterdir():
                    if file.name not in (MANIFEST, str(generation)):
                        _remove(file)
            self._refreshed(scope)

    def drop(self, scope: Scope, generation: int | None = None) -> None:
        with self._unavailable("drop", scope):
            shard = self._refreshed(scope)
            with shard.lock:
                manifest_file = shard.manifest_of(generation) if generation is not None else shard.manifest_file
                if manifest_file == shard.manifest_file:
                    shard.current, shard.seen, shard.is_damaged = None, None, False
                for path in [shard.folder] if generation is None else [manifest_file, shard.folder / str(generation)]:
                    _remove(path)

    def size_bytes(self) -> int:
        return bytes_below(self._root)

    def close(self) -> None:
        self._shards.clear()

    def _current(self, scope: Scope) -> _Current[Opened] | None:
        """What a search of this scope looks at; None for an unknown scope."""
        shard = self._refreshed(scope)
        if shard.is_damaged:
            raise Unavailable(
                f"the {self.name} index of {scope} is damaged: try again in a moment, and if this persists, run "
                "`citewise reindex` to rebuild it from the catalog"
            )
        return shard.current

    @contextmanager
    def _unavailable(self, action: str, scope: Scope) -> Iterator[None]:
        try:
            yield
        except (Unavailable, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of tantivy is no Exception
            why = str(error) if isinstance(error, OSError | ValueError) else f"it failed ({type(error).__name__})"
            raise Unavailable(
                f"could not {action} the {self.name} index of {scope}: {why}; if the disk has room and this "
                "persists, run `citewise reindex` to rebuild the index from the catalog"
            ) from error

    def _refreshed(self, scope: Scope) -> _Shard[Opened]:
        """The scope with the manifest on disk opened, if that has changed. If it is gone, memory still answers."""
        shard = self._shards.get(scope)
        if shard is None:  # the names are checked where a Scope is constructed
            shard = self._shards.setdefault(scope, _Shard(self._root / scope.tenant / scope.project))
        if identity(shard.manifest_file) in (None, shard.seen):
            return shard
        with shard.lock:
            for _ in range(MAX_TRIES):
                seen = identity(shard.manifest_file)
                if seen in (None, shard.seen):
                    return shard
                try:
                    shard.current = self._open(shard)
                    shard.seen, shard.is_damaged = seen, False
                    return shard
                except (OSError, ValueError):
                    if identity(shard.manifest_file) == seen:
                        break  # nobody is writing: the files really are not what the manifest says
            _log.warning("the %s index in %s is damaged and must be rebuilt", self.name, shard.folder)
            shard.seen, shard.is_damaged, shard.current = seen, True, None
        return shard

    def _open(self, shard: _Shard[Opened]) -> _Current[Opened]:
        manifest = _read_manifest(shard.manifest_file)
        if manifest is None:
            raise ValueError("the manifest cannot be read")
        before = shard.current if shard.current and shard.current.manifest.generation == manifest.generation else None
        folder = shard.folder / str(manifest.generation)
        known = set(before.manifest.marks) if before else set()
        for mark in manifest.marks:
            if mark not in known and not mark.is_of(folder / mark.name):
                raise ValueError(f"{mark.name} is damaged")
        return _Current(manifest, self._open_files(folder, manifest, before.opened if before else None))


def _write_manifest(file: Path, manifest: Manifest) -> None:
    body = json.dumps({"format": FORMAT, **asdict(manifest)}, separators=(",", ":")).encode()
    FileMark.write(file, [body, b"\n%08x\n" % zlib.crc32(body)])


def _read_manifest(file: Path) -> Manifest | None:
    """None where there is no manifest that can be trusted."""
    try:
        body, crc, _ = file.read_bytes().split(b"\n")
        fields = json.loads(body)
        if int(crc, 16) != zlib.crc32(body) or fields.pop("format") != FORMAT:
            return None
        segments = tuple(FileMark(**mark) for mark in fields.pop("segments"))
        deleted, head = fields.pop("deleted"), fields.pop("head", None)
        return Manifest(
            **fields,
            segments=segments,
            deleted=FileMark(**deleted) if deleted else None,
            head=(int(head[0]), int(head[1])) if head else None,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
