"""`citewise eval` and its subcommands: names and flags. The work is imported when it runs, so that help is fast."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from citewise.cli.options import (
    ConfigOption,
    GroupOption,
    JsonOption,
    LibraryOption,
    ProjectOption,
    TenantOption,
    UserOption,
    settings_of,
)

DEFAULT = "run"
SET_HELP = "A BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv), a question file, or a folder of them."


class _Unnamed(typer.Context):
    """The context of a command that is run without its name."""

    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent else super().command_path


class _SetCommand(TyperCommand):
    """The command that `eval SET` runs."""

    context_class = _Unnamed

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] SET")


class _SetOrCommand(TyperGroup):
    """A group whose first word may be a set instead of a command: `eval SET` runs it.

    Contexts and formatters are not typed: where their types live depends on the version of typer.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] SET")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.commands[DEFAULT].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


evaluation = typer.Typer(
    cls=_SetOrCommand,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Evaluate the library on judged questions.\n\n"
    "Measures ranking, citations, refusals and latency. The corpus of a BEIR folder is ingested first if needed. "
    "A set with the name of a command is written ./compare.",
)

SetArgument = Annotated[str, typer.Argument(metavar="SET", help=SET_HELP)]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Write an HTML report, in one file.")
]


@evaluation.command(DEFAULT, hidden=True, cls=_SetCommand)
def run(
    judged: SetArgument,
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    report: ReportOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN.json", help="Write the run to a file, for `eval compare`.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="METRIC=VALUE",
            help="Exit with 1 if METRIC is lower, such as ndcg@10=0.7. Repeatable.",
        ),
    ] = None,
    no_answers: Annotated[bool, typer.Option("--no-answers", help="Search only; skip answers.")] = False,
    worst: Annotated[int, typer.Option("--worst", metavar="N", min=0, help="Show the N worst questions.")] = 10,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask every question of a set and measure the results."""
    from citewise.cli.eval import EvalOptions, run_eval
    from citewise.cli.options import caller_of, named_path

    caller = caller_of(tenant, project, user, group)
    options = EvalOptions(not no_answers, worst, report, out, tuple(fail_under or ()), as_json)
    raise typer.Exit(run_eval(settings_of(library, config), named_path(judged), caller, options))


@evaluation.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="A run, written with --out or --json.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another run of the same questions.")],
    worst: Annotated[
        int, typer.Option("--worst", metavar="N", min=0, help="Show the N questions that changed most.")
    ] = 10,
    report: ReportOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs, with a significance test."""
    from citewise.cli.eval import run_compare

    raise typer.Exit(run_compare(before, after, worst=worst, report=report, as_json=as_json))


@evaluation.command()
def ablate(
    judged: SetArgument,
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    report: ReportOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what each part of the search is worth by leaving it out."""
    from citewise.cli.eval import run_ablate
    from citewise.cli.options import caller_of, named_path

    caller, settings = caller_of(tenant, project, user, group), settings_of(library, config)
    raise typer.Exit(run_ablate(settings, named_path(judged), caller, report=report, as_json=as_json))
