"""Opening the catalog's file, one connection a thread, and translating what SQLite has to say."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewise.model.errors import Misconfigured, Unavailable

BUSY_SECONDS = 30.0  # how long a writer waits for another one's transaction; ours last milliseconds


class Connections:
    """Connections to one file; each thread gets its own, since SQLite's cannot be shared safely."""

    def __init__(self, file: Path, *, may_create: bool = False) -> None:
        self._file = file
        self._may_create = may_create
        self._of_thread = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @property
    def file(self) -> Path:
        return self._file

    def get(self) -> sqlite3.Connection:
        """This thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = _connected(self._file, may_create=self._may_create)
            self._of_thread.connection = connection
            with self._lock:
                self._all.append(connection)
        return connection

    def close(self) -> None:
        """Close every thread's connection; the last one to close folds the log into the file."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
        self._of_thread = threading.local()

    @contextmanager
    def reading(self, action: str) -> Iterator[sqlite3.Connection]:
        """A connection whose errors come out as ours."""
        with our_errors(action, self._file):
            yield self.get()

    @contextmanager
    def writing(self, action: str) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is durable at the end of the block, or none of it happened."""
        with our_errors(action, self._file):
            connection = self.get()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")


@contextmanager
def our_errors(action: str, file: Path) -> Iterator[None]:
    """SQLite's errors, sorted by who can act on them."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise Unavailable(f"could not {action} in {file}: {error}; {_remedy(error)}") from error
    except sqlite3.DatabaseError as error:
        if not getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise
        raise Misconfigured(
            f"could not {action}: the catalog {file} is damaged ({error}); "
            "restore it from a backup, or move the library folder away and ingest again"
        ) from error


def _remedy(error: sqlite3.OperationalError) -> str:
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return "what was ingested before is safe; make room on the disk and run the command again"
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "another process is writing; try again when it is done"
    return "check that the folder exists and may be written to"


def _connected(file: Path, *, may_create: bool) -> sqlite3.Connection:
    # A reader must not make an empty catalog where a generation is just being removed.
    address = f"{file.resolve().as_uri()}?mode={'rwc' if may_create else 'rw'}"
    # check_same_thread=False only so that close() may close them all; each thread still uses its own.
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut too
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
