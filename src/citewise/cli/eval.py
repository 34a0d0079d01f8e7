"""`citewise eval`, `eval compare` and `eval ablate`: evaluate or compare, then write and show the result."""

import difflib
import logging
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewise.cli.ingest import shown_results
from citewise.cli.options import FILE, GIVEN_PATH, Session, app, reader_options
from citewise.cli.output import json_line, print_json, refuse_unwritable, write_file
from citewise.errors import BadRequest

if TYPE_CHECKING:
    from citewise.evaluation.compare import Ablation, Comparison, Difference
    from citewise.evaluation.runs import Run

_log = logging.getLogger(__name__)

NEAR = 0.75  # similarity from which an unknown metric is a typing error; 0: every name is; 1: none is


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
def _evaluate(
    session: Session,
    judged: Path,
    *,
    report: Path | None,
    out: Path | None,
    fail_under: Sequence[str],
    no_answers: bool,
    worst: int,
) -> int:
    """Evaluate the library on judged questions.

    Measures ranking, answers, citations, refusals and time. The corpus of a BEIR folder is ingested first if needed. A
    set with the name of a command is written ./compare.
    """
    from citewise.cli.eval_results import show_run
    from citewise.evaluation.pipeline import evaluate
    from citewise.evaluation.runs import Run

    thresholds = dict(_threshold_of(text, no_answers=no_answers) for text in fail_under)
    refuse_unwritable(out, report, read=_files_of(judged))
    scope, principal = session.scope, session.principal
    events = evaluate(session.settings, judged, scope=scope, principal=principal, answers=not no_answers)
    (run,) = shown_results(events, Run, bar=not session.as_json)
    if out is not None:
        write_file(out, json_line(run.as_json()))
    _write_report(report, run)
    if session.as_json:
        print_json(run.as_json())
    else:
        show_run(run, worst=worst)
    problems = [problem for metric, value in thresholds.items() if (problem := _missed(run, metric, value))]
    for problem in problems:
        sys.stderr.write(f"citewise: {problem}\n")
    return 1 if problems else 0


@_evaluate.command("compare")
@click.argument("before", metavar="A", type=FILE, help="A run, written with --out or --json.")
@click.argument("after", metavar="B", type=FILE, help="Another run of the same questions.")
@click.option(
    "--worst", metavar="N", type=_COUNT, default=10, show_default=True, help="Show the N questions that changed most."
)
@_report_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
def _compare(before: Path, after: Path, *, worst: int, report: Path | None, as_json: bool) -> None:
    """Compare two runs, with a significance test."""
    from citewise.cli.eval_results import show_comparison
    from citewise.evaluation.compare import Comparison
    from citewise.evaluation.runs import Run

    refuse_unwritable(report, read=(before, after))
    compared = Comparison(Run.read(before), Run.read(after))
    _check_comparable(compared)
    differences = compared.differences()
    _write_report(report, compared.after, differences=differences)
    if as_json:
        files = {"before": str(before), "after": str(after)}
        print_json({"files": files, **_comparison_json(compared, differences, worst)})
    else:
        show_comparison((str(before), str(after)), compared, differences, worst=worst)


@_evaluate.command("ablate")
@_set_argument
@reader_options
@_report_option
def _ablate(session: Session, judged: Path, *, report: Path | None) -> None:
    """Measure what each part of the search is worth by leaving it out."""
    from citewise.cli.eval_results import show_ablations
    from citewise.evaluation.compare import Ablation
    from citewise.evaluation.pipeline import ablate

    refuse_unwritable(report, read=_files_of(judged))
    events = ablate(session.settings, judged, scope=session.scope, principal=session.principal)
    rows = list(shown_results(events, Ablation, bar=not session.as_json))
    _write_report(report, rows[0].run, ablations=rows)
    if session.as_json:
        print_json(_ablations_json(rows))
    else:
        show_ablations(rows)


