"""`citewise access`, `status`, `doctor`, `reindex` and `compact`: call, then show."""

import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from citewise.cli.options import Session, app, library_options, scope_options
from citewise.cli.output import console, print_json, show_figures

if TYPE_CHECKING:
    from citewise.model.report import DocumentAccess, Status


@app.command("access")
@click.argument("document", metavar="DOCUMENT", help="Its path in the library, as a search shows it.")
@scope_options
def _access(session: Session, document: str) -> None:
    """Say who may read a document, and why."""
    found = session.library.access(document, session.scope)
    if session.as_json:
        print_json(asdict(found))
    else:
        show_figures(_access_figures(found))


def _access_figures(found: "DocumentAccess") -> Iterator[tuple[str, str]]:
    yield "document", found.document
    yield "readable by", ", ".join(found.access) or "nobody but the owner"
    yield "reason", found.reason or "the rule of its path"
    for rule in found.said:
        origin = {"default": "settings", "access": "--access", "by_path": "access_by_path", "inherited": "inherited"}[
            rule.origin
        ]
        part = f"{rule.part or 'all of the source'}{' (widened)' if rule.widens else ''}"
        yield origin, f"{part}: {rule.access}{f' ({rule.reason})' if rule.reason else ''}"
    if found.own:
        yield "its own access:", ", ".join(found.own)
    if found.aliases:
        yield "same file as", ", ".join(found.aliases)
    if found.file:
        yield "file", found.file
    if found.is_inherited and found.file:
        yield "to widen", f"citewise ingest {shlex.quote(found.file)} --access RULE --widen"
    if found.stale:
        yield "older than its file", found.stale


@app.command("status")
@library_options
def _status(session: Session) -> None:
    """Show what the library contains."""
    status = session.library.status()
    if session.as_json:
        described = {
            "library": status.library,
            "documents": status.documents,
            "chunks": status.chunks,
            "scopes": [asdict(scope) for scope in status.scopes],
            "embedding_model": {"name": status.embedding_model, "dimensions": status.dimensions},
            "chunker": status.chunker,
            "engines": dict(status.engines),
            "sizes": {"catalog_bytes": status.catalog_bytes, "index_bytes": status.index_bytes},
            "log_position": max((scope.log_position for scope in status.scopes), default=0),
            "last_ingest": status.last_ingest,
            "problems": list(status.problems),
        }
        print_json(described)
        return
    show_figures(_figures(status))
    for problem in status.problems:
        console().print(f"problem: {problem}", style="bold red")


def _figures(status: "Status") -> Iterator[tuple[str, str]]:
    yield "library", status.library
    yield "holds", f"{status.documents} documents, {status.chunks} chunks"
    yield "model", f"{status.embedding_model}, {status.dimensions} dimensions"
    yield "engines", ", ".join(f"{part}: {engine}" for part, engine in status.engines.items())
    yield "size", f"catalog {status.catalog_bytes / 1e6:.1f} MB, index {status.index_bytes / 1e6:.1f} MB"
    if last := status.last_ingest:
        yield (
            "last ingest",
            f"{last['finished_at']}: {last['seen']} files in {last['seconds']} s, {last['failed']} failed",
        )
    for scope in status.scopes:
        holds = f"{scope.documents} documents, {scope.chunks} chunks"
        positions = f"log at {scope.log_position}, index at {scope.index_position}"
        yield f"{scope.tenant}/{scope.project}", f"{holds}; {positions}"


@app.command("doctor")
@library_options
def _doctor(session: Session) -> int:
    """Check the installation and suggest fixes."""
    checks = session.library.doctor()
    is_ok = all(check.is_ok for check in checks)
    if session.as_json:
        described = [
            {
                **asdict(check),
                "ok": check.is_ok,
                "problem": None if check.is_ok else check.detail,
                "remedy": check.remedy or None,
            }
            for check in checks
        ]
        print_json({"checks": described, "ok": is_ok})
        return 0 if is_ok else 1
    shown = console()
    for check in checks:
        shown.print(f"{'ok' if check.is_ok else 'problem':7}", style="green" if check.is_ok else "bold red", end=" ")
        shown.print(check.name, style="bold", end=": ")
        shown.print(check.detail, soft_wrap=True)
        if check.remedy:
            shown.print(f"        what to do: {check.remedy}", soft_wrap=True)
    return 0 if is_ok else 1


@app.command("reindex")
@library_options
def _reindex(session: Session) -> None:
    """Rebuild the index.

    Embeds the stored text again if the settings name another model or other chunk sizes.
    """
    from citewise.model.report import Reindexed

    done, is_shown = Reindexed(), sys.stderr.isatty()
    for done in session.library.reindex_events():
        if is_shown:
            sys.stderr.write(f"\r{done.chunks} chunks ")
    sys.stderr.write("\n" * is_shown)
    if session.as_json:
        print_json({"reembedded": done.is_reembedded, "chunks": done.chunks, "embedded": done.embedded})
    else:
        what = "library rebuilt" if done.is_reembedded else "index rebuilt from the catalog"
        console().print(f"{what}: {done.chunks} chunks, {done.embedded} texts embedded")


@app.command("compact")
@library_options
def _compact(session: Session) -> int:
    """Reclaim space and erase deleted content from disk."""
    done = session.library.compact()
    if session.as_json:
        print_json(asdict(done))
    else:
        console().print(f"{done.bytes_before / 1e6:.1f} MB before, {done.bytes_after / 1e6:.1f} MB now")
        if not done.is_complete:
            console().print("another process was reading, so deleted content may still be on disk; run it again")
    return 0 if done.is_complete else 1
