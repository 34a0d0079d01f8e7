"""`citewise status`, `doctor` and `reindex`: call, then show."""

import gc
import json
import sys
from collections.abc import Callable
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from citewise.ingest.reembed import Reembedded
from citewise.model.report import Check, Status
from citewise.settings import Settings
from citewise.wiring.care import compact, doctor, reindex, status


def run_status(settings: Settings, *, as_json: bool) -> int:
    """Tell how things stand; `doctor` is the one that fails on problems."""
    found = status(settings)
    if as_json:
        _print_json(status_json(found))
    else:
        _show_status(found)
    return 0


def status_json(found: Status) -> dict[str, object]:
    """The shape that programs rely on (SPEC J)."""
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
        "last_ingest": asdict(found.last_ingest) if found.last_ingest else None,
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
            f"{last.finished_at}: {last.seen} files in {last.seconds} s, {last.failed} failed",
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
    """0 if every check is fine, 1 otherwise."""
    checks = doctor(settings)
    if as_json:
        _print_json({"checks": [_check_json(check) for check in checks], "ok": all(check.is_ok for check in checks)})
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
    """Rebuild, or re-embed where the settings ask for it."""
    gc.enable()  # a large library takes a while
    made = reindex(settings, on_progress=_counted("chunks or documents"))
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    embedded = made.embedded if isinstance(made, Reembedded) else 0
    chunks = made.chunks.total if isinstance(made, Reembedded) else made
    if as_json:
        _print_json({"reembedded": isinstance(made, Reembedded), "chunks": chunks, "embedded": embedded})
    else:
        how = "library made anew" if isinstance(made, Reembedded) else "index rebuilt from the catalog"
        Console().print(f"{how}: {chunks} chunks, {embedded} texts embedded", highlight=False)
    return 0


def run_compact(settings: Settings, *, as_json: bool) -> int:
    """Give room back; 1 if another process kept it from being done whole."""
    gc.enable()  # a large library takes a while
    made = compact(settings, on_progress=_counted("chunks"))
    if as_json:
        _print_json(asdict(made))
    else:
        console = Console(highlight=False)
        console.print(f"{made.bytes_before / 1e6:.1f} MB before, {made.bytes_after / 1e6:.1f} MB now")
        if not made.is_complete:
            console.print("another process was reading: what was deleted may still lie in the library; run it again")
    return 0 if made.is_complete else 1


def _counted(what: str) -> Callable[[int], None]:
    """Says on a terminal how much is done."""
    done = 0

    def on_progress(more: int) -> None:
        nonlocal done
        done += more
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done} {what} done ")

    return on_progress


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
