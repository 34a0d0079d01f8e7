"""The ingest report, as JSON and as a table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from citewise.model.document import Skipped
from citewise.model.report import FileProblem, IngestReport

FEW = 5  # files that are named one by one
LINES_SHOWN = 12  # of each list; the JSON report has them all


def report_json(report: IngestReport) -> dict[str, object]:
    """The shape that programs rely on (SPEC J)."""
    return {
        "seen": report.seen,
        "ingested": report.ingested,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "skipped": [{"path": entry.path, "reason": entry.reason} for entry in report.skipped],
        "failed": [asdict(entry) for entry in report.failed],
        "warnings": [asdict(entry) for entry in report.warnings],
        "chunks": asdict(report.chunks),
        "embedded": report.embedded,
        "masked": dict(report.masked),
        "seconds": round(report.seconds, 3),
        "chunks_per_second": round(report.chunks_per_second, 1),
    }


def show_report(report: IngestReport) -> None:
    """The report for a person, on standard output."""
    console = Console()
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    chunks = report.chunks
    table.add_row(
        "files",
        f"{report.seen} seen: {report.ingested} ingested, {report.unchanged} unchanged, "
        f"{len(report.skipped)} skipped, {len(report.failed)} failed; {report.removed} removed",
    )
    table.add_row(
        "chunks",
        f"{chunks.created} created, {chunks.updated} updated, {chunks.deleted} deleted, {chunks.unchanged} unchanged",
    )
    table.add_row(
        "embedded",
        f"{report.embedded} texts; {report.seconds:.1f} s in all, {report.chunks_per_second:.1f} chunks/s",
    )
    if report.masked:
        table.add_row("masked", ", ".join(f"{count} {kind}" for kind, count in sorted(report.masked.items())))
    console.print(table)
    _show_reasons(console, "skipped", report.skipped)
    _show_reasons(console, "warnings", report.warnings)
    _show_entries(console, report.failed)


def _show_reasons(console: Console, title: str, entries: Iterable[Skipped | FileProblem]) -> None:
    """A few by name, more by reason: there may be thousands."""
    listed = list(entries)
    if 0 < len(listed) <= FEW:
        console.print(f"[bold]{title}[/bold]")
        for entry in listed:
            console.print(f"  {entry.path}: {entry.reason}", markup=False, highlight=False)
        return
    reasons = Counter(entry.reason for entry in listed)
    if reasons:
        console.print(f"[bold]{title}[/bold] (--json names each file)")
    for reason, count in reasons.most_common(LINES_SHOWN):
        console.print(f"  {count:>5} x {reason}", markup=False, highlight=False)
    if len(reasons) > LINES_SHOWN:
        console.print(f"  … {len(reasons) - LINES_SHOWN} more reasons; --json lists every file")


def _show_entries(console: Console, entries: Sequence[FileProblem]) -> None:
    if entries:
        console.print("[bold red]failed[/bold red]")
    for entry in entries[:LINES_SHOWN]:
        console.print(f"  {entry.path}: {entry.reason}", markup=False, highlight=False)
    if len(entries) > LINES_SHOWN:
        console.print(f"  … {len(entries) - LINES_SHOWN} more; --json lists every file")
