"""What `citewise eval`, `eval ablate` and `eval compare` do: evaluate, then write and show the result."""

import difflib
import json
import logging
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import unquote

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from citewise.cli.ingest import shown_progress
from citewise.cli.options import Caller
from citewise.cli.output import print_json, printable, refuse_unwritable, write_file
from citewise.errors import BadRequest
from citewise.evaluation.cases import JudgedUnit, Kind, Place, counted
from citewise.evaluation.compare import (
    Ablation,
    Difference,
    Verdict,
    changed_most,
    changed_settings,
    common_questions,
    differences,
    primary_metric,
)
from citewise.evaluation.metrics import ANSWER_METRICS
from citewise.evaluation.pipeline import Ablated, EvalEvent, Evaluated, Step, ablate, evaluate
from citewise.evaluation.runs import (
    DECIMALS,
    MAIN_METRICS,
    METRICS,
    SUMS,
    QuestionResult,
    Run,
    Threshold,
    measured,
    problems_of,
    read_run,
    run_json,
    worst_first,
    worst_measure,
)
from citewise.settings import Settings

_log = logging.getLogger(__name__)

NEAR = 0.75  # similarity from which an unknown metric is a typing error; 0: every name is; 1: none is
ABLATED = ("ndcg@10", "recall@5", "recall@100")
MIN_WIDTH = 160  # characters: a table that is cut off says nothing; a narrower terminal wraps the lines
MAX_PLACES = 3  # shown of each question
MAX_QUESTION = 160  # characters
MAX_ANSWER = 240
MAX_PATH = 80
MAX_HEADING = 24  # of a column that is named like a file
MAX_SETTING = 60
MAX_COMMIT = 12  # of its forty digits
COLORS = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.UNCLEAR: "yellow", Verdict.SAME: "dim"}


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
    thresholds = [_threshold_of(text) for text in options.fail_under]
    for threshold in thresholds:
        if threshold.metric in ANSWER_METRICS and not options.answers:
            raise BadRequest(f"--fail-under {threshold.metric} needs answers: leave out --no-answers")
    refuse_unwritable(options.out, options.report, read=_files_of(judged))
    events = evaluate(settings, judged, scope=caller.scope, principal=caller.principal, answers=options.answers)
    last = _watched(events, bar=not options.as_json)
    assert isinstance(last, Evaluated)
    if options.out is not None:
        write_file(options.out, json.dumps(run_json(last.run), ensure_ascii=False) + "\n")
    if options.report is not None:
        from citewise.cli.eval_report import report_html

        write_file(options.report, report_html(last.run))
    if options.as_json:
        print_json(run_json(last.run))
    else:
        _show_run(last.run, worst=options.worst)
    problems = [problem for threshold in thresholds if (problem := threshold.problem(last.run)) is not None]
    for problem in problems:
        sys.stderr.write(f"citewise: {problem}\n")
    return 1 if problems else 0


def run_ablate(settings: Settings, judged: Path, caller: Caller, *, report: Path | None, as_json: bool) -> int:
    """Show a row for each part of the search that was left out."""
    refuse_unwritable(report, read=_files_of(judged))
    events = ablate(settings, judged, scope=caller.scope, principal=caller.principal)
    last = _watched(events, bar=not as_json)
    assert isinstance(last, Ablated)
    if report is not None:
        from citewise.cli.eval_report import report_html

        write_file(report, report_html(last.rows[0].run, ablations=last.rows))
    if as_json:
        print_json(_ablations_json(last.rows))
    else:
        _show_ablations(last.rows)
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
        _show_comparison((str(before), str(after)), runs, compared, worst=worst)
    return 0


def _files_of(judged: Path) -> list[Path]:
    """The files that a set is read from."""
    return [judged, *judged.glob("*"), *judged.glob("qrels/*")] if os.path.isdir(judged) else [judged]


def _threshold_of(text: str) -> Threshold:
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


def _watched(events: Iterator[EvalEvent], *, bar: bool) -> EvalEvent:
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
        "differences": [_difference_json(difference) for difference in compared],
        "changed_most": [
            {"id": question.id, "question": question.question, "metric": metric, "before": first, "after": second}
            for question, first, second in changed
        ],
    }


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, DECIMALS) for name, value in values.items()}


def _difference_json(difference: Difference) -> dict[str, object]:
    return {
        "metric": difference.metric,
        "before": round(difference.before, DECIMALS),
        "after": round(difference.after, DECIMALS),
        "change": round(difference.change, DECIMALS),
        "interval": [round(difference.low, DECIMALS), round(difference.high, DECIMALS)],
        "p": round(difference.p_value, DECIMALS),
        "questions": difference.questions,
        "better": difference.better,
        "worse": difference.worse,
        "verdict": difference.verdict.value,
    }


