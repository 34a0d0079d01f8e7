"""`citewise eval SET`: ask every question of a set, then show what came of it."""

import difflib
import gc
import json
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from citewise.cli.eval_files import files_of, refuse_unwritable, write_file
from citewise.cli.eval_progress import shown_steps
from citewise.cli.eval_tables import show_run
from citewise.cli.output import print_json
from citewise.errors import BadRequest
from citewise.evaluation.answered import ANSWER_METRICS
from citewise.evaluation.evaluating import evaluate
from citewise.evaluation.run_files import run_json
from citewise.evaluation.runs import Run
from citewise.evaluation.thresholds import METRICS, Threshold, shortfalls
from citewise.model.access import OWNER, Principal, Scope
from citewise.settings import Settings

NEAR = 0.75  # likeness from which on an unknown metric is a slip of the pen; 0: any is; 1: none


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """What the command line says."""

    scope: Scope
    answers: bool
    worst: int
    report: Path | None
    out: Path | None
    fail_under: tuple[str, ...]
    as_json: bool
    principal: Principal = OWNER


def run_eval(settings: Settings, judged: Path, options: EvalOptions) -> int:
    """Evaluate; 1 if a threshold is not reached."""
    gc.enable()  # a set may have thousands of questions
    thresholds = [threshold_of(text) for text in options.fail_under]
    if not options.answers:
        _refuse_unmeasured(thresholds)
    refuse_unwritable(options.out, options.report, read=files_of(judged))
    with shown_steps(bar=not options.as_json) as listeners:
        run = evaluate(
            settings,
            judged,
            scope=options.scope,
            principal=options.principal,
            answers=options.answers,
            listeners=listeners,
        )
    _write(run, options)
    short = shortfalls(run, thresholds)
    for problem in short:
        sys.stderr.write(f"citewise: {problem}\n")
    return 1 if short else 0


def _refuse_unmeasured(thresholds: Iterable[Threshold]) -> None:
    for one in thresholds:
        if one.metric in ANSWER_METRICS:
            raise BadRequest(f"--fail-under {one.metric} needs answers: leave out --no-answers")


def threshold_of(text: str) -> Threshold:
    """`METRIC=VALUE`, checked before anything is asked."""
    metric, equals, value = text.partition("=")
    metric = metric.strip().lower()
    number = _number(value)
    if not equals or number is None:
        raise BadRequest(f"--fail-under {text}: write METRIC=VALUE, such as ndcg@10=0.7")
    if metric not in METRICS:
        raise BadRequest(f"--fail-under {text}: there is no metric {metric!r}; {_metrics_like(metric)}")
    return Threshold(metric, number)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _metrics_like(metric: str) -> str:
    """The one that was probably meant, else all of them."""
    near = difflib.get_close_matches(metric, METRICS, n=1, cutoff=NEAR)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(METRICS)}"


def _write(run: Run, options: EvalOptions) -> None:
    if options.out is not None:
        write_file(options.out, json.dumps(run_json(run), ensure_ascii=False) + "\n")
    if options.report is not None:
        from citewise.cli.eval_report import report_html

        write_file(options.report, report_html(run))
    if options.as_json:
        print_json(run_json(run))
    else:
        show_run(run, worst=options.worst)
