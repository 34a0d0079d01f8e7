"""SQLite files: a pool of connections for the catalog, files opened for each use for all else, and their errors."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from citewise.errors import BadRequest, Misconfigured, Unavailable

# How long a use waits for another process. 0: it fails at once; more: somebody waits for what may not come.
BUSY_SECONDS = 2.5  # only recovery after a crash holds the whole file and stops a reader, who tries twice
WRITER_BUSY_SECONDS = 30.0  # for another writer's transaction; ours last milliseconds

# A damaged text is one that nobody stored, not an error in the middle of a list.
TOLERANT_TEXT = partial(str, encoding="utf-8", errors="replace")

PRIVATE_MODE = 0o600  # SQLite gives the files beside a database the mode of the database

# Closing a file gives up the locks that this process has on it, those of SQLite in another thread too. So nobody opens
# a private file while it is being created; and a fork waits, or its child could wait forever.
_creating = threading.Lock()
os.register_at_fork(before=_creating.acquire, after_in_parent=_creating.release, after_in_child=_creating.release)


class Connections:
    """Connections to one file in WAL mode, each used by one thread at a time and kept for the next use."""

    def __init__(self, file: Path, *, may_create: bool = False) -> None:
        self.file = file
        self._may_create = may_create
        self._idle: list[sqlite3.Connection] = []
        self._all: list[sqlite3.Connection] = []
        self._unlocked: dict[sqlite3.Connection, int] = {}  # that read without locks, and when the file changed last
        self._lock = threading.Lock()

    def size_bytes(self) -> int:
        """Of the file and what SQLite keeps beside it."""
        return sum(file.stat().st_size for file in self.file.parent.glob(f"{self.file.name}*") if file.is_file())

    def close(self) -> None:
        """Close all connections; the last one to close folds the log into the file."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._idle.clear()
            self._unlocked.clear()

    @contextmanager
    def reading(self, action: str, *, is_patient: bool = False) -> Iterator[sqlite3.Connection]:
        """The connection used last, or a new one; its errors are translated. A patient one waits for other writers.

        There are as many as were ever in use at once. Idle ones wait like readers, so that lending one to a search
        costs no statement.
        """
        with _our_errors(action, self.file):
            connection = self._taken()
            if connection is None:
                connection = self._connected(WRITER_BUSY_SECONDS if is_patient else BUSY_SECONDS)
                with self._lock:
                    self._all.append(connection)
            elif is_patient:
                _set_timeout(connection, WRITER_BUSY_SECONDS)
            try:
                yield connection
            finally:
                with self._lock:
                    if connection in self._all:  # not closed meanwhile
                        if is_patient:
                            _set_timeout(connection, BUSY_SECONDS)
                        self._idle.append(connection)

    @contextmanager
    def writing(self, action: str) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is durable at the end of the block, or nothing happened."""
        with self.reading(action, is_patient=True) as connection, self.transaction(connection):
            yield connection

    @staticmethod
    @contextmanager
    def transaction(connection: sqlite3.Connection) -> Iterator[None]:
        """Commit the whole block at its end, or nothing of it; other writers wait meanwhile.

        For connections with `isolation_level=None`, on which Python begins no transaction by itself.
        """
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    @staticmethod
    def create_tables(connection: sqlite3.Connection, script: str, version: int) -> None:
        for statement in script.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version}")

    def _taken(self) -> sqlite3.Connection | None:
        """An idle connection. Without locks SQLite does not look for changes: such a one is closed when there are."""
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                changed_at = self._unlocked.get(connection)
                if changed_at is None or changed_at == self.file.stat().st_mtime_ns:
                    return connection
                self._all.remove(connection)
                del self._unlocked[connection]
                connection.close()
        return None

    def _connected(self, busy_seconds: float) -> sqlite3.Connection:
        # A reader must not create an empty catalog where a generation is just being removed.
        connection = _sqlite(self.file, f"mode={'rwc' if self._may_create else 'rw'}", busy_seconds)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            connection.close()
            if self._may_create or not _is(error, "SQLITE_READONLY", "SQLITE_CANTOPEN"):
                raise
            # Somebody else's library, or one on a read-only disk: it is read without locks, as it is now.
            changed_at = self.file.stat().st_mtime_ns
            connection = _sqlite(self.file, "mode=ro&immutable=1", busy_seconds)
            self._unlocked[connection] = changed_at
            return connection
        connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


@dataclass(frozen=True, slots=True)
class PrivateFile:
    """A file that only its owner may read, opened for each use.

    A rollback journal and no connection between two uses: nothing is left beside the file, a fork inherits nothing, and
    the file may be moved away at any time. `secure_delete` overwrites what is removed.
    """

    path: Path
    tables: str  # the script that creates them; no semicolon but between statements
    version: int
    read_seconds: float  # to wait for others
    write_seconds: float
    is_durable: bool = True  # else nothing waits for the disk

    @contextmanager
    def reading(self, action: str) -> Iterator[sqlite3.Connection | None]:
        """A connection; None if the file was never written."""
        if not self.path.exists():
            yield None
            return
        with self._opened(action, self.read_seconds) as connection:
            yield connection if self._has_tables(connection) else None

    @contextmanager
    def writing(self, action: str) -> Iterator[sqlite3.Connection]:
        """One transaction, which creates the file and its tables if they are missing."""
        with _our_errors(action, self.path):
            self.create()
        with self._opened(action, self.write_seconds) as connection, Connections.transaction(connection):
            if not self._has_tables(connection):
                Connections.create_tables(connection, self.tables, self.version)
            yield connection

    def can_write(self) -> bool:
        """Not so in somebody else's library; a folder that is missing may yet be created."""
        folder = self.path.parent
        may_use = os.access(folder, os.W_OK) and (os.access(self.path, os.W_OK) or not self.path.exists())
        return may_use or not folder.is_dir()

    def create(self) -> None:
        """Create the file, empty, unless there is one already: that stays as it is, whoever may read it."""
        target = os.path.realpath(self.path)  # O_EXCL takes a link for the file, also one that leads to none yet
        with _creating, suppress(FileExistsError):
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_MODE))

    @staticmethod
    def is_busy(error: Unavailable) -> bool:
        return _is(error.__cause__, "SQLITE_BUSY")

    def vacuum(self, action: str) -> None:
        with self._opened(action, self.write_seconds) as connection:
            connection.execute("VACUUM")

    def _has_tables(self, connection: sqlite3.Connection) -> bool:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, self.version):
            other = "a newer citewise: upgrade citewise" if version > self.version else "an older citewise: delete it"
            raise Misconfigured(f"{self.path} was written by {other}, or move the file away")
        return bool(version)

    @contextmanager
    def _opened(self, action: str, seconds: float) -> Iterator[sqlite3.Connection]:
        if self.path.exists() and not self.path.is_file():
            raise Misconfigured(f"could not {action} in {self.path}: it is not a regular file; move it away")
        with (
            _our_errors(action, self.path, is_expendable=True),
            closing(_sqlite(self.path, "mode=rw", seconds)) as connection,  # "ro" by itself on a read-only disk
        ):
            connection.row_factory = None
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"PRAGMA synchronous = {'NORMAL' if self.is_durable else 'OFF'}")
            yield connection


