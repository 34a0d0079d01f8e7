"""The flags of `citewise eval` and of its subcommands, whose work is in eval.py: importing that takes its time."""

from typing import Any

import click

from citewise.cli.options import FILE, GIVEN_PATH, app, reader_options


class _SetOrCommand(click.Group):
    """A group that is a command too: `eval SET` evaluates a set, unless its name is that of a subcommand."""

    allow_extra_args, allow_interspersed_args = False, True

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        command = self.commands.get(args[0]) if args else None
        if command is None:
            return super().make_context(info_name, args, parent, **extra)
        return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] SET")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")


_COUNT = click.IntRange(min=0)
_set_argument = click.argument(
    "judged",
    metavar="SET",
    type=GIVEN_PATH,
    help="A BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv), a question file, or a folder of them.",
)
_report_option = click.option("--report", metavar="FILE.html", type=FILE, help="Write an HTML report, in one file.")


@app.group("eval", cls=_SetOrCommand, invoke_without_command=True, no_args_is_help=True)
@_set_argument
@reader_options
@_report_option
@click.option("--out", metavar="RUN.json", type=FILE, help="Write the run to a file, for `eval compare`.")
@click.option(
    "--fail-under",
    metavar="METRIC=VALUE",
    multiple=True,
    help="Exit with 1 if METRIC is lower, such as ndcg@10=0.7. Repeatable.",
)
@click.option("--no-answers", is_flag=True, help="Search only; skip answers.")
@click.option("--worst", metavar="N", type=_COUNT, default=10, show_default=True, help="Show the N worst questions.")
def _evaluate(**flags: Any) -> int:
    """Evaluate the library on judged questions.

    Measures ranking, citations, refusals and latency. The corpus of a BEIR folder is ingested first if needed. A set
    with the name of a command is written ./compare.
    """
    from citewise.cli.eval import run_eval

    return run_eval(**flags)


@_evaluate.command("compare")
@click.argument("before", metavar="A", type=FILE, help="A run, written with --out or --json.")
@click.argument("after", metavar="B", type=FILE, help="Another run of the same questions.")
@click.option(
    "--worst", metavar="N", type=_COUNT, default=10, show_default=True, help="Show the N questions that changed most."
)
@_report_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
def _compare(**flags: Any) -> None:
    """Compare two runs, with a significance test."""
    from citewise.cli.eval import run_compare

    run_compare(**flags)


@_evaluate.command("ablate")
@_set_argument
@reader_options
@_report_option
def _ablate(**flags: Any) -> None:
    """Measure what each part of the search is worth by leaving it out."""
    from citewise.cli.eval import run_ablate

    run_ablate(**flags)
