"""Settings -> the query log: where questions are handed over, who reads them, and how they are forgotten."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from citewise.adapters.folder.storage import LibraryFolder
from citewise.adapters.memory.query_log import LINGER_SECONDS, NoLog, QueuedLog
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.query_log import SqliteLog
from citewise.errors import CitewiseError
from citewise.insights import Popular, ReadLog
from citewise.model.ids import document_id
from citewise.model.report import Check
from citewise.ports.catalog import Catalog, PassageReader
from citewise.ports.stores import QueryLog
from citewise.settings import Settings
from citewise.text.secrets import Redaction

_log = logging.getLogger(__name__)

FILE = "queries.db"
# After which rows that any process had when compaction began are written. LINGER_SECONDS: one that is written just then
# may come behind the sweep; more: each compaction of a small library takes so long.
SETTLE_SECONDS = LINGER_SECONDS + 0.25
LATELY_SECONDS = 7 * 86_400.0  # what was lost earlier is no longer worth a word of the doctor's


def query_log_of(settings: Settings) -> QueryLog:
    """Where questions are handed over; nowhere, if none are to be kept or nobody here may write."""
    chosen = settings.query_log
    if not chosen.retention_days:
        return NoLog()
    if _is_anothers(settings.library):
        _log.info("questions are not logged: nobody here may write to %s", settings.library)
        return NoLog()
    return QueuedLog(log_store_of(settings), redact=Redaction(chosen.text), most=chosen.queue)


def log_store_of(settings: Settings, *, now: Callable[[], float] = time.time) -> SqliteLog:
    chosen = settings.query_log
    return SqliteLog(log_file(settings), retention_days=chosen.retention_days, max_rows=chosen.rows, now=now)


def log_file(settings: Settings) -> Path:
    return settings.library / FILE


def popular_of(settings: Settings, passages: PassageReader) -> Popular:
    """What is asked most, read through the catalog of the library that is open now."""
    return Popular(log_store_of(settings), passages)


@contextmanager
def opened_log(settings: Settings) -> Iterator[tuple[ReadLog, Popular]]:
    """The log beside the catalog that names what it shows; no model is loaded and nothing is healed."""
    with _catalog(settings) as catalog:
        yield ReadLog(log_store_of(settings), catalog), popular_of(settings, catalog)


def await_log(settings: Settings, *, since: float) -> None:
    """Wait until what was asked before `since` (of the monotonic clock) is in the file, whichever process was asked."""
    if settings.query_log.retention_days:
        time.sleep(max(0.0, since + SETTLE_SECONDS - time.monotonic()))


def sweep_log(settings: Settings) -> None:
    """Remove what is too old and what the catalog no longer has, with every trace in the file: part of compaction."""
    store = log_store_of(settings)
    with _catalog(settings) as catalog:
        living = {document_id(scope, path) for scope in catalog.scopes() for path in catalog.paths(scope)}
    store.forget(store.shown() - living)
    store.sweep()


def log_check(settings: Settings, *, now: Callable[[], float] = time.time) -> Check:
    """What the doctor says of the log."""
    name, chosen, file = "query log", settings.query_log, log_file(settings)
    if not chosen.retention_days:
        return Check(name, "off: query_log.retention_days is 0")
    if _is_anothers(settings.library) or (file.exists() and not os.access(file, os.W_OK)):
        return Check(name, f"{file} may not be written to: questions are not logged", "give yourself the right to it")
    try:
        lost = _lost(settings, now)
    except CitewiseError as error:
        return Check(name, str(error), "move the file away; the next question begins a new log")
    size = file.stat().st_size / 1e6 if file.is_file() else 0.0
    detail = f"{size:.1f} MB, {chosen.retention_days:g} days, text {chosen.text}; {lost:,} dropped in a week"
    remedy = "raise query_log.queue, or look at the disk: questions came faster than they could be written"
    return Check(name, detail, remedy if lost else "")


def _lost(settings: Settings, now: Callable[[], float]) -> int:
    store = log_store_of(settings, now=now)
    with _catalog(settings) as catalog:
        return sum(store.lost(scope, since=now() - LATELY_SECONDS) for scope in catalog.scopes())


def _is_anothers(library: Path) -> bool:
    """Whether it can only be read. That is no fault, so questions about it are not logged and nothing is said of it."""
    return library.is_dir() and not os.access(library, os.W_OK)


@contextmanager
def _catalog(settings: Settings) -> Iterator[Catalog]:
    catalog = SqliteCatalog(Connections(LibraryFolder(settings.library).current() / "catalog.db"), model_name="")
    with closing(catalog):
        yield catalog
