"""`citewise status`, `doctor`, `reindex` and `compact`: call, then show."""

import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from citewise.api import Library
from citewise.cli.output import print_json
from citewise.model.report import Check, Reindexed, Status
from citewise.settings import Settings


def run_status(settings: Settings, *, as_json: bool) -> int:
    """Print what a library holds; problems do not fail the command, `doctor` does that."""
    found = Library(settings=settings).status()
    if as_json:
        print_json(_status_json(found))
    else:
        _show_status(found)
    return 0


def _status_json(found: Status) -> dict[str, object]:
    """The keys that programs rely on: some may be added, none renamed."""
    return {
        "library": found.library,
        "documents": found.documents,
        "chunks": found.chunks,
        "scopes": [asdict(scope) for scope in found.scopes],
        "embedding_model": {"name": found.embedding_model, "dimensions": found.dimensions},
        "chunker": found.chunker,
        "engines": dict(found.engines),
        "sizes": {"catalog_bytes": found.catalog_bytes, "index_bytes": found.index_bytes},
        "log_position": max((scope.log_position for scope in found.scopes), default=0),
        "last_ingest": found.last_ingest,
        "problems": list(found.problems),
    }


def _show_status(found: Status) -> None:
    console = Console(markup=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("library", found.library)
    table.add_row("holds", f"{found.documents} documents, {found.chunks} chunks")
    table.add_row("model", f"{found.embedding_model}, {found.dimensions} dimensions")
    table.add_row("engines", ", ".join(f"{part}: {engine}" for part, engine in found.engines.items()))
    table.add_row("size", f"catalog {found.catalog_bytes / 1e6:.1f} MB, index {found.index_bytes / 1e6:.1f} MB")
    if found.last_ingest:
        last = found.last_ingest
        table.add_row(
            "last ingest",
            f"{last['finished_at']}: {last['seen']} files in {last['seconds']} s, {last['failed']} failed",
        )
    for scope in found.scopes:
        table.add_row(
            f"{scope.tenant}/{scope.project}",
            f"{scope.documents} documents, {scope.chunks} chunks; "
            f"log at {scope.log_position}, index at {scope.index_position}",
        )
    console.print(table, highlight=False)
    for problem in found.problems:
        console.print(f"problem: {problem}", style="bold red", highlight=False)


def run_doctor(settings: Settings, *, as_json: bool) -> int:
    """Return 0 if every check passes, else 1."""
    checks = Library(settings=settings).doctor()
    if as_json:
        print_json({"checks": [_check_json(check) for check in checks], "ok": all(check.is_ok for check in checks)})
    else:
        _show_checks(checks)
    return 0 if all(check.is_ok for check in checks) else 1


def _check_json(check: Check) -> dict[str, object]:
    return {
        "name": check.name,
        "ok": check.is_ok,
        "detail": check.detail,
        "problem": None if check.is_ok else check.detail,
        "remedy": check.remedy or None,
    }


def _show_checks(checks: tuple[Check, ...]) -> None:
    console = Console()
    for check in checks:
        mark = "[green]ok[/green]     " if check.is_ok else "[bold red]problem[/bold red]"
        console.print(f"{mark} [bold]{check.name}[/bold]: ", end="")
        console.print(check.detail, markup=False, highlight=False, soft_wrap=True)
        if check.remedy:
            console.print(f"        what to do: {check.remedy}", markup=False, highlight=False, soft_wrap=True)


def run_reindex(settings: Settings, *, as_json: bool) -> int:
    """Rebuild the indexes, or re-embed where the settings ask for it."""
    done, is_shown = Reindexed(), sys.stderr.isatty()
    for done in Library(settings=settings).reindex_events():
        if is_shown:
            sys.stderr.write(f"\r{done.chunks} chunks ")
    sys.stderr.write("\n" * is_shown)
    if as_json:
        print_json({"reembedded": done.is_reembedded, "chunks": done.chunks, "embedded": done.embedded})
    else:
        what = "library rebuilt" if done.is_reembedded else "index rebuilt from the catalog"
        Console().print(f"{what}: {done.chunks} chunks, {done.embedded} texts embedded", highlight=False)
    return 0


def run_compact(settings: Settings, *, as_json: bool) -> int:
    """Reclaim space; returns 1 if another process kept it from finishing."""
    done = Library(settings=settings).compact()
    if as_json:
        print_json(asdict(done))
    else:
        console = Console(highlight=False)
        console.print(f"{done.bytes_before / 1e6:.1f} MB before, {done.bytes_after / 1e6:.1f} MB now")
        if not done.is_complete:
            console.print("another process was reading, so deleted content may still be on disk; run it again")
    return 0 if done.is_complete else 1