def _write_report(
    file: Path | None, run: "Run", *, differences: "Sequence[Difference]" = (), ablations: "Sequence[Ablation]" = ()
) -> None:
    if file is not None:
        from citewise.cli.html import report_html

        write_file(file, report_html(run, differences=differences, ablations=ablations))


def _files_of(judged: Path) -> list[Path]:
    return [judged, *judged.glob("*"), *judged.glob("qrels/*")] if os.path.isdir(judged) else [judged]


def _threshold_of(text: str, *, no_answers: bool) -> tuple[str, float]:
    """`METRIC=VALUE`, checked before anything is asked."""
    from citewise.evaluation.metrics import ANSWER_METRICS
    from citewise.evaluation.runs import METRICS

    metric, _, value = text.partition("=")
    metric = metric.strip().lower()
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadRequest(f"--fail-under {text}: write METRIC=VALUE, such as ndcg@10=0.7")
    if metric not in METRICS:
        near = difflib.get_close_matches(metric, METRICS, n=1, cutoff=NEAR)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(METRICS)}"
        raise BadRequest(f"--fail-under {text}: there is no metric {metric!r}; {hint}")
    if metric in ANSWER_METRICS and no_answers:
        raise BadRequest(f"--fail-under {metric} needs answers: leave out --no-answers")
    return metric, number


def _missed(run: "Run", metric: str, threshold: float) -> str | None:
    """How the run misses a threshold: a minimum, or the maximum of what is better when lower."""
    from citewise.evaluation.runs import SUMS

    value = run.metrics.get(metric)
    if value is None:
        return f"{metric} was not measured: no question of the set has it"
    if metric in SUMS:
        return f"{metric} is {value:g}, above {threshold:g}" if value > threshold else None
    hint = " (it is a share: never above 1)" if threshold > 1 else ""
    # Runs are written with six decimals: a threshold copied from one is reached by it.
    return f"{metric} is {value:.4f}, under {threshold:g}{hint}" if round(value, 6) < threshold else None


def _check_comparable(compared: "Comparison") -> None:
    before, after, common = compared.before, compared.after, len(compared.pairs)
    if not common:
        raise BadRequest(f"the runs of {before.set} and {after.set} have no question in common: nothing to compare")
    if before == after:
        _log.warning("both files are the same run: nothing changed")
    if before.set != after.set:
        _log.warning("the runs are of different sets, %r and %r", before.set, after.set)
    if before.unit != after.unit:
        _log.warning("one run judges each %s, the other each %s", before.unit, after.unit)
    if common < max(before.queries, after.queries):
        _log.warning("only the questions of both are compared (%d)", common)


def _comparison_json(compared: "Comparison", differences: "Sequence[Difference]", worst: int) -> dict[str, object]:
    before, after, metric = compared.before, compared.after, compared.before.primary_metric
    changed = compared.changed_most(metric)[:worst] if metric else ()
    return {
        "before": {"set": before.set, "queries": before.queries, "commit": before.commit},
        "after": {"set": after.set, "queries": after.queries, "commit": after.commit},
        "common_questions": len(compared.pairs),
        "settings_that_differ": {
            name: {"before": first, "after": second} for name, (first, second) in compared.settings.items()
        },
        "only_before": [name for name in before.metrics if name not in after.metrics],
        "only_after": [name for name in after.metrics if name not in before.metrics],
        "differences": [asdict(difference) for difference in differences],
        "changed_most": [
            {"id": question.id, "question": question.question, "metric": metric, "before": first, "after": second}
            for question, first, second in changed
        ],
    }


def _ablations_json(rows: "Sequence[Ablation]") -> dict[str, object]:
    run = rows[0].run
    ablations = [
        {
            "name": row.name,
            "metrics": row.run.metrics,
            "latency_ms": row.run.latency_ms,
            "against_everything": [asdict(difference) for difference in row.differences],
        }
        for row in rows
    ]
    about = {"set": run.set, "queries": run.queries, "settings": run.settings, "commit": run.commit}
    return {**about, "ablations": ablations}
