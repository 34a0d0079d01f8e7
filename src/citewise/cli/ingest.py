"""`citewise ingest` and `citewise demo`: show progress on standard error, print the report, watch if asked to."""

import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from citewise.api import Library
from citewise.cli.output import print_json
from citewise.model.access import Scope
from citewise.model.document import FileProblem
from citewise.model.report import (
    Embedded,
    FileDone,
    IngestEvent,
    IngestReport,
    Walked,
)
from citewise.settings import Settings

MAX_NAMED = 5  # files; more are counted by reason
MAX_LINES = 12  # of each list; the JSON report has them all


def run_ingest(
    settings: Settings,
    paths: list[Path],
    *,
    scope: Scope | None = None,
    access: tuple[str, ...] = (),
    name: str | None = None,
    corpus_type: str | None = None,
    watch: bool = False,
    verbose: bool = False,
    as_json: bool = False,
) -> int:
    """Ingest; returns 1 if any file failed. With --watch this goes on until it is interrupted."""
    library = Library(settings=settings)
    events = library.ingest_events(*paths, scope=scope, access=access, name=name, corpus_type=corpus_type)
    has_failed = False
    for report in _reports(events, verbose=verbose, bar=not as_json):
        _show_report(report, as_json=as_json)
        has_failed = bool(report.failed)
    if watch:
        sys.stderr.write("watching for changes; stop with Ctrl-C\n")
        changes = library.watch(*paths, scope=scope, name=name, corpus_type=corpus_type)
        for report in _reports(changes, verbose=verbose, bar=False):
            if report.ingested or report.removed or report.failed:
                _show_report(report, as_json=as_json)
    return 1 if has_failed else 0


def _reports(events: Iterable[IngestEvent], *, verbose: bool, bar: bool) -> Iterable[IngestReport]:
    """Show the events; what comes out are the reports."""
    with shown_progress(verbose=verbose, bar=bar) as show:
        for event in events:
            show(event)
            if isinstance(event, IngestReport):
                yield event


def _report_json(report: IngestReport) -> dict[str, object]:
    return {
        "seen": report.seen,
        "ingested": report.ingested,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "folders_left_out": report.folders_left_out,
        "skipped": _problems_json(report.skipped),
        "failed": _problems_json(report.failed),
        "warnings": _problems_json(report.warnings),
        "chunks": asdict(report.chunks),
        "embedded": report.embedded,
        "masked": dict(report.masked),
        "seconds": round(report.seconds, 3),
        "chunks_per_second": round(report.chunks_per_second, 1),
    }


def _problems_json(entries: Iterable[FileProblem]) -> list[dict[str, str]]:
    return [{"path": entry.path, "reason": entry.reason} for entry in entries]


def _show_report(report: IngestReport, *, as_json: bool) -> None:
    if as_json:
        print_json(_report_json(report))
        return
    console, chunks = Console(), report.chunks
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row(
        "files",
        f"{report.seen} seen: {report.ingested} ingested, {report.unchanged} unchanged, "
        f"{len(report.skipped)} skipped, {len(report.failed)} failed; {report.removed} removed",
    )
    if report.folders_left_out:
        table.add_row("folders", f"{report.folders_left_out} left out, hidden or vendored (ingest them with --include)")
    table.add_row(
        "chunks",
        f"{chunks.created} created, {chunks.updated} updated, {chunks.deleted} deleted, {chunks.unchanged} unchanged",
    )
    rate = f"{report.chunks_per_second:.1f} chunks/s"
    table.add_row("embedded", f"{report.embedded} texts; {report.seconds:.1f} s in all, {rate}")
    if report.masked:
        table.add_row("masked", ", ".join(f"{count} {kind}" for kind, count in sorted(report.masked.items())))
    console.print(table)
    _show_reasons(console, "skipped", report.skipped)
    _show_reasons(console, "warnings", report.warnings)
    if report.failed:
        console.print("[bold red]failed[/bold red]")
        _show_entries(console, report.failed[:MAX_LINES])
    if len(report.failed) > MAX_LINES:
        console.print(f"  … {len(report.failed) - MAX_LINES} more; --json lists every file")


def _show_reasons(console: Console, title: str, entries: Sequence[FileProblem]) -> None:
    """A few by name, more by reason: there may be thousands."""
    if 0 < len(entries) <= MAX_NAMED:
        console.print(f"[bold]{title}[/bold]")
        _show_entries(console, entries)
        return
    reasons = Counter(entry.reason for entry in entries)
    if reasons:
        console.print(f"[bold]{title}[/bold] (--json names each file)")
    for reason, count in reasons.most_common(MAX_LINES):
        console.print(f"  {count:>5} x {reason}", markup=False, highlight=False)
    if len(reasons) > MAX_LINES:
        console.print(f"  … {len(reasons) - MAX_LINES} more reasons; --json lists every file")


def _show_entries(console: Console, entries: Iterable[FileProblem]) -> None:
    for entry in entries:
        console.print(f"  {entry.path}: {entry.reason}", markup=False, highlight=False)


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
        chunks = f" ({event.chunks} chunks)" if event.outcome == "ingested" else ""
        sys.stderr.write(f"{event.outcome} {event.path}{chunks}\n")
        sys.stderr.flush()


def run_demo(settings: Settings, *, as_json: bool) -> int:
    """Ingest the handbook and say what can be done with it."""
    with as_file(files("citewise") / "data" / "handbook") as handbook:
        code = run_ingest(settings, [handbook], as_json=as_json)
    if not as_json:
        library = shlex.quote(str(settings.library))
        citewise = shlex.quote(_command())
        sys.stdout.write(f"\nThe Harbor Handbook is in {library}. Try next:\n{_hints(citewise, library)}")
    return code


def _hints(citewise: str, library: str) -> str:
    """A command a line; what is said of some of them stands in one column."""
    explained = {
        f"status --library {library}": "documents, chunks, sizes",
        f"doctor --library {library}": "check the installation",
        "ingest YOUR/DOCS": "your own library, in .citewise",
    }
    width = max(map(len, explained))
    return (
        f'  {citewise} ask "What does TIDE-204 mean?" --library {library}\n'
        f'  {citewise} search "calibrate the pressure sensor" --explain --library {library}\n'
    ) + "".join(f"  {citewise} {command:<{width}}    # {what}\n" for command, what in explained.items())


def _command() -> str:
    """The command as it can be typed here: its bare name only where the shell would find it."""
    return "citewise" if shutil.which("citewise") else sys.argv[0]
