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
from citewise.cli.options import (
    AccessOption,
    ConfigOption,
    CursorOption,
    DemoLibraryOption,
    ExcludeOption,
    ExplainOption,
    FilterOption,
    GraphOption,
    GroupOption,
    IncludeOption,
    JsonOption,
    LibraryOption,
    NameOption,
    NoRerankOption,
    ProjectOption,
    SinceOption,
    TenantOption,
    TopKOption,
    UserOption,
    caller_of,
    fewest,
    named_path,
    named_readers,
    query_options,
    settings_of,
    with_ingest_flags,
)

app = typer.Typer(
    name="citewise",
    help="Ask your own documents and get answers that cite their sources.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich would double the time it takes to show
)


@app.command("ingest")
def _ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Folders or files.")],
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    access: AccessOption = None,
    name: NameOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    max_file_mb: Annotated[
        float | None, typer.Option("--max-file-mb", min=0.001, help="Skip larger files (default 10).")
    ] = None,
    corpus_type: Annotated[
        str | None, typer.Option("--corpus-type", help="Such as DOC_TEXTBOOK; by default decided by the path.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep running and ingest files that change.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line for each file once it is stored.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ingest folders or files.

    Creates the library if it does not exist. Only new and changed documents are embedded; deleted ones are removed.
    """
    from citewise.cli.ingest import run_ingest
    from citewise.model.access import Scope

    settings = with_ingest_flags(settings_of(library, config), include, exclude, max_file_mb)
    code = run_ingest(
        settings,
        [named_path(path) for path in paths],
        scope=Scope(tenant, project),
        access=named_readers(access or (), user, group or ()),
        name=name,
        corpus_type=corpus_type,
        watch=watch,
        verbose=verbose,
        as_json=as_json,
    )
    raise typer.Exit(code)


@app.command("search")
def _search(
    question: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    top_k: TopKOption = None,
    filters: FilterOption = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Hits per page, at most 20.")] = None,
    cursor: CursorOption = None,
    explain: ExplainOption = False,
    no_rerank: NoRerankOption = False,
    expand_graph: GraphOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find passages.

    Each hit has its path, lines, URL and score; --explain shows every ranking and stage.
    """
    from citewise.cli.search import run_search

    caller = caller_of(tenant, project, user, group)
    options = query_options(filters, top_k, rerank=not no_rerank, expand_graph=expand_graph)
    settings = settings_of(library, config)
    code = run_search(settings, caller, question, options, limit=limit, cursor=cursor, explain=explain, as_json=as_json)
    raise typer.Exit(code)


@app.command("ask")
def _ask(
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
        str | None, typer.Option("--source-document", metavar="D", help="Document the selection comes from.")
    ] = None,
    source_section: Annotated[
        str | None, typer.Option("--source-section", metavar="S", help="Section heading it appears under.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="At most N sources.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", metavar="N", help="Token budget for all sources.")] = None,
    compress: Annotated[
        bool | None, typer.Option("--compress/--no-compress", help="Keep only the sentences relevant to the question.")
    ] = None,
    explain: ExplainOption = False,
    no_rerank: NoRerankOption = False,
    expand_graph: GraphOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question, with citations.

    The answer comes from the library, or with --selection-file from that text alone.
    """
    from citewise.cli.ask import run_ask, selection_of

    caller = caller_of(tenant, project, user, group)
    options = query_options(filters, fewest(top_k, limit), rerank=not no_rerank, expand_graph=expand_graph)
    options["budget_tokens"] = budget
    options["compress"] = compress
    selection = selection_of(selection_file, source_document, source_section)
    settings = settings_of(library, config)
    raise typer.Exit(run_ask(settings, caller, question, selection, options, explain=explain, as_json=as_json))


@app.command("log")
def _log(
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
    """List past questions, newest first.

    With --user or --group, the questions of that principal; without, all questions of the project.
    """
    from citewise.cli.insights import run_log, since_of

    caller, settings = caller_of(tenant, project, user, group), settings_of(library, config)
    raise typer.Exit(run_log(settings, caller, since=since_of(since), limit=limit, as_json=as_json))


@app.command("stats")
def _stats(
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    since: SinceOption = "30d",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.html", help="Write an HTML page with plots.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Summarize the query log.

    Shows volume, latency, cache hits, questions without a good answer, and the documents shown most.
    """
    from citewise.cli.insights import run_stats, since_of

    caller, settings = caller_of(tenant, project, user, group), settings_of(library, config)
    raise typer.Exit(run_stats(settings, caller, since=since_of(since), plot=plot, as_json=as_json))


app.add_typer(evaluation, name="eval")


@app.command("status")
def _status(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show what the library contains."""
    from citewise.cli.maintenance import run_status

    raise typer.Exit(run_status(settings_of(library, config), as_json=as_json))


@app.command("doctor")
def _doctor(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check the installation and suggest fixes."""
    from citewise.cli.maintenance import run_doctor

    raise typer.Exit(run_doctor(settings_of(library, config), as_json=as_json))


@app.command("reindex")
def _reindex(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Rebuild the index.

    Embeds the stored text again if the settings name another model or other chunk sizes.
    """
    from citewise.cli.maintenance import run_reindex

    raise typer.Exit(run_reindex(settings_of(library, config), as_json=as_json))


@app.command("compact")
def _compact(library: LibraryOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Reclaim space and erase deleted content from disk."""
    from citewise.cli.maintenance import run_compact

    raise typer.Exit(run_compact(settings_of(library, config), as_json=as_json))


@app.command("demo")
def _demo(library: DemoLibraryOption = Path(".demo"), config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Ingest the sample handbook."""
    from citewise.cli.ingest import run_demo

    raise typer.Exit(run_demo(settings_of(library, config), as_json=as_json))


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
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
        _stop("citewise: stopped; ingested documents are stored, and the same command continues", 130)
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