def _ablations_json(ablations: tuple[Ablation, ...]) -> dict[str, object]:
    run = ablations[0].run
    return {
        "set": run.set,
        "queries": run.queries,
        "settings": dict(run.settings),
        "commit": run.commit,
        "ablations": [
            {
                "name": ablation.name,
                "metrics": _rounded(ablation.run.metrics),
                "latency_ms": _rounded(ablation.run.latency_ms),
                "against_everything": [_difference_json(each) for each in ablation.differences],
            }
            for ablation in ablations
        ],
    }


# Tables in a terminal


def _show_run(run: Run, *, worst: int) -> None:
    """The metrics by group, the latency, and the worst questions."""
    console = _wide_console()
    judged = "documents" if run.unit is JudgedUnit.DOCUMENT else "passages"
    console.print(Text.assemble((printable(run.set), "bold"), f"  {counted(run.queries, 'question')}, {judged} judged"))
    console.print()
    console.print(_metrics_table(run))
    console.print()
    for numbers in _other_numbers(run):
        console.print(Text(numbers, style="dim"), soft_wrap=True)
    poor = [outcome for outcome in worst_first(run.outcomes) if (worst_measure(outcome)[1] or 0.0) < 1.0][:worst]
    if poor:
        console.print(Text("\nworst questions", style="bold"))
    for outcome in poor:
        console.print(
            Text.assemble("  ", (_short(outcome.id, 60), "bold cyan"), f"  {_short(outcome.question, MAX_QUESTION)}"),
            soft_wrap=True,
        )
        for line in _question_lines(outcome):
            console.print(line, soft_wrap=True)


def _show_comparison(
    names: tuple[str, str], runs: tuple[Run, Run], compared: Sequence[Difference], *, worst: int
) -> None:
    """Each metric in both runs, what else differs between them, and the questions that changed most."""
    console = _wide_console()
    short = _short_names(names)
    for title, name, run in zip(("before", "after"), names, runs, strict=True):
        console.print(Text.assemble(f"{title:6}  ", (_middle(name), "bold"), f"  {_named(run)}"))
    table = _table(("metric", *short, "change", "95 % interval", "p", "better", "worse", "of", "verdict"), left={0, 9})
    for each in compared:
        table.add_row(
            *(each.metric, f"{each.before:.4f}", f"{each.after:.4f}", f"{each.change:+.4f}"),
            *(f"{each.low:+.4f} … {each.high:+.4f}", _p(each), str(each.better), str(each.worse), str(each.questions)),
            Text(each.verdict.value, style=COLORS[each.verdict]),
        )
    console.print()
    console.print(table)
    for name, run, other in zip(short, runs, reversed(runs), strict=True):
        if only := [metric for metric in run.metrics if metric not in other.metrics]:
            console.print(Text(printable(f"\nonly {name} has {', '.join(only)}"), style="dim"), soft_wrap=True)
    _show_settings(console, short, runs)
    _show_changed(console, runs, worst)


def _show_ablations(rows: Sequence[Ablation]) -> None:
    """A row for each part that was left out, with its change from the whole search."""
    table = _table(("", *(cell for name in ABLATED for cell in (name, "change", "p")), "p50 ms"), left={0})
    for row in rows:
        changes = {each.metric: each for each in row.differences}
        cells: list[Text] = []
        for name in ABLATED:
            change = changes.get(name)
            color = "" if change is None else COLORS[change.verdict]
            cells += [
                Text(_number(row.run.metrics.get(name))),
                Text("" if change is None else f"{change.change:+.4f}", style=color),
                Text("" if change is None else _p(change), style=color),
            ]
        table.add_row(Text(row.name), *cells, f"{row.run.latency_ms.get('p50', 0.0):.1f}")
    console = _wide_console()
    run = rows[0].run
    console.print(Text.assemble((printable(run.set), "bold"), f"  {counted(run.queries, 'question')}, searches only"))
    console.print()
    console.print(table)


def _wide_console() -> Console:
    console = Console(highlight=False)
    console.width = max(console.width, MIN_WIDTH)
    return console


def _table(columns: Sequence[str], *, left: set[int]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if number in left else "right", no_wrap=True)
    return table


def _metrics_table(run: Run) -> Table:
    names = [name for name in MAIN_METRICS if name in run.metrics]
    columns = [name.replace("_", "_\n") for name in ("", "questions", *names)]  # long names on two lines
    table = _table(columns, left={0})
    table.add_row("all", str(run.queries), *_cells(run.metrics, names), style="bold")
    for group, metrics in run.groups.items():
        size = sum(outcome.group == group for outcome in run.outcomes)
        table.add_row(Text(f"  {_short(group, 40)}"), str(size), *_cells(metrics, names))
    return table


