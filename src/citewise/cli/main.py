"""The command line: names, flags, exit codes. Each command's work is imported when it runs, so that help is quick."""

import errno
import io
import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from citewise.cli.eval_commands import evaluation
from citewise.cli.flags import (
    ConfigOption,
    CursorOption,
    DemoLibraryOption,
    ExplainOption,
    FilterOption,
    GraphOption,
    GroupOption,
    JsonOption,
    LibraryOption,
    NoRerankOption,
    ProjectOption,
    SinceOption,
    TenantOption,
    TopKOption,
    UserOption,
    settings_of,
)

app = typer.Typer(
    name="citewise",
    help="Ask your own documents and get answers that point at their sources.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich would double the time it takes to show
)


@app.command()
def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Folders or files.")],
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    access: Annotated[
        list[str] | None,
        typer.Option(
            "--access",
            help="Who may read: public, project, owner:USER, group:GROUP; owner alone is --user, "
            "group alone is each --group. Repeatable.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the source; its documents' paths start with it ('.': the first)."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            metavar="GLOB",
            help="Ingest only files that match; name a hidden or vendored folder to have it. Repeatable.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave out, and remove, what matches. Repeatable."),
    ] = None,
    max_file_mb: Annotated[
        float | None, typer.Option("--max-file-mb", min=0.001, help="Skip larger files (default 10).")
    ] = None,
    corpus_type: Annotated[
        str | None, typer.Option("--corpus-type", help="Such as DOC_TEXTBOOK; the path decides otherwise.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on, and ingest what changes.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="A line for each file, once it is safe on disk.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a library up to date with folders or files; the library is made if there is none."""
    from citewise.cli.ingest import run_ingest
    from citewise.cli.options import named_path, spelled_out, with_ingest_flags
    from citewise.model.access import Scope

    settings = with_ingest_flags(settings_of(library, config), include, exclude, max_file_mb)
    code = run_ingest(
        settings,
        [named_path(path) for path in paths],
        scope=Scope(tenant, project),
        access=spelled_out(access or (), user, group or ()),
        name=name,
        corpus_type=corpus_type,
        watch=watch,
        verbose=verbose,
        as_json=as_json,
    )
    raise typer.Exit(code)


@app.command()
def search(
    question: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    top_k: TopKOption = None,
    filters: FilterOption = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="N hits a page, at most 20.")] = None,
    cursor: CursorOption = None,
    explain: ExplainOption = False,
    no_rerank: NoRerankOption = False,
    expand_graph: GraphOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find passages: three rankings, fused, each hit with its place and scores."""
    from citewise.cli.options import caller_of, query_options
    from citewise.cli.search import PageFlags, run_search

    caller = caller_of(tenant, project, user, group)
    options = query_options(filters, top_k, rerank=not no_rerank, expand_graph=expand_graph)
    settings, page = settings_of(library, config), PageFlags(limit, cursor)
    raise typer.Exit(run_search(settings, caller, question, options, page, explain=explain, as_json=as_json))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to answer.")],
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    top_k: TopKOption = None,
    filters: FilterOption = None,
    selection_file: Annotated[
        str | None,
        typer.Option("--selection-file", metavar="F", help="Answer from this text alone; - is standard input."),
    ] = None,
    source_document: Annotated[
        str | None, typer.Option("--source-document", metavar="D", help="Where the selection stands.")
    ] = None,
    source_section: Annotated[
        str | None, typer.Option("--source-section", metavar="S", help="And under which heading.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="At most N sources.")] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="N", help="Tokens that the sources may take together.")
    ] = None,
    compress: Annotated[
        bool | None, typer.Option("--compress/--no-compress", help="Shorten sources to what speaks of the question.")
    ] = None,
    explain: ExplainOption = False,
    no_rerank: NoRerankOption = False,
    expand_graph: GraphOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the library, every statement with its source; or from a selection alone."""
    from citewise.cli.ask import run_ask, selection_of
    from citewise.cli.options import caller_of, checked_limit, fewest, query_options

    caller = caller_of(tenant, project, user, group)
    sources = fewest(top_k, checked_limit(limit))
    options = query_options(filters, sources, rerank=not no_rerank, expand_graph=expand_graph)
    options["budget_tokens"] = budget
    options["compress"] = compress
    selection = selection_of(selection_file, source_document, source_section)
    settings = settings_of(library, config)
    raise typer.Exit(run_ask(settings, caller, question, selection, options, explain=explain, as_json=as_json))


@app.command()
def log(
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most N (1 to 1000).")] = 20,
    since: SinceOption = "30d",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """What was asked, newest first: your own questions; for the library's owner, all of a project's."""
    from citewise.cli.insights import run_log, since_of
    from citewise.cli.options import caller_of

    caller, settings = caller_of(tenant, project, user, group), settings_of(library, config)
    raise typer.Exit(run_log(settings, caller, since=since_of(since), limit=limit, as_json=as_json))


@app.command()
def stats(
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    since: SinceOption = "30d",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.html", help="Draw it, as one page that needs no network.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """What the log tells: volume, latency, cache hits, questions without a good answer, documents most shown."""
    from citewise.cli.insights import run_stats, since_of
    from citewise.cli.options import caller_of

    caller, settings = caller_of(tenant, project, user, group), settings_of(library, config)
    raise typer.Exit(run_stats(settings, caller, since=since_of(since), plot=plot, as_json=as_json))


app.add_typer(evaluation, name="eval")


@app.command()
def status(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """What a library holds and whether all is well with it."""
    from citewise.cli.maintenance import run_status

    raise typer.Exit(run_status(settings_of(library, config), as_json=as_json))


@app.command()
def doctor(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check model, catalog, index and disk; say what to do about problems."""
    from citewise.cli.maintenance import run_doctor

    raise typer.Exit(run_doctor(settings_of(library, config), as_json=as_json))


@app.command()
def reindex(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Rebuild the index from the catalog; re-embed where the settings ask for other vectors."""
    from citewise.cli.maintenance import run_reindex

    raise typer.Exit(run_reindex(settings_of(library, config), as_json=as_json))


@app.command()
def compact(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Give back the room of what was deleted or is no longer wanted: afterward no file of the library holds it."""
    from citewise.cli.maintenance import run_compact

    raise typer.Exit(run_compact(settings_of(library, config), as_json=as_json))


@app.command()
def demo(library: DemoLibraryOption = Path(".demo"), config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Ingest the sample handbook that ships with citewise, and say what to try next."""
    from citewise.cli.demo import run_demo

    raise typer.Exit(run_demo(settings_of(library, config), as_json=as_json))


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"citewise {installed('citewise')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; every foreseen error becomes one line and an exit code."""
    from citewise.errors import CitewiseError

    logging.basicConfig(level=logging.WARNING, format="citewise: %(message)s", stream=sys.stderr)
    _make_writable()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except CitewiseError as error:
        _stop(f"citewise: {error}", error.exit_code)
    except KeyboardInterrupt:
        _stop("citewise: stopped; what was ingested is safe, run the command again to go on", 130)
    except OSError as error:
        if error.filename is not None:  # of a file or folder that was named; what is printed goes to no name
            _stop(f"citewise: {_unusable(error)}", 4)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more can be written there
        if not isinstance(error, BrokenPipeError):
            _stop(f"citewise: cannot write the output: {error.strerror}", 1)
        sys.exit(1)


def _unusable(error: OSError) -> str:
    """Which file stopped the command, and what its user can do about it."""
    advice = {
        errno.EACCES: "give yourself the right to it (chmod), or run as somebody who has it",
        errno.ENOENT: "check the path, or make it",
        errno.ENAMETOOLONG: "check the path: no file system has names that long",
        errno.ENOSPC: "make room on the disk",
    }
    path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    return f"cannot use {path}: {error.strerror}: {advice.get(error.errno or 0, 'check the path and its disk')}"


def _make_writable() -> None:
    """Output that cannot be shown here shall not end a command: closed streams swallow it, odd encodings get a "?"."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  for as long as the process lives
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _stop(message: str, code: int) -> None:
    from citewise.cli.output import printable

    sys.stderr.write(f"{printable(message)}\n")
    sys.exit(code)
