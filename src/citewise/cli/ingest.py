"""`citewise ingest`: runs the flow for each path, shows progress, prints the report, and watches if asked to."""

import gc
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from citewise.cli.progress import shown_progress
from citewise.cli.report import report_json, show_report
from citewise.errors import Unavailable
from citewise.model.access import Scope
from citewise.model.report import IngestReport
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding, embedding_of
from citewise.wiring.full import opened_for_writing
from citewise.wiring.sources import Wish, existing, ingest, ingest_changed, remember_ingest
from citewise.wiring.watch import changes_below

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What the command line says."""

    tenant: str
    project: str
    access: tuple[str, ...]
    name: str | None
    corpus_type: str | None
    watch: bool
    verbose: bool
    as_json: bool

    @property
    def wish(self) -> Wish:
        return Wish(Scope(self.tenant, self.project), self.access, self.corpus_type, self.name)


def run_ingest(settings: Settings, paths: list[Path], options: IngestOptions) -> int:
    """Ingest; 1 if any file failed. With --watch this goes on until it is interrupted."""
    gc.enable()  # this may run for days
    targets = [existing(path) for path in paths]
    wish = options.wish
    embedding = embedding_of(settings)
    report = _run(settings, embedding, options, [partial(ingest, path=target, wish=wish) for target in targets])
    _print(report, options)
    if options.watch:
        _watch(settings, embedding, targets, options)
    return 1 if report.failed else 0


def _watch(settings: Settings, embedding: Embedding, targets: list[Path], options: IngestOptions) -> None:
    """Take up changes as they come; what cannot be done now (another process is writing) is tried again."""
    sys.stderr.write("watching for changes; stop with Ctrl-C\n")
    pending: dict[Path, set[Path]] = {}
    for changed in changes_below(targets, own=settings.library):
        for target, paths in changed.items():
            pending.setdefault(target, set()).update(paths)
        steps = [
            partial(ingest_changed, path=target, changed=paths, wish=options.wish)
            for target, paths in pending.items()
            if target.exists()
        ]
        if steps:
            try:
                report = _run(settings, embedding, options, steps)
            except Unavailable as error:
                _log.warning("%s; trying again", error)
                continue
            if report.ingested or report.removed or report.failed:
                _print(report, options)
        pending.clear()


def _run(
    settings: Settings, embedding: Embedding, options: IngestOptions, steps: Sequence[Callable[..., IngestReport]]
) -> IngestReport:
    """Open the library, take the steps, remember the report. The write lock is held no longer than that."""
    with (
        opened_for_writing(settings, embedding) as library,
        shown_progress(verbose=options.verbose, bar=not options.as_json) as on_event,
    ):
        report = sum((step(library, on_event=on_event) for step in steps), IngestReport())
        remember_ingest(library, report)
        return report


def _print(report: IngestReport, options: IngestOptions) -> None:
    if options.as_json:
        sys.stdout.write(json.dumps(report_json(report), ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        show_report(report)
