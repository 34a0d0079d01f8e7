"""The query log off the query's path: nothing waits for it, nothing fails by it, and what it loses is counted."""

import gc
import logging
import multiprocessing
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from citewise.adapters.memory.query_log import QueuedLog
from citewise.adapters.sqlite.query_log import SqliteLog
from citewise.model.access import Scope
from citewise.model.logged import Logged, LogScope
from citewise.ports.stores import LogStore
from citewise.text.redaction import Redaction
from tests.builders import SCOPE, a_row
from tests.fakes.kept_log import BrokenLog, KeptLog

LONG = 60.0  # seconds that no test waits for


def a_log(
    store: LogStore, *, max_waiting: int = 1000, linger_seconds: float = LONG, close_seconds: float = 10.0
) -> QueuedLog:
    return QueuedLog(
        store,
        redact=Redaction.MASKED,
        max_waiting=max_waiting,
        linger_seconds=linger_seconds,
        close_seconds=close_seconds,
    )


class StuckLog(KeptLog):
    """Does not come back from writing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_writing = threading.Event()
        self.may_go_on = threading.Event()

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None:
        self.is_writing.set()
        assert self.may_go_on.wait(LONG)
        super().write(rows, lost=lost)


@pytest.fixture
def store() -> KeptLog:
    return KeptLog()


@pytest.fixture
def stuck() -> Iterator[StuckLog]:
    store = StuckLog()
    yield store
    store.may_go_on.set()


def test_what_was_added_is_written_by_a_flush_in_one_batch(store: KeptLog) -> None:
    log = a_log(store)
    rows = [a_row(str(at)) for at in range(20)]
    for row in rows:
        log.add(row)
    log.flush()
    assert store.written == rows
    assert store.batches == [20]
    log.close()


def test_without_a_flush_rows_are_written_after_a_while(store: KeptLog) -> None:
    log = a_log(store, linger_seconds=0.01)
    log.add(a_row())
    for _ in range(1000):
        if store.written:
            break
        time.sleep(0.01)
    assert len(store.written) == 1
    log.close()


def test_closing_writes_what_is_waiting_and_a_later_row_begins_anew(store: KeptLog) -> None:
    log = a_log(store)
    log.add(a_row("before"))
    log.close()
    log.close()
    assert [row.text for row in store.written] == ["before"]
    log.add(a_row("after"))
    log.close()
    assert [row.text for row in store.written] == ["before", "after"]


def test_closing_what_was_never_used_starts_no_thread() -> None:
    before = threading.active_count()
    log = a_log(KeptLog())
    log.flush()
    log.close()
    assert threading.active_count() == before


def test_a_full_queue_drops_and_counts_and_does_not_wait(stuck: StuckLog) -> None:
    log = a_log(stuck, max_waiting=10, linger_seconds=0.0)
    log.add(a_row("first"))
    assert stuck.is_writing.wait(LONG)
    for at in range(100):
        log.add(a_row(str(at)))  # the writer is stuck until the next line: waiting for it would never end
    stuck.may_go_on.set()
    log.close()
    assert [row.text for row in stuck.written] == ["first", *map(str, range(10))]
    assert stuck.lost(SCOPE, since=0.0) == 90


def test_what_is_written_is_redacted(store: KeptLog) -> None:
    log = a_log(store)
    log.add(a_row("Who is ann@example.org?"))
    log.add(a_row(None))
    log.close()
    assert [row.text for row in store.written] == ["Who is <address>?", None]


def test_many_threads_lose_nothing_though_the_log_is_closed_meanwhile(store: KeptLog) -> None:
    log = a_log(store, max_waiting=100_000, linger_seconds=0.0)

    def asking() -> None:
        for at in range(2000):
            log.add(a_row(str(at)))

    threads = [threading.Thread(target=asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        log.close()
    log.close()
    assert len(store.written) == 8000
    assert store.lost(SCOPE, since=0.0) == 0


class FaultyLog(KeptLog):
    """Fails once in a way that nobody foresaw."""

    def write(self, rows: Sequence[Logged], *, lost: Mapping[Scope, int]) -> None:
        if any(row.text == "fatal" for row in rows):
            raise ZeroDivisionError
        super().write(rows, lost=lost)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced_and_its_rows_are_counted() -> None:
    store = FaultyLog()
    log = a_log(store, linger_seconds=0.0, close_seconds=0.2)
    log.add(a_row("fatal"))
    log.flush()
    log.add(a_row("whole"))
    log.close()
    assert [row.text for row in store.written] == ["whole"]
    assert store.lost(SCOPE, since=0.0) == 1


def test_a_thread_that_cannot_be_started_costs_a_row_and_no_more(
    store: KeptLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    log = a_log(store)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        log.add(a_row("gone"))
    log.add(a_row("kept"))
    log.close()
    assert [row.text for row in store.written] == ["kept"]
    assert store.lost(SCOPE, since=0.0) == 1


def test_rows_may_be_added_by_the_garbage_collector_in_the_middle_of_adding(store: KeptLog) -> None:
    log = a_log(store, max_waiting=100_000)

    class Abandoned:
        def __init__(self) -> None:
            self.itself = self  # only the collector frees it

        def __del__(self) -> None:
            log.add(a_row("abandoned"))

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for at in range(300):
            Abandoned()
            log.add(a_row(str(at)))
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    log.close()
    assert sum(row.text == "abandoned" for row in store.written) == 300
    assert len(store.written) == 600


def _log_in_child(log: QueuedLog) -> None:
    log.add(a_row("child"))
    log.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12 warns of every fork beside threads
def test_a_forked_child_writes_its_own_rows_and_not_its_parents_again(tmp_path: Path) -> None:
    store = SqliteLog(tmp_path / "queries.db", retention_days=1e6)
    log = a_log(store)
    log.add(a_row("parent"))
    child = multiprocessing.get_context("fork").Process(target=_log_in_child, args=(log,))
    child.start()
    child.join(LONG)
    assert child.exitcode == 0
    log.close()
    texts = sorted(row.text or "" for row in store.rows(LogScope(SCOPE), since=0.0, limit=10))
    assert texts == ["child", "parent"]


# The end of the queue: a close waits for a bounded time, and says how many rows it could not write


def test_a_close_gives_up_on_a_disk_that_hangs_and_its_rows_are_written_if_the_program_goes_on(
    stuck: StuckLog, caplog: pytest.LogCaptureFixture
) -> None:
    log = a_log(stuck, linger_seconds=0.0, close_seconds=0.05)
    log.add(a_row("first"))
    assert stuck.is_writing.wait(LONG)
    log.add(a_row("second"))
    log.close()
    assert "not written within 0.05 seconds; questions that are lost if the program ends now: 2" in caplog.text
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


def test_a_broken_store_is_said_once_and_at_the_close_and_its_rows_are_counted_when_it_works_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
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
    assert [row.text for row in store.rows_written] == ["before it broke", "whole"]
    assert store.lost_written == 7


def test_what_is_told_already_is_not_told_again(caplog: pytest.LogCaptureFixture) -> None:
    log = a_log(BrokenLog())
    log.add(a_row())
    log.close()
    assert [record.message for record in caplog.records] == [
        "questions are answered but not logged, 1 so far: the disk has gone"
    ]


def _tell_of_child(log: QueuedLog, told: Connection) -> None:
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
    child = forked.Process(target=_tell_of_child, args=(log, there))
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
        "from citewise.text.redaction import Redaction\n"
        "from tests.builders import a_row\n"
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
