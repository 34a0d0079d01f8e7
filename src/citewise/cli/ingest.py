"""`citewise ingest`: shows progress, prints the report, and watches if asked to."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from citewise.api import Library
from citewise.cli.progress import shown_progress
from citewise.model.access import Scope
from citewise.model.document import Skipped
from citewise.model.report import FileProblem, IngestDone, IngestEvent, IngestReport
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
        _print(report, as_json=as_json)
        has_failed = bool(report.failed)
    if watch:
        sys.stderr.write("watching for changes; stop with Ctrl-C\n")
        changes = library.watch(*paths, scope=scope, name=name, corpus_type=corpus_type)
        for report in _reports(changes, verbose=verbose, bar=False):
            if report.ingested or report.removed or report.failed:
                _print(report, as_json=as_json)
    return 1 if has_failed else 0


def _reports(events: Iterable[IngestEvent], *, verbose: bool, bar: bool) -> Iterable[IngestReport]:
    """Show the events; what comes out are the reports."""
    with shown_progress(verbose=verbose, bar=bar) as show:
        for event in events:
            show(event)
            if isinstance(event, IngestDone):
                yield event.report


def _print(report: IngestReport, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(_report_json(report), ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        _show_report(report)


def _report_json(report: IngestReport) -> dict[str, object]:
    return {
        "seen": report.seen,
        "ingested": report.ingested,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "folders_left_out": report.folders_left_out,
        "skipped": [{"path": entry.path, "reason": entry.reason} for entry in report.skipped],
        "failed": [asdict(entry) for entry in report.failed],
        "warnings": [asdict(entry) for entry in report.warnings],
        "chunks": asdict(report.chunks),
        "embedded": report.embedded,
        "masked": dict(report.masked),
        "seconds": round(report.seconds, 3),
        "chunks_per_second": round(report.chunks_per_second, 1),
    }


def _show_report(report: IngestReport) -> None:
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


def _show_reasons(console: Console, title: str, entries: Sequence[Skipped | FileProblem]) -> None:
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


def _show_entries(console: Console, entries: Iterable[Skipped | FileProblem]) -> None:
    for entry in entries:
        console.print(f"  {entry.path}: {entry.reason}", markup=False, highlight=False)
