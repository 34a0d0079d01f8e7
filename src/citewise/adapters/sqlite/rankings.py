"""Rankings saved in a file of the library, so that any process can go on with what another began.

A saved ranking is worth no more than a repeated search: the file is written without waiting for the disk, and one that
is damaged or of another version is deleted, as if its cursors had expired.
"""

import atexit
import json
import logging
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path

from citewise.adapters.sqlite.connections import PrivateFile
from citewise.errors import Misconfigured, Unavailable
from citewise.model.ids import ChunkId
from citewise.model.ranking import Candidate
from citewise.ports.stores import SavedRanking

_log = logging.getLogger(__name__)

VERSION = 4  # 1 and 2 were those of citewise 0.1
MAX_BYTES = 64_000_000  # of all rankings; one of 140 hits takes about 10,000, one of a thousand 70,000
# By which a clock may be set back before cursors that were given out count as expired; more: one that was given out
# while the clock was years ahead lasts for years.
CLOCK_SECONDS = 60.0
BUSY_SECONDS = 2.0  # for the transaction of another process, which takes milliseconds

TABLES = """
    CREATE TABLE rankings (
        number INTEGER PRIMARY KEY,
        cursor TEXT UNIQUE NOT NULL,
        saved_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        bytes INTEGER NOT NULL,
        data BLOB NOT NULL
    );
    CREATE INDEX rankings_by_expiry ON rankings (expires_at);
    CREATE INDEX rankings_by_bytes ON rankings (number, bytes)
"""


class SqliteRankings:
    """The port `RankingStore` over one file; if its folder is read-only, over one that ends with this process."""

    def __init__(self, file: Path, *, max_bytes: int = MAX_BYTES) -> None:
        seconds = {"read_seconds": BUSY_SECONDS, "write_seconds": BUSY_SECONDS}
        self._file = PrivateFile(file, tables=TABLES, version=VERSION, is_durable=False, **seconds)
        self.is_shared = self._file.can_write()
        if not self.is_shared:
            self._file = replace(self._file, path=_process_folder() / file.name)
        self._max_bytes = max_bytes

    def save(self, cursor: str, ranking: SavedRanking, *, now: float, expires_at: float) -> None:
        data = _packed(ranking)
        with self._usable(), self._file.writing("save a ranking") as connection:
            connection.execute("DELETE FROM rankings WHERE cursor = ? OR expires_at <= ?", (cursor, now))
            connection.execute(
                "INSERT INTO rankings (cursor, saved_at, expires_at, bytes, data) VALUES (?, ?, ?, ?, ?)",
                (cursor, now, expires_at, len(data), data),
            )
            connection.execute(  # all but the newest rows that fit; the newest stays, however large it is
                "DELETE FROM rankings WHERE number <= (SELECT number FROM (SELECT number, "
                "sum(bytes) OVER (ORDER BY number DESC) AS total FROM rankings) "
                "WHERE total > ? AND number < (SELECT max(number) FROM rankings) ORDER BY number DESC LIMIT 1)",
                (self._max_bytes,),
            )

    def load(self, cursor: str, *, now: float) -> SavedRanking | None:
        statement = "SELECT data FROM rankings WHERE cursor = ? AND expires_at > ? AND saved_at <= ?"
        with self._usable(), self._file.reading("load a ranking") as connection:
            values = (cursor, now, now + CLOCK_SECONDS)
            row = connection.execute(statement, values).fetchone() if connection else None
        try:
            return _unpacked(row[0]) if row else None
        except (ValueError, TypeError, KeyError, zlib.error):  # written in part when the power failed
            return None

    def renew(self, cursor: str, *, now: float, expires_at: float) -> bool:
        with self._usable(), self._file.writing("renew a cursor") as connection:
            renewed = connection.execute(
                "UPDATE rankings SET expires_at = max(expires_at, ?) "
                "WHERE cursor = ? AND expires_at > ? AND saved_at <= ?",
                (expires_at, cursor, now, now + CLOCK_SECONDS),
            )
            return renewed.rowcount == 1

    def clear(self) -> bool:
        if not self._file.path.exists():
            return True
        try:
            with self._usable(), self._file.writing("clear the saved rankings") as connection:
                connection.execute("DELETE FROM rankings")
            self._file.vacuum("clear the saved rankings")
        except Unavailable as error:
            if self._file.is_busy(error):
                return False
            if self._file.path.exists():
                raise
        return True

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """A file that is damaged or of another version is deleted: the next search creates a new one."""
        try:
            yield
        except Misconfigured as error:
            if self._file.path.is_dir():
                raise
            _log.warning("%s; it is deleted, and open cursors have expired", error)
            self._file.path.unlink(missing_ok=True)
            raise Unavailable("saved pages cannot be read now; search again") from error


@lru_cache(maxsize=1)
def _process_folder() -> Path:
    """A folder that ends with this process."""
    folder = tempfile.mkdtemp(prefix="citewise-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _packed(ranking: SavedRanking) -> bytes:
    candidates = [(hit.id, hit.score, dict(hit.scores), dict(hit.ranks)) for hit in ranking.candidates]
    values = {item.name: getattr(ranking, item.name) for item in fields(ranking)}
    values |= {"candidates": candidates, "shown": sorted(ranking.shown)}
    return zlib.compress(json.dumps(values, separators=(",", ":")).encode(), 1)


def _unpacked(data: bytes) -> SavedRanking:
    values = json.loads(zlib.decompress(data))
    values["candidates"] = tuple(Candidate(ChunkId(id_), *rest) for id_, *rest in values["candidates"])
    values["shown"] = frozenset(values["shown"])
    values |= {name: tuple(values[name]) for name in ("known", "degraded", "notes")}
    return SavedRanking(**values)