@contextmanager
def _our_errors(action: str, file: Path, *, is_expendable: bool = False) -> Iterator[None]:
    """SQLite's errors, by who can act on them. In a file that can be spared, whatever makes no sense is damage."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        remedy = "check its disk, and who may write to the file and its folder"
        if _is(error, "SQLITE_FULL", "SQLITE_IOERR"):
            remedy = "what was ingested before is safe; make room on the disk and run the command again"
        elif _is(error, "SQLITE_BUSY", "SQLITE_LOCKED"):
            remedy = "another process is writing; try again when it is done"
        raise Unavailable(f"could not {action} in {file}: {error}; {remedy}") from error
    except (UnicodeEncodeError, OverflowError) as error:  # no statement was run: the file is what it was
        raise BadRequest(f"could not {action}: a value cannot be stored ({type(error).__name__})") from error
    except sqlite3.ProgrammingError:  # nor here
        raise
    except (sqlite3.DatabaseError, ValueError) as error:
        # UnicodeDecodeError: SQLite quotes damaged bytes in its own message.
        is_damage = isinstance(error, UnicodeDecodeError) or _is(error, "SQLITE_CORRUPT", "SQLITE_NOTADB")
        if not is_expendable and not is_damage:
            raise
        rest = "move the file away" if is_expendable else "move the library folder away and ingest again"
        raise Misconfigured(
            f"could not {action}: {file} is damaged ({error}); restore it from a backup, or {rest}"
        ) from error


def _is(error: BaseException | None, *names: str) -> bool:
    return str(getattr(error, "sqlite_errorname", "")).startswith(names)


def _set_timeout(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")


def _sqlite(file: Path, mode: str, busy_seconds: float) -> sqlite3.Connection:
    # check_same_thread=False: a connection moves from thread to thread, but only one at a time uses it.
    url = f"{file.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(url, timeout=busy_seconds, isolation_level=None, check_same_thread=False, uri=True)
    connection.row_factory = sqlite3.Row
    connection.text_factory = TOLERANT_TEXT
    return connection
