"""Progress on standard error: a bar with the time left on a terminal, a line for each file with --verbose."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from citewise.model.report import Embedded, FileDone, FileOutcome, IngestEvent, Walked


@contextmanager
def shown_progress(*, verbose: bool, bar: bool) -> Iterator[Callable[[IngestEvent], None]]:
    """A function that shows each event of an ingestion."""
    console = Console(stderr=True)
    if verbose or not bar or not console.is_terminal:
        yield _print_line if verbose else lambda event: None
        return
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("kB,"),
        TextColumn("{task.fields[embedded]} embedded"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress)


class _Bar:
    """Counts kilobytes: files differ in size, and time goes with size."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("looking", total=None, embedded=0)
        self._embedded = 0

    def __call__(self, event: IngestEvent) -> None:
        if isinstance(event, Walked):
            self._progress.reset(self._task, description="ingesting", total=event.bytes // 1000 + event.files)
        elif isinstance(event, Embedded):
            self._embedded += event.texts
            self._progress.update(self._task, embedded=self._embedded)
        elif isinstance(event, FileDone):
            self._progress.advance(self._task, event.size // 1000 + 1)


def _print_line(event: IngestEvent) -> None:
    if isinstance(event, FileDone):
        chunks = f" ({event.chunks} chunks)" if event.outcome is FileOutcome.INGESTED else ""
        sys.stderr.write(f"{event.outcome.value} {event.path}{chunks}\n")
        sys.stderr.flush()