def _cells(metrics: Mapping[str, float], names: Iterable[str]) -> list[str]:
    return [
        f"{metrics[name]:.0f}" if name in SUMS and name in metrics else _number(metrics.get(name)) for name in names
    ]


def _other_numbers(run: Run) -> Iterator[str]:
    if others := [name for name in run.metrics if name not in MAIN_METRICS]:
        yield "  ".join(f"{name} {run.metrics[name]:.3f}" for name in others)
    if run.latency_ms:
        whole = "  ".join(f"{name} {ms:.1f}" for name, ms in run.latency_ms.items())
        stages = "  ".join(f"{name} {ms:.1f}" for name, ms in run.stages_ms.items() if name != "total" and ms >= 0.05)
        yield f"a search, in milliseconds: {whole}   ({stages})"
    if (answers := measured(run.outcomes).get("citation_accuracy")) is not None:
        yield f"citation_accuracy is over {counted(answers, 'answer')}; a refusal needs no citation"


def _question_lines(outcome: QuestionResult) -> Iterator[Text]:
    ranking = outcome.measures.get("ndcg@10")
    problems = [*([] if ranking is None else [f"ndcg@10 {ranking:.3f}"]), *problems_of(outcome)]
    if problems:
        yield Text(f"      {'; '.join(problems)}", style="red")
    if outcome.expected_answer:
        yield Text(f"      {'wanted':9} {_short(outcome.expected_answer, MAX_ANSWER)}", style="green")
    is_telling = outcome.expected_answer or outcome.kind is not Kind.ANSWERABLE
    if outcome.answer and not outcome.is_refused and is_telling:
        yield Text(f"      {'answered':9} {_short(outcome.answer, MAX_ANSWER)}", style="dim")
    if outcome.kind is Kind.ANSWERABLE and (ranking is not None and ranking < 1.0):
        for title, places in (("expected", outcome.expected), ("found", outcome.found)):
            for number, place in enumerate(places[:MAX_PLACES]):
                yield _place_line("" if number else title, place)


def _place_line(title: str, place: Place) -> Text:
    lines = "" if place.lines is None else f":{place.lines[0]}-{place.lines[1]}"
    text = f"      {title:9} {place.grade or '-'}  {_middle(unquote(place.document))}{lines}"
    section = f"  {_short(place.section, 60)}" if place.section else ""
    return Text(printable(f"{text}{section}"), style="green" if place.grade else "dim")


def _show_settings(console: Console, names: tuple[str, str], runs: tuple[Run, Run]) -> None:
    """A setting that a run does not name is the default; a name without a dot (generator, user) was not there."""
    changed = changed_settings(*runs)
    if not changed:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("setting", *names):
        table.add_column(Text(title), overflow="fold")
    for name, values in changed.items():
        absent = "default" if "." in name else "none"
        cells = [absent if each is None else each if isinstance(each, str) and each else _json(each) for each in values]
        table.add_row(*(Text(_short(cell, MAX_SETTING)) for cell in (name, *cells)))
    console.print(Text("\nsettings that differ", style="bold"))
    console.print(table)


def _show_changed(console: Console, runs: tuple[Run, Run], count: int) -> None:
    metric = primary_metric(runs[0])
    changed = changed_most(*runs, metric) if metric else ()
    if not metric or not changed or not count:
        return
    console.print(Text(f"\nchanged most ({metric})", style="bold"))
    for question, before, after in changed[:count]:
        line = Text(f"  {before:.3f} → {after:.3f}  ", style="green" if after > before else "red")
        line.append(_short(f"{question.id}  {question.question}", MAX_QUESTION), style="default")
        console.print(line, soft_wrap=True)
    if len(changed) > count:
        console.print(Text(f"  {len(changed) - count} more changed; --worst {len(changed)} shows each", style="dim"))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str, limit: int) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _middle(path: str) -> str:
    """A path that fits: cut in the middle, since both ends distinguish it."""
    line = _short(path, len(path))
    half = MAX_PATH // 2
    return line if len(line) <= MAX_PATH else f"{line[: half - 1]}…{line[-half:]}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _p(difference: Difference) -> str:
    return "<0.001" if difference.p_value < 0.001 else f"{difference.p_value:.3f}"


def _named(run: Run) -> str:
    head, _, dirty = (run.commit or "").partition("-")
    commit = f"{head[:MAX_COMMIT]}-{dirty}" if dirty else head[:MAX_COMMIT]
    return printable(f"{run.set}, {counted(run.queries, 'question')}  {commit}").rstrip()


def _short_names(names: tuple[str, str]) -> tuple[str, str]:
    """Both files as column headings, still different."""
    before, after = (_short(PurePath(name).name, MAX_HEADING) for name in names)
    return ("before", "after") if before == after else (before, after)
