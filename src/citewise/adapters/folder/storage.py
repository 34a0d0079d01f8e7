"""The library's folder: which generation is current, and who may write.

CURRENT        the name of the generation that serves
write.lock     held by the one process that writes
gen-1/         catalog.db and index/; a re-embedding makes gen-2 beside it and then swaps CURRENT
"""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from citewise.adapters.files import flush_folder, identity, write_whole
from citewise.errors import BadRequest, CitewiseError, Locked, Misconfigured, PathNotFound, Unavailable
from citewise.ports.catalog import Catalog
from citewise.ports.storage import Generation

MAX_NAME_BYTES = 100  # of CURRENT, which holds a few: whatever it has become, no more of it is read
TRIES = 3  # at reading CURRENT while a generation takes another's place
_GENERATION = re.compile(r"gen-\d+")


class LibraryFolder:
    """The port `Storage` over a folder that holds everything, but for what opens the stores of a generation."""

    def __init__(self, root: Path, open_catalog: Callable[[Generation], AbstractContextManager[Catalog]]) -> None:
        self.root = root
        self._open_catalog = open_catalog
        self._current_file = root / "CURRENT"

    def mark(self) -> Hashable:
        """Of the file that names the generation: one look, where `current` takes several."""
        with suppress(OSError):
            return identity(self._current_file)
        return None

    def current(self) -> Generation:
        for _ in range(TRIES):
            name, problem = self._named()
            if not problem and (self.root / name).is_dir():  # else it may have been replaced since: read again
                return Generation(name)
        if self.mark() is None:
            self._refuse_lost()
            raise PathNotFound(
                f"there is no library at {self.root}: make one with `citewise ingest PATH`, "
                "or name another folder with --library"
            )
        raise self._unusable(problem or f"names {name}, which is not there", self._found())

    def build(self, *, is_empty: bool = False) -> Generation:
        """The first generation or the one after the current; what an interrupted run left stays unless `is_empty`."""
        number = 1
        if self.mark() is None:
            self._refuse_lost()
        else:
            number += int(self.current().removeprefix("gen-"))
        generation = Generation(f"gen-{number}")
        if is_empty:
            shutil.rmtree(self.root / generation, ignore_errors=True)
        with self._our_errors():
            (self.root / generation).mkdir(exist_ok=True)
        return generation

    def activate(self, generation: Generation) -> None:
        """Make a generation the current one. Of those that are removed, what a reader has mapped stays readable."""
        with self._our_errors():
            write_whole(self._current_file, [f"{generation}\n".encode()])
            flush_folder(self.root.resolve().parent)  # the library's own folder may be new
        for folder in self.root.glob("gen-*"):
            if folder.name != generation and _GENERATION.fullmatch(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock; the system lets go of it if the process dies, however it dies."""
        with self._our_errors():
            self._refuse_foreign()
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

    def _named(self) -> tuple[str, str]:
        """The name in CURRENT, and what is wrong with it, if anything is."""
        try:
            with self._current_file.open("rb") as opened:
                name = opened.read(MAX_NAME_BYTES).decode("ascii", "replace").strip()
        except OSError as error:
            return "", f"cannot be read ({error.strerror})"
        if _GENERATION.fullmatch(name):
            return name, ""
        return name, f"names {name!r}, which is no generation" if name else "is empty"

    def _refuse_lost(self) -> None:
        """Without CURRENT, only what an interrupted first start leaves is no library: one generation, and empty."""
        found = self._found()
        if found and found != {Generation("gen-1"): 0}:
            raise self._unusable("is lost", found)

    def _found(self) -> dict[Generation, int | None]:
        """The generations that are there, in order, and how many documents each holds; None if it cannot be read."""
        found: dict[Generation, int | None] = {}
        for file in self.root.glob("gen-*/catalog.db"):
            if _GENERATION.fullmatch(file.parent.name):
                generation = Generation(file.parent.name)
                try:
                    with self._open_catalog(generation) as catalog:
                        found[generation] = sum(catalog.count(scope)[0] for scope in catalog.scopes())
                except CitewiseError:
                    found[generation] = None
        return dict(sorted(found.items(), key=lambda pair: int(pair[0].removeprefix("gen-"))))

    def _unusable(self, problem: str, found: dict[Generation, int | None]) -> Misconfigured:
        readable = {generation: count for generation, count in found.items() if count is not None}
        remedy = "restore the library from a backup, or move its folder away and ingest again"
        if readable:
            best = max(readable, key=lambda generation: readable[generation])
            remedy = f"put the name of the right one into that file, as in `echo {best} > {self._current_file}`"
            if self._current_file.is_dir():
                remedy = f"move that folder away, then {remedy}"
        offered = ", ".join(f"{name} ({_documents(count)})" for name, count in found.items()) or "no generation"
        return Misconfigured(f"{self._current_file} {problem}; found {offered} of the library: {remedy}")

    def _refuse_foreign(self) -> None:
        """A folder full of other files was named by mistake: it is not a place for a library."""
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


def _documents(count: int | None) -> str:
    if count is None:
        return "cannot be read"
    return "1 document" if count == 1 else f"{count:,} documents"
