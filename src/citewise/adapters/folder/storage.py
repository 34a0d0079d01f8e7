"""The library's folder: which generation is current, and who may write.

CURRENT        the name of the generation that serves
write.lock     held by the one process that writes
gen-1/         catalog.db and index/; a re-embedding makes gen-2 beside it and then swaps CURRENT
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewise.errors import BadRequest, Locked, Misconfigured, PathNotFound, Unavailable

TRIES = 3  # at reading CURRENT while a generation takes another's place
_GENERATION = re.compile(r"gen-(\d+)")


class LibraryFolder:
    """One folder that holds everything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._current_file = root / "CURRENT"

    @property
    def exists(self) -> bool:
        return self._current_file.is_file()

    def mark(self) -> tuple[int, int] | None:
        """Another one after every swap; None if there is no library. One look, where `current` takes several."""
        try:
            state = self._current_file.stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_ino

    def current(self) -> Path:
        """The folder of the generation that serves."""
        if not self.exists:
            self._refuse_lost()
            raise PathNotFound(
                f"there is no library at {self.root}: make one with `citewise ingest PATH`, "
                "or name another folder with --library"
            )
        for left in reversed(range(TRIES)):
            with self._our_errors():
                name = self._current_file.read_text().strip()
            if left and not (self.root / name).is_dir():
                continue  # it may have been replaced since: read again
            return self._generation(name)
        raise AssertionError("the last try returns or raises")

    def first(self) -> Path:
        """The folder for a new library's generation; the library is there once `swap_to` has named it."""
        self._refuse_lost()
        with self._our_errors():
            folder = self.root / "gen-1"
            folder.mkdir(exist_ok=True)
        return folder

    def next(self) -> Path:
        """The folder for the generation after the current one; what an interrupted run left there stays."""
        number = int(_number(self.current().name)) + 1
        folder = self.root / f"gen-{number}"
        with self._our_errors():
            folder.mkdir(exist_ok=True)
        return folder

    def swap_to(self, generation: Path) -> None:
        """Make a generation the current one: readers that open from now on see it, whole."""
        beside = self.root / "CURRENT.new"
        with self._our_errors():
            with beside.open("w") as opened:
                opened.write(f"{generation.name}\n")
                opened.flush()
                os.fsync(opened.fileno())
            beside.replace(self._current_file)
            for folder in (self.root, self.root.resolve().parent):
                _flush(folder)

    def remove_others(self) -> None:
        """Remove generations that no longer serve; what a reader has open and mapped stays readable to it."""
        current = self.current()
        for folder in self.root.glob("gen-*"):
            if folder != current and _GENERATION.fullmatch(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock; the system lets go of it if the process dies, however it dies."""
        with self._our_errors():
            self.root.mkdir(parents=True, exist_ok=True)
            lock = (self.root / "write.lock").open("a+")
        with lock as opened:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                opened.seek(0)
                holder = opened.read(20).strip() or "unknown"
                raise Locked(
                    f"another process (pid {holder}) is writing to {self.root}; try again when it is done"
                ) from error
            opened.truncate(0)
            opened.write(f"{os.getpid()}\n")
            opened.flush()
            yield

    def _generation(self, name: str) -> Path:
        folder = self.root / name
        if not _GENERATION.fullmatch(name) or not folder.is_dir():
            raise Misconfigured(
                f"{self.root / 'CURRENT'} names {name!r}, which is not there: restore the library from a backup, "
                "or move the folder away and ingest again"
            )
        return folder

    def _refuse_lost(self) -> None:
        """A later generation without CURRENT is a library that lost its head, not a place for a new one."""
        found = sorted(folder.name for folder in self.root.glob("gen-*") if _GENERATION.fullmatch(folder.name))
        if found and found != ["gen-1"]:
            raise Misconfigured(
                f"{self.root} holds a library whose CURRENT file is lost: write the name of its newest whole folder "
                f"({', '.join(found)}) into CURRENT, or restore it from a backup"
            )

    def refuse_foreign(self) -> None:
        """A folder full of other things is a slip of the fingers, not a place for a library."""
        with self._our_errors():
            self._refuse_foreign()

    def _refuse_foreign(self) -> None:
        if self.root.resolve() == Path.cwd():
            raise BadRequest("the library cannot be the current folder itself; name one in it with --library")
        if self.root.is_dir():
            names = {entry.name for entry in self.root.iterdir()} - {"write.lock", "CURRENT.new"}
            if names and not any(name == "CURRENT" or _GENERATION.fullmatch(name) for name in names):
                raise BadRequest(f"{self.root} holds other files; name a new or empty folder with --library")
        elif self.root.exists():
            raise BadRequest(f"{self.root} is a file; --library names a folder")

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(f"cannot use the library folder {self.root}: {error.strerror}") from error


def _number(name: str) -> str:
    match = _GENERATION.fullmatch(name)
    return match.group(1) if match else "0"


def _flush(folder: Path) -> None:
    """A rename is durable once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
