"""The end of the query log's queue: a close waits for a bounded time, and says how many rows it could not write."""

import logging
import multiprocessing
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from citewise.adapters.memory.query_log import QueuedLog
from citewise.adapters.sqlite.query_log import SqliteLog
from citewise.model.logged import LogScope
from tests.builders import SCOPE
from tests.fakes.kept_log import BrokenLog, KeptLog
from tests.logs import a_row
from tests.unit.adapters.test_query_queue import LONG, StuckLog, a_log


@pytest.fixture
def stuck() -> Iterator[StuckLog]:
    store = StuckLog()
    yield store
    store.may_go_on.set()


def test_a_close_gives_up_on_a_disk_that_hangs(stuck: StuckLog, caplog: pytest.LogCaptureFixture) -> None:
    log = a_log(stuck, linger_seconds=0.0, close_seconds=0.05)
    log.add(a_row())
    assert stuck.is_writing.wait(LONG)
    log.add(a_row())
    log.close()
    assert "not written within 0.05 seconds; questions that are lost if the program ends now: 2" in caplog.text


def test_rows_that_a_close_did_not_wait_for_are_written_if_the_program_goes_on(stuck: StuckLog) -> None:
    log = a_log(stuck, linger_seconds=0.0, close_seconds=0.05)
    log.add(a_row("first"))
    assert stuck.is_writing.wait(LONG)
    log.add(a_row("second"))
    log.close()
    stuck.may_go_on.set()
    for _ in range(1000):
        if len(stuck.written) == 2:
            break
        time.sleep(0.01)
    assert [row.text for row in stuck.written] == ["first", "second"]


def test_a_close_after_one_that_gave_up_does_not_wait_again(stuck: StuckLog) -> None:
    log = a_log(stuck, max_waiting=1, linger_seconds=0.0, close_seconds=0.05)
    log.add(a_row())
    assert stuck.is_writing.wait(LONG)
    for _ in range(3):
        log.add(a_row())  # of which two are dropped: to count them is a write, too
    log.close()
    started = time.perf_counter()
    log.close()
    assert time.perf_counter() - started < LONG


def test_a_close_tells_how_many_rows_could_not_be_written(caplog: pytest.LogCaptureFixture) -> None:
    store = BrokenLog()
    log = a_log(store)
    store.is_mended = True
    log.add(a_row("before it broke"))
    log.flush()
    store.is_mended, store.tries = False, 0
    for at in range(5):
        log.add(a_row(str(at)))
        log.flush()
    log.add(a_row())
    log.add(a_row())
    log.close()
    log.close()
    assert [record.message for record in caplog.records] == [
        "questions are answered but not logged, 1 so far: the disk has gone",
        "questions that were answered but not logged, in all: 7",
    ]
    assert store.tries == 6  # and none more by closing: it would wait as long as the last one did
    store.is_mended = True
    log.add(a_row("whole"))
    log.close()
    assert store.lost_written == 7


def test_what_is_told_already_is_not_told_again(caplog: pytest.LogCaptureFixture) -> None:
    log = a_log(BrokenLog())
    log.add(a_row())
    log.close()
    assert [record.message for record in caplog.records] == [
        "questions are answered but not logged, 1 so far: the disk has gone"
    ]


def _log_in_child(log: QueuedLog, told: Connection) -> None:
    handler = _Records()
    logging.getLogger("citewise.adapters.memory.query_log").addHandler(handler)
    log.add(a_row())
    log.close()
    told.send(handler.messages)


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12 warns of every fork beside threads
def test_a_forked_child_says_what_it_loses_though_its_parent_has_said_so_of_its_own() -> None:
    log = a_log(BrokenLog())
    log.add(a_row())
    log.flush()
    forked = multiprocessing.get_context("fork")
    here, there = forked.Pipe(duplex=False)
    child = forked.Process(target=_log_in_child, args=(log, there))
    child.start()
    assert here.poll(LONG)
    assert here.recv() == ["questions are answered but not logged, 1 so far: the disk has gone"]
    child.join(LONG)
    log.close()


def test_a_log_that_is_written_says_nothing_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    log = a_log(KeptLog(), max_waiting=2)
    for _ in range(5):
        log.add(a_row())
    log.close()
    assert caplog.records == []


def test_a_program_that_ends_while_the_log_is_locked_says_how_many_rows_it_lost(tmp_path: Path) -> None:
    file = tmp_path / "queries.db"
    SqliteLog(file, retention_days=1e6).write([], lost={})
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        done = ended(file, "log.add(a_row('one'))\nlog.add(a_row('other'))\n", close_seconds=0.3)
    assert done.returncode == 0
    assert done.stderr == (
        "the query log was not written within 0.3 seconds; questions that are lost if the program ends now: 2\n"
    )
    assert SqliteLog(file, retention_days=1e6).rows(LogScope(SCOPE), since=0.0, limit=10) == ()


def ended(file: Path, lines: str, *, close_seconds: float = 5.0) -> subprocess.CompletedProcess[str]:
    """A program that logs by these lines and just ends."""
    program = (
        "from pathlib import Path\n"
        "from citewise.adapters.memory.query_log import QueuedLog\n"
        "from citewise.adapters.sqlite.query_log import SqliteLog\n"
        "from citewise.text.secrets import Redaction\n"
        "from tests.logs import a_row\n"
        f"store = SqliteLog(Path({str(file)!r}), retention_days=1e6)\n"
        "log = QueuedLog(\n"
        f"    store, redact=Redaction.FULL, max_waiting=10, linger_seconds=60, close_seconds={close_seconds}\n"
        ")\n" + lines
    )
    root = Path(__file__).parents[3]
    return subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_program_that_just_ends_leaves_its_rows(tmp_path: Path) -> None:
    done = ended(tmp_path / "queries.db", "log.add(a_row('at the end'))\n")
    assert (done.returncode, done.stderr) == (0, "")
    store = SqliteLog(tmp_path / "queries.db", retention_days=1e6)
    assert [row.text for row in store.rows(LogScope(SCOPE), since=0.0, limit=10)] == ["at the end"]
