"""`citewise ingest`: shows progress, prints the report, and watches if asked to."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from citewise.api import Library
from citewise.cli.progress import shown_progress
from citewise.cli.report import report_json, show_report
from citewise.model.access import Scope
from citewise.model.report import IngestDone, IngestEvent, IngestReport
from citewise.settings import Settings


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
        sys.stdout.write(json.dumps(report_json(report), ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        show_report(report)
