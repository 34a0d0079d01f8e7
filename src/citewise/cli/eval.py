"""What `citewise eval`, `eval ablate` and `eval compare` do: evaluate, then write and show the result."""

import difflib
import json
import logging
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from citewise.cli.eval_tables import show_ablations, show_comparison, show_run
from citewise.cli.options import Caller
from citewise.cli.output import print_json, refuse_unwritable, write_file
from citewise.cli.progress import shown_progress
from citewise.errors import BadRequest
from citewise.evaluation.answers import ANSWER_METRICS
from citewise.evaluation.compare import (
    Difference,
    changed_most,
    changed_settings,
    common_questions,
    differences,
    primary_metric,
)
from citewise.evaluation.pipeline import Ablated, EvalEvent, Evaluated, Step, ablate, evaluate
from citewise.evaluation.run_files import ablations_json, difference_json, read_run, run_json
from citewise.evaluation.runs import METRICS, Run, Threshold, counted
from citewise.settings import Settings

_log = logging.getLogger(__name__)

NEAR = 0.75  # similarity from which an unknown metric is a typing error; 0: every name is; 1: none is


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """The flags of `citewise eval`."""

    answers: bool
    worst: int
    report: Path | None
    out: Path | None
    fail_under: tuple[str, ...]
    as_json: bool


def run_eval(settings: Settings, judged: Path, caller: Caller, options: EvalOptions) -> int:
    """Evaluate a set; the exit code is 1 if a threshold is not reached."""
    thresholds = [threshold_of(text) for text in options.fail_under]
    for threshold in thresholds:
        if threshold.metric in ANSWER_METRICS and not options.answers:
            raise BadRequest(f"--fail-under {threshold.metric} needs answers: leave out --no-answers")
    refuse_unwritable(options.out, options.report, read=files_of(judged))
    events = evaluate(settings, judged, scope=caller.scope, principal=caller.principal, answers=options.answers)
    last = watched(events, bar=not options.as_json)
    assert isinstance(last, Evaluated)
    if options.out is not None:
        write_file(options.out, json.dumps(run_json(last.run), ensure_ascii=False) + "\n")
    if options.report is not None:
        from citewise.cli.eval_report import report_html

        write_file(options.report, report_html(last.run))
    if options.as_json:
        print_json(run_json(last.run))
    else:
        show_run(last.run, worst=options.worst)
    problems = [problem for threshold in thresholds if (problem := threshold.problem(last.run)) is not None]
    for problem in problems:
        sys.stderr.write(f"citewise: {problem}\n")
    return 1 if problems else 0


def run_ablate(settings: Settings, judged: Path, caller: Caller, *, report: Path | None, as_json: bool) -> int:
    """Show a row for each part of the search that was left out."""
    refuse_unwritable(report, read=files_of(judged))
    events = ablate(settings, judged, scope=caller.scope, principal=caller.principal)
    last = watched(events, bar=not as_json)
    assert isinstance(last, Ablated)
    if report is not None:
        from citewise.cli.eval_report import report_html

        write_file(report, report_html(last.rows[0].run, ablations=last.rows))
    if as_json:
        print_json(ablations_json(last.rows))
    else:
        show_ablations(last.rows)
    return 0


def run_compare(before: Path, after: Path, *, worst: int, report: Path | None, as_json: bool) -> int:
    """Show what changed between two runs; a change for the worse is a result, not a failure."""
    refuse_unwritable(report, read=(before, after))
    runs = (read_run(before), read_run(after))
    _check_comparable(*runs)
    compared = differences(*runs)
    if report is not None:
        from citewise.cli.eval_report import report_html

        write_file(report, report_html(runs[1], compared=compared))
    if as_json:
        files = {"before": str(before), "after": str(after)}
        print_json({"files": files, **_comparison_json(*runs, compared, worst)})
    else:
        show_comparison((str(before), str(after)), runs, compared, worst=worst)
    return 0


def files_of(judged: Path) -> list[Path]:
    """The files that a set is read from."""
    return [judged, *judged.glob("*"), *judged.glob("qrels/*")] if os.path.isdir(judged) else [judged]


def threshold_of(text: str) -> Threshold:
    """`METRIC=VALUE`, checked before anything is asked."""
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
    return Threshold(metric, number)


def watched(events: Iterator[EvalEvent], *, bar: bool) -> EvalEvent:
    """The last event; the others move a bar on standard error, if that is a terminal."""
    with ExitStack() as stack:
        shown = bar and Console(stderr=True).is_terminal
        ingesting = ExitStack()
        stack.push(ingesting)
        on_ingest, progress = None, None
        for event in events:
            if isinstance(event, Evaluated | Ablated):
                return event
            if not isinstance(event, Step):
                on_ingest = on_ingest or ingesting.enter_context(shown_progress(verbose=False, bar=shown))
                on_ingest(event)
            elif shown:
                ingesting.close()
                progress = progress or stack.enter_context(_progress())
                progress.update(progress.task_ids[0], description=event.task, completed=event.done, total=event.total)
    raise AssertionError("an evaluation ends with its result")


def _progress() -> Progress:
    columns = (TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task("", total=None)
    return progress


def _check_comparable(before: Run, after: Run) -> None:
    common = common_questions(before, after)
    if not common:
        raise BadRequest(f"the runs of {before.set} and {after.set} have no question in common: nothing to compare")
    if before == after:
        _log.warning("both files are the same run: nothing changed")
    if before.set != after.set:
        _log.warning("the runs are of different sets, %r and %r", before.set, after.set)
    if before.unit is not after.unit:
        _log.warning("one run judges each %s, the other each %s", before.unit.value, after.unit.value)
    if common < max(before.queries, after.queries):
        what = counted(common, "question of both is", "questions of both are")
        _log.warning("only the %s compared", what)


def _comparison_json(before: Run, after: Run, compared: tuple[Difference, ...], worst: int) -> dict[str, object]:
    metric = primary_metric(before)
    changed = changed_most(before, after, metric)[:worst] if metric else ()
    return {
        "before": {"set": before.set, "queries": before.queries, "commit": before.commit},
        "after": {"set": after.set, "queries": after.queries, "commit": after.commit},
        "common_questions": common_questions(before, after),
        "settings_that_differ": {
            name: {"before": first, "after": second}
            for name, (first, second) in changed_settings(before, after).items()
        },
        "only_before": [name for name in before.metrics if name not in after.metrics],
        "only_after": [name for name in after.metrics if name not in before.metrics],
        "differences": [difference_json(difference) for difference in compared],
        "changed_most": [
            {"id": question.id, "question": question.question, "metric": metric, "before": first, "after": second}
            for question, first, second in changed
        ],
    }
