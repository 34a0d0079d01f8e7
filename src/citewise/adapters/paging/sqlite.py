"""Orders held in a file of the library, so that any process can go on with what another began.

Nothing here is worth more than a repeated search: it is written without waiting for the disk, and a file that is
damaged or of another version is thrown away, which is the same to everybody as if its cursors had expired.
"""

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewise.adapters.paging.columns import gone_text, order_bytes, order_of, seen_of
from citewise.adapters.private_file import make_private
from citewise.adapters.transactions import transaction
from citewise.model.cursor import HeldId
from citewise.model.errors import Unavailable
from citewise.ports.held import HeldOrder, Seen

_log = logging.getLogger(__name__)

VERSION = 2  # of the tables and of the bytes in them
BUSY_SECONDS = 2.0  # for another process's transaction, which takes a millisecond
MOST_BYTES = 64_000_000  # of all orders; one of 140 hits takes about 5,000, one of a thousand 27,000
MOST_ORDERS = 10_000
LEFT = 0.9  # of both, once one is passed: so that it is not passed again at once; 0: all go, 1: one at a time

_TABLES = (
    "DROP TABLE IF EXISTS seen",
    "DROP TABLE IF EXISTS held",
    "CREATE TABLE held (number INTEGER PRIMARY KEY, id BLOB UNIQUE NOT NULL, expires_at REAL NOT NULL, "
    "bytes INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE INDEX held_by_end ON held (expires_at)",
    "CREATE INDEX held_by_bytes ON held (bytes)",  # to add them up without looking at any data
    "CREATE TABLE seen (held INTEGER PRIMARY KEY REFERENCES held ON DELETE CASCADE, "
    "texts BLOB NOT NULL, gone TEXT NOT NULL)",
    f"PRAGMA user_version = {VERSION}",
)


class SqliteHeldOrders:
    """The port `HeldOrders` over one file, which is made when it is first needed."""

    def __init__(self, file: Path, *, most_bytes: int = MOST_BYTES, most_orders: int = MOST_ORDERS) -> None:
        self._file = file
        self._most_bytes = most_bytes
        self._most_orders = most_orders
        self._lock = threading.Lock()  # of the one connection: nobody holds it for longer than a millisecond
        self._connection: sqlite3.Connection | None = None
        self._mark: tuple[int, int] | None = None  # of the file that it is connected to

    def keep(self, id_: HeldId, order: HeldOrder, *, now: float, expires_at: float) -> None:
        data = order_bytes(order)
        with self._writing() as connection:
            connection.execute("DELETE FROM held WHERE id = ? OR expires_at <= ?", (id_, now))
            number = connection.execute(
                "INSERT INTO held (id, expires_at, bytes, data) VALUES (?, ?, ?, ?)", (id_, expires_at, len(data), data)
            ).lastrowid
            assert number is not None
            _write_seen(connection, number, order.seen)
            self._make_room(connection, number)

    def read(self, id_: HeldId, *, before: int) -> HeldOrder | None:
        with self._opened() as connection:
            row = connection.execute(
                "SELECT data, texts, gone FROM held JOIN seen ON held = number WHERE id = ?", (id_,)
            ).fetchone()
        if row is None:
            return None
        data, texts, gone = row
        try:
            return order_of(data, seen_of(texts, gone).before(before))
        except ValueError:  # a power cut can leave bytes behind that were never whole
            return None

    def note(self, id_: HeldId, seen: Seen, *, expires_at: float) -> None:
        with self._writing() as connection:
            row = connection.execute(
                "SELECT number, texts, gone FROM held JOIN seen ON held = number WHERE id = ?", (id_,)
            ).fetchone()
            if row is None:
                return
            number, texts, gone = row
            _write_seen(connection, number, seen_of(texts, gone).then(seen))
            connection.execute("UPDATE held SET expires_at = max(expires_at, ?) WHERE number = ?", (expires_at, number))

    def empty(self) -> bool:
        """Let go of all orders, and leave no trace of them in the file, nor in the log beside it.

        False if another process was at work in it, so that some of it may still be there.
        The file stays: whoever has it open goes on in it. Were it removed, another process could begin a new one while
        the log of the old one is still there, and have its own log taken away instead.
        """
        if not self._is_there():
            return True
        try:  # also where the file alone has gone: SQLite removes a log that is not of the file it makes
            with self._opened("run the command again") as connection:
                connection.execute("DELETE FROM held")
                connection.execute("VACUUM")
                (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not is_busy
        except Unavailable as error:
            if getattr(error.__cause__, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                return False
            if self._is_there():  # else it was damaged, and is gone
                raise
            return True

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def _make_room(self, connection: sqlite3.Connection, newest: int) -> None:
        """Let the oldest go if there are too many; the newest stays, however large it is."""
        count, total = connection.execute("SELECT count(*), total(bytes) FROM held").fetchone()
        if count <= self._most_orders and total <= self._most_bytes:
            return
        left_count, left_bytes = LEFT * self._most_orders, LEFT * self._most_bytes
        rows = connection.execute("SELECT number, bytes FROM held WHERE number <> ? ORDER BY number", (newest,))
        for number, size in rows.fetchall():
            if count <= left_count and total <= left_bytes:
                return
            connection.execute("DELETE FROM held WHERE number = ?", (number,))
            count, total = count - 1, total - size

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._opened() as connection, transaction(connection):
            yield connection

    @contextmanager
    def _opened(self, remedy: str = "search again") -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time; what SQLite has to say comes out as Unavailable."""
        with self._lock:
            try:
                yield self._connected()
            except (sqlite3.DatabaseError, OSError) as error:
                if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                    self._throw_away()
                _log.warning("could not use %s: %s", self._file, error)
                raise Unavailable(f"what is held for further pages cannot be used now; {remedy}") from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None or _mark(self._file) != self._mark:
            self._disconnect()  # another process may have thrown the file away
            mark = _mark(self._file)
            self._connection = _connected(self._file)
            self._mark = mark or _mark(self._file)  # looked up before: a file that is replaced meanwhile is noticed
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _throw_away(self) -> None:
        _log.warning("%s is damaged and is made anew; open cursors have expired", self._file)
        self._disconnect()
        for part in self._parts():
            part.unlink(missing_ok=True)

    def _is_there(self) -> bool:
        return any(part.is_file() for part in self._parts())

    def _parts(self) -> tuple[Path, ...]:
        """The file last: who begins a new one when it was removed keeps what lies beside it."""
        return tuple(self._file.with_name(f"{self._file.name}{suffix}") for suffix in ("-wal", "-shm", ""))


def _write_seen(connection: sqlite3.Connection, held: int, seen: Seen) -> None:
    connection.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (held, seen.texts, gone_text(seen)))


def _mark(file: Path) -> tuple[int, int] | None:
    try:
        state = file.stat()
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino


def _connected(file: Path) -> sqlite3.Connection:
    make_private(file)  # it tells who asks for what
    # check_same_thread=False: the connection moves from thread to thread, but only one at a time holds it.
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        if _version(connection) != VERSION:
            _make_tables(connection)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _make_tables(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        if _version(connection) != VERSION:  # another process may have been quicker
            for statement in _TABLES:
                connection.execute(statement)
