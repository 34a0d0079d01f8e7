"""`citewise ingest` and `citewise demo`: show progress on standard error, print the report, watch if asked to."""

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from citewise.cli.options import FILE, GIVEN_PATH, Session, app, library_options, reader_options
from citewise.cli.output import print_json, show_figures, show_list

if TYPE_CHECKING:
    from citewise.evaluation.pipeline import EvalEvent
    from citewise.model.access import Principal
    from citewise.model.report import IngestReport

MAX_NAMED = 12  # files or reasons; more files are counted by reason

Result = TypeVar("Result")


@app.command("ingest")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, type=GIVEN_PATH, help="Folders or files.")
@reader_options
@click.option(
    "--access",
    metavar="RULE",
    multiple=True,
    help="Who may read: public, project, owner:USER, group:GROUP; owner alone is --user, "
    "group alone is each --group. Repeatable.",
)
@click.option("--widen", is_flag=True, help="Let --access replace a narrower rule that the path had.")
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the source; the paths of its documents start with it ('.': the first source).",
)
@click.option(
    "--include",
    metavar="GLOB",
    multiple=True,
    help="Ingest only files that match; a pattern that names a hidden or vendored folder adds it to the rest. "
    "Repeatable.",
)
@click.option(
    "--exclude",
    metavar="GLOB",
    multiple=True,
    help="Skip files that match, and remove them from the library. Repeatable.",
)
@click.option("--max-file-mb", metavar="MB", type=click.FloatRange(min=0.001), help="Skip larger files (default 10).")
@click.option("--corpus-type", metavar="TYPE", help="Such as DOC_TEXTBOOK; by default decided by the path.")
@click.option("--prune", is_flag=True, help="Remove documents that are gone from disk even if most of a source is.")
@click.option("--watch", is_flag=True, help="Keep running and ingest files that change.")
@click.option("--verbose", "-v", is_flag=True, help="Print a line for each file once it is stored.")
def _ingest(
    session: Session,
    paths: Sequence[Path],
    *,
    access: Sequence[str],
    widen: bool,
    name: str | None,
    include: Sequence[str],
    exclude: Sequence[str],
    max_file_mb: float | None,
    corpus_type: str | None,
    prune: bool,
    watch: bool,
    verbose: bool,
) -> int:
    """Ingest folders or files.

    Creates the library if it does not exist. Only new and changed documents are embedded; deleted ones are removed.
    If that is more than half of a source, as when a disk is not mounted, they are kept: confirm it, or use --prune.
    """
    from citewise.model.report import IngestReport

    rules = session.settings.ingest
    rules_changed = {
        "include": include or rules.include,
        "exclude": (*rules.exclude, *exclude),
        "max_file_mb": max_file_mb or rules.max_file_mb,
    }
    session = replace(session, settings=session.settings.changed(ingest=rules_changed))
    library, scope = session.library, session.scope
    access = _named_readers(access, session.principal)

    def ingested(prune: bool) -> IngestReport:
        events = library.ingest_events(
            *paths, scope=scope, access=access, widen=widen, name=name, corpus_type=corpus_type, prune=prune
        )
        (report,) = shown_results(events, IngestReport, bar=not session.as_json, verbose=verbose)
        _show_report(report, as_json=session.as_json)
        return report

    report = ingested(prune)
    is_asked = report.kept and not (watch or session.as_json) and sys.stdin.isatty() and sys.stderr.isatty()
    if is_asked and click.confirm("Remove them?", err=True):
        report = ingested(prune=True)
    if watch:
        sys.stderr.write("watching for changes; stop with Ctrl-C\n")
        events = library.watch(*paths, scope=scope, name=name, corpus_type=corpus_type)
        for changes in shown_results(events, IngestReport, bar=False, verbose=verbose):
            if changes.ingested or changes.removed or changes.kept or changes.failed:
                _show_report(changes, as_json=session.as_json)
    return 0 if report.is_complete else 1


_DEMO_LIBRARY = click.Option(
    ["--library"], type=FILE, metavar="DIR", default=".demo", show_default=True, help="Library folder."
)


@app.command("demo")
@functools.partial(library_options, library=_DEMO_LIBRARY)
def _demo(session: Session) -> int:
    """Ingest the sample handbook."""
    import shlex
    import shutil
    from importlib.resources import as_file, files

    from citewise.model.report import IngestReport

    with as_file(files("citewise") / "data" / "handbook") as handbook:
        (report,) = shown_results(session.library.ingest_events(handbook), IngestReport, bar=not session.as_json)
    _show_report(report, as_json=session.as_json)
    if not session.as_json:
        library = shlex.quote(str(session.settings.library))
        is_script = Path(sys.argv[0]).name == "citewise" and not shutil.which("citewise")  # one that must be named
        citewise = shlex.quote(sys.argv[0]) if is_script else "citewise"
        commands = (
            f'ask "What does TIDE-204 mean?" --library {library}',
            f'search "calibrate the pressure sensor" --explain --library {library}',
            f"status --library {library}",
            "ingest YOUR/DOCS  # your own library, in .citewise",
        )
        show_list(f"\nThe Harbor Handbook is in {library}. Try next:", [f"{citewise} {line}" for line in commands])
    return 0 if report.is_complete else 1


