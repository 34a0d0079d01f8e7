"""`citewise eval` and its subcommands: names and flags. The work is imported when one runs, so that help is quick."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from citewise.cli.flags import (
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
SET_HELP = (
    "A BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv), a question file, or a folder of question files."
)


class Unnamed(typer.Context):
    """The context of a command whose name nobody types, and nobody is shown."""

    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent else super().command_path


class SetCommand(TyperCommand):
    """What `eval SET` runs."""

    context_class = Unnamed

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] SET")


class SetOrCommand(TyperGroup):
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
    cls=SetOrCommand,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure a library with questions whose answers are known: ranking, citations, refusals, speed.\n\n"
    "The corpus of a BEIR folder is ingested first, if it is not there yet. A set that is named like a command is "
    "written ./compare.",
)

SetArgument = Annotated[str, typer.Argument(metavar="SET", help=SET_HELP)]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Write a page with plots, in one file.")
]


@evaluation.command(DEFAULT, hidden=True, cls=SetCommand)
def run(
    judged: SetArgument,
    library: LibraryOption = None,
    tenant: TenantOption = "default",
    project: ProjectOption = "default",
    user: UserOption = None,
    group: GroupOption = None,
    report: ReportOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN.json", help="Keep the run, for `eval compare`.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="METRIC=VALUE",
            help="Exit with 1 if METRIC is lower, such as ndcg@10=0.7. Repeatable.",
        ),
    ] = None,
    no_answers: Annotated[bool, typer.Option("--no-answers", help="Search only; ask for no answers.")] = False,
    worst: Annotated[int, typer.Option("--worst", metavar="N", min=0, help="Show the N poorest questions.")] = 10,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask every question of a set and say what came of it."""
    from citewise.cli.eval import EvalOptions, run_eval
    from citewise.cli.options import named_path, principal_of
    from citewise.model.access import Scope

    options = EvalOptions(
        Scope(tenant, project),
        answers=not no_answers,
        worst=worst,
        report=report,
        out=out,
        fail_under=tuple(fail_under or ()),
        as_json=as_json,
        principal=principal_of(user, group or ()),
    )
    raise typer.Exit(run_eval(settings_of(library, config), named_path(judged), options))


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
    """Say what changed between two runs, and whether chance alone would do as much."""
    from citewise.cli.eval_compare import run_compare

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
    """Leave out each part of the search in turn and say what it is worth."""
    from citewise.cli.eval_ablate import AblateOptions, run_ablate
    from citewise.cli.options import named_path, principal_of
    from citewise.model.access import Scope

    options = AblateOptions(Scope(tenant, project), report, principal_of(user, group or ()), as_json)
    raise typer.Exit(run_ablate(settings_of(library, config), named_path(judged), options))
