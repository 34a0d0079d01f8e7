"""A library's maintenance and its log, by settings and the embedding of a test."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from citewise import maintenance
from citewise.insights import ReadLog
from citewise.library import LibraryReader
from citewise.model.report import Check, Compaction, Reindexed, Status
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring import LOG_FILE, library_folder, log_store_of, service_of, stored_library, upkeep_of
from citewise.wiring_models import NO_PARTS, generator_of


def status(settings: Settings) -> Status:
    return maintenance.status(stored_library(settings))


def doctor(settings: Settings, embedding: Embedding | None = None) -> tuple[Check, ...]:
    return tuple(maintenance.doctor(stored_library(settings, embedding), upkeep_of(settings)))


def reindex(settings: Settings, embedding: Embedding | None = None) -> Reindexed:
    *_, last = maintenance.reindex(stored_library(settings, embedding))
    return last


def compact(settings: Settings, embedding: Embedding | None = None) -> Compaction:
    return maintenance.compact(stored_library(settings, embedding), upkeep_of(settings))


def generation_folder(settings: Settings) -> Path:
    """The folder of the generation that serves."""
    folder = library_folder(settings.library)
    return folder.root / folder.current()


def reader_of(settings: Settings, embedding: Embedding) -> LibraryReader:
    """A reader as `wiring.service_of` makes it."""
    reader = service_of(settings, embedding, lambda: generator_of(settings), NO_PARTS).library
    assert isinstance(reader, LibraryReader)
    return reader


def log_file(settings: Settings) -> Path:
    return settings.library / LOG_FILE


@contextmanager
def opened_log(settings: Settings) -> Iterator[ReadLog]:
    with stored_library(settings).inspecting() as library:
        yield ReadLog(log_store_of(settings), library.catalog)


def sweep_log(settings: Settings) -> None:
    stored_library(settings).read(lambda catalog: maintenance.sweep_log(catalog, log_store_of(settings)))


def log_check(settings: Settings, *, now: Callable[[], float] = time.time) -> Check:
    return maintenance.log_check(stored_library(settings), replace(upkeep_of(settings), now=now))