def _named_readers(rules: Iterable[str], principal: "Principal") -> tuple[str, ...]:
    """Access rules with `owner` and `group` alone replaced by whom they mean."""
    owner = (f"owner:{principal.user}",) if principal.user else ()
    meant = {"owner": owner, "group": tuple(f"group:{group}" for group in sorted(principal.groups))}
    return tuple(named for rule in rules for named in meant.get(rule) or (rule,))


def shown_results(
    events: "Iterable[EvalEvent]", kind: type[Result], *, bar: bool, verbose: bool = False
) -> Iterator[Result]:
    """The events of a kind; the others are shown as lines, or by a bar if standard error is a terminal."""
    with _shown_progress(verbose=verbose, bar=bar) as show:
        for event in events:
            if isinstance(event, kind):
                yield event
            else:
                show(event)


@contextmanager
def _shown_progress(*, verbose: bool, bar: bool) -> "Iterator[Callable[[EvalEvent], None]]":
    from rich import progress as rich
    from rich.console import Console

    from citewise.model.report import Embedded, FileDone, Step, Walked

    console = Console(stderr=True)
    if verbose or not bar or not console.is_terminal:
        yield _print_line if verbose else lambda event: None
        return
    columns = (*rich.Progress.get_default_columns(), rich.TextColumn("{task.fields[detail]}"))
    with rich.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("looking", total=None, detail="")
        embedded = 0

        def show(event: "EvalEvent") -> None:
            """Count kilobytes of files: they differ in size, and time goes with size."""
            nonlocal embedded
            if isinstance(event, Walked):
                progress.reset(task, description="ingesting", total=event.bytes // 1000 + event.files)
            elif isinstance(event, Embedded):
                embedded += event.texts
                progress.update(task, detail=f"{embedded} embedded")
            elif isinstance(event, FileDone):
                progress.advance(task, event.size // 1000 + 1)
            elif isinstance(event, Step):
                detail = f"{event.done}/{event.total}"
                progress.update(task, description=event.task, completed=event.done, total=event.total, detail=detail)

        yield show


def _print_line(event: "EvalEvent") -> None:
    from citewise.model.report import FileDone

    if isinstance(event, FileDone):
        chunks = f" ({event.chunks} chunks)" if event.outcome == "ingested" else ""
        sys.stderr.write(f"{event.outcome} {event.path}{chunks}\n")
        sys.stderr.flush()


def _show_report(report: "IngestReport", *, as_json: bool) -> None:
    from citewise.model.document import FileProblem

    problems = {"skipped": report.skipped, "warnings": report.warnings, "failed": report.failed}
    if as_json:
        listed = {
            name: [{"path": entry.path, "reason": entry.reason} for entry in entries]
            for name, entries in problems.items()
        }
        figures = {
            "seen": report.seen,
            "folders_left_out": report.folders_left_out,
            "masked": dict(report.masked),
            "seconds": round(report.seconds, 3),
            "chunks_per_second": round(report.chunks_per_second, 1),
        }
        print_json({**asdict(report), **figures, **listed})
        return
    show_figures(_figures(report))
    notes = [FileProblem(note.path, f"{note.difference}: {note.reason}") for note in report.access]
    for name, entries in {"access": notes, **problems}.items():
        lines = [f"{entry.path}: {entry.reason}" for entry in entries]
        if len(lines) > MAX_NAMED:  # there may be thousands
            reasons = Counter(entry.reason for entry in entries).most_common(MAX_NAMED)
            lines = [*(f"{count:>5} x {reason}" for reason, count in reasons), "--json lists every file"]
        show_list(name, lines, style="bold red" if name == "failed" else "bold")


def _figures(report: "IngestReport") -> Iterator[tuple[str, str]]:
    chunks = report.chunks
    yield (
        "files",
        f"{report.seen} seen: {report.ingested} ingested, {report.unchanged} unchanged, "
        f"{report.files_skipped} skipped, {len(report.failed)} failed; {report.removed} removed"
        + (f", {report.kept} gone and kept" if report.kept else ""),
    )
    if report.folders_left_out:
        yield "folders", f"{report.folders_left_out} left out, hidden or vendored (add them with --include)"
    yield (
        "chunks",
        f"{chunks.created} created, {chunks.updated} updated, {chunks.deleted} deleted, {chunks.unchanged} unchanged",
    )
    rate = f"{report.chunks_per_second:.1f} chunks/s"
    yield "embedded", f"{report.embedded} texts; {report.seconds:.1f} s in all, {rate}"
    if report.masked:
        yield "masked", ", ".join(f"{count} {kind}" for kind, count in sorted(report.masked.items()))
