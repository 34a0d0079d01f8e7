"""Opening the catalog's file, a connection for each use, and translating what SQLite has to say."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewise.adapters.sqlite.transactions import transaction
from citewise.errors import Misconfigured, Unavailable

# How long a use waits for another process's; 0: it fails at once, more: somebody waits for what may not come.
BUSY_SECONDS = 2.5  # only who holds all of the file (a log is recovered after a crash) stops a reader, who tries twice
WRITER_BUSY_SECONDS = 30.0  # for another writer's transaction; ours last milliseconds


class Connections:
    """Connections to one file, each used by one thread at a time and kept for the next use."""

    def __init__(self, file: Path, *, may_create: bool = False) -> None:
        self._file = file
        self._may_create = may_create
        self._idle: list[sqlite3.Connection] = []
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @property
    def file(self) -> Path:
        return self._file

    def size_bytes(self) -> int:
        """Of the file and what SQLite keeps beside it."""
        return sum(file.stat().st_size for file in self._file.parent.glob(f"{self._file.name}*") if file.is_file())

    def close(self) -> None:
        """Close them all; the last one to close folds the log into the file."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._idle.clear()

    @contextmanager
    def reading(self, action: str) -> Iterator[sqlite3.Connection]:
        """A connection whose errors come out as ours."""
        with our_errors(action, self._file), self._lent() as connection:
            yield connection

    @contextmanager
    def patient(self, action: str) -> Iterator[sqlite3.Connection]:
        """The same, for what writes in transactions of its own: it waits for other writers."""
        with our_errors(action, self._file), self._lent(is_patient=True) as connection:
            yield connection

    @contextmanager
    def writing(self, action: str) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is durable at the end of the block, or none of it happened."""
        with self.patient(action) as connection, transaction(connection):
            yield connection

    @contextmanager
    def _lent(self, *, is_patient: bool = False) -> Iterator[sqlite3.Connection]:
        """The one that came back last, or a new one: there are as many as were ever in use at once.

        Those that are idle wait like readers, so that to lend one to a search costs no statement.
        """
        busy_seconds = WRITER_BUSY_SECONDS if is_patient else BUSY_SECONDS
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = _connected(self._file, busy_seconds, may_create=self._may_create)
            with self._lock:
                self._all.append(connection)
        elif is_patient:
            _wait_for_others(connection, busy_seconds)
        try:
            yield connection
        finally:
            with self._lock:
                if connection in self._all:  # not closed meanwhile
                    if is_patient:
                        _wait_for_others(connection, BUSY_SECONDS)
                    self._idle.append(connection)


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


def _wait_for_others(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")


def _sqlite(file: Path, how: str, busy_seconds: float) -> sqlite3.Connection:
    # check_same_thread=False: a connection moves from thread to thread, but only one at a time holds it.
    connection = sqlite3.connect(
        f"{file.resolve().as_uri()}?{how}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    return connection


def _connected(file: Path, busy_seconds: float, *, may_create: bool) -> sqlite3.Connection:
    # A reader must not make an empty catalog where a generation is just being removed.
    connection = _sqlite(file, f"mode={'rwc' if may_create else 'rw'}", busy_seconds)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        connection.close()
        if may_create or not getattr(error, "sqlite_errorname", "").startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
            raise
        # Another's library, or one on a read-only disk: nobody here can change it, so it is read as it lies.
        return _sqlite(file, "mode=ro&immutable=1", busy_seconds)
    connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut too
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
