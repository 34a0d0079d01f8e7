"""Orders held in a file of the library, so that any process can go on with what another began.

Nothing here is worth more than a repeated search: it is written without waiting for the disk, and a file that is
damaged or of another version is thrown away, which is the same to everybody as if its cursors had expired.
"""

import json
import logging
import math
import sqlite3
import struct
import threading
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from citewise.adapters.private_file import make_private
from citewise.adapters.sqlite.transactions import transaction
from citewise.errors import CitewiseError, Unavailable
from citewise.model.ids import ChunkId
from citewise.model.paging import HeldId
from citewise.model.ranking import Candidate, Candidates
from citewise.ports.rankings import HeldOrder, Seen

ID_BYTES = 8  # a chunk id is 16 hex digits
FLOAT_BYTES = 8  # of a score

# A checksum of what follows, and the length of the JSON that says what the columns are. Nothing is compressed: scores
# are nearly random, and to unpack a thousand of them would cost every page as much as all else.
_HEAD = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class _Columns:
    """A column for each score and rank that any of the candidates has; NaN and 0 where one has none."""

    ids: bytes
    score: Sequence[float]
    scores: Mapping[str, Sequence[float]]
    ranks: Mapping[str, Sequence[int]]

    def candidate(self, place: int) -> Candidate:
        return Candidate(
            ChunkId(self.ids[place * ID_BYTES : (place + 1) * ID_BYTES].hex()),
            self.score[place],
            {name: column[place] for name, column in self.scores.items() if not math.isnan(column[place])},
            {name: column[place] for name, column in self.ranks.items() if column[place]},
        )


def order_bytes(order: HeldOrder) -> bytes:
    """The order, without what was seen of it."""
    candidates = order.candidates
    scores = list(dict.fromkeys(name for one in candidates for name in one.scores))
    ranks = list(dict.fromkeys(name for one in candidates for name in one.ranks))
    head = json.dumps(
        {
            "count": len(candidates),
            "scores": scores,
            "ranks": ranks,
            "total_candidates": order.total_candidates,
            "is_whole": order.is_whole,
            "left_out": order.left_out,
            "degraded": order.degraded,
            "notes": order.notes,
        }
    ).encode()
    columns = (
        bytes.fromhex("".join(one.id for one in candidates)),
        array("d", [one.score for one in candidates]).tobytes(),
        *(array("d", [one.scores.get(name, math.nan) for one in candidates]).tobytes() for name in scores),
        *(array("I", [one.ranks.get(name, 0) for one in candidates]).tobytes() for name in ranks),
    )
    body = b"".join((head, *columns))
    return _HEAD.pack(zlib.crc32(body), len(head)) + body


def order_of(data: bytes, seen: Seen) -> HeldOrder:
    """The same order again."""
    plain = memoryview(data)
    if len(plain) < _HEAD.size:
        raise ValueError("an order without its head")
    checksum, length = _HEAD.unpack_from(plain)
    body = plain[_HEAD.size :]
    if zlib.crc32(body) != checksum:
        raise ValueError("an order that was never written whole")
    head = json.loads(bytes(body[:length]))
    columns = _columns(body[length:], head["count"], head["scores"], head["ranks"])
    return HeldOrder(
        Candidates(head["count"], columns.candidate),
        head["total_candidates"],
        is_whole=head["is_whole"],
        left_out=tuple(head["left_out"]),
        degraded=tuple(head["degraded"]),
        notes=tuple(head["notes"]),
        seen=seen,
    )


def _columns(data: memoryview, count: int, scores: Sequence[str], ranks: Sequence[str]) -> _Columns:
    """The columns in the order in which `order_bytes` wrote them."""
    ids = count * ID_BYTES
    floats = ids + count * FLOAT_BYTES * (1 + len(scores))
    numbers = array("d", bytes(data[ids:floats]))
    places = array("I", bytes(data[floats:]))
    return _Columns(
        bytes(data[:ids]),
        numbers[:count],
        {name: numbers[count * at : count * (at + 1)] for at, name in enumerate(scores, start=1)},
        {name: places[count * at : count * (at + 1)] for at, name in enumerate(ranks)},
    )


def gone_text(seen: Seen) -> str:
    """The ranks of what was gone, by place."""
    return json.dumps({str(place): dict(ranks) for place, ranks in seen.gone.items()})


def seen_of(texts: bytes, gone: str) -> Seen:
    """What was seen from the first place on."""
    return Seen(0, texts, {int(place): ranks for place, ranks in json.loads(gone).items()})


_log = logging.getLogger(__name__)

VERSION = 2  # of the tables and of the bytes in them
BUSY_SECONDS = 2.0  # for another process's transaction, which takes a millisecond
MAX_BYTES = 64_000_000  # of all orders; one of 140 hits takes about 5,000, one of a thousand 27,000
MAX_ORDERS = 10_000
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

    def __init__(self, file: Path, *, max_bytes: int = MAX_BYTES, max_orders: int = MAX_ORDERS) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self._max_orders = max_orders
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
        if count <= self._max_orders and total <= self._max_bytes:
            return
        left_count, left_bytes = LEFT * self._max_orders, LEFT * self._max_bytes
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
            except CitewiseError:
                raise
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
