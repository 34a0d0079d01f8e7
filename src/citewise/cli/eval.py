"""What `citewise eval`, `eval ablate` and `eval compare` do: evaluate, then write and show the result."""

import difflib
import json
import logging
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path, PurePath
from urllib.parse import unquote

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from citewise.cli.ingest import shown_progress
from citewise.cli.options import Session
from citewise.cli.output import print_json, printable, refuse_unwritable, write_file
from citewise.errors import BadRequest
from citewise.evaluation.cases import Place, counted
from citewise.evaluation.compare import Ablation, Comparison, Difference
from citewise.evaluation.metrics import ANSWER_METRICS
from citewise.evaluation.pipeline import EvalEvent, Step, ablate, evaluate
from citewise.evaluation.runs import MAIN_METRICS, METRICS, SUMS, QuestionResult, Run

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
COLORS = {"better": "green", "worse": "red", "unclear": "yellow", "same": "dim"}


def run_eval(
    session: Session,
    judged: Path,
    *,
    report: Path | None,
    out: Path | None,
    fail_under: Sequence[str],
    no_answers: bool,
    worst: int,
) -> int:
    """Evaluate a set; the exit code is 1 if a threshold is not reached."""
    thresholds = dict(_threshold_of(text) for text in fail_under)
    for metric in thresholds:
        if metric in ANSWER_METRICS and no_answers:
            raise BadRequest(f"--fail-under {metric} needs answers: leave out --no-answers")
    refuse_unwritable(out, report, read=_files_of(judged))
    scope, principal = session.scope, session.principal
    events = evaluate(session.settings, judged, scope=scope, principal=principal, answers=not no_answers)
    (run,) = (event for event in _watched(events, bar=not session.as_json) if isinstance(event, Run))
    if out is not None:
        write_file(out, json.dumps(run.as_json(), ensure_ascii=False) + "\n")
    _write_report(report, run)
    if session.as_json:
        print_json(run.as_json())
    else:
        _show_run(run, worst=worst)
    problems = [problem for metric, value in thresholds.items() if (problem := _missed(run, metric, value))]
    for problem in problems:
        sys.stderr.write(f"citewise: {problem}\n")
    return 1 if problems else 0


def run_ablate(session: Session, judged: Path, *, report: Path | None) -> None:
    """Show a row for each part of the search that was left out."""
    refuse_unwritable(report, read=_files_of(judged))
    events = ablate(session.settings, judged, scope=session.scope, principal=session.principal)
    rows = [event for event in _watched(events, bar=not session.as_json) if isinstance(event, Ablation)]
    _write_report(report, rows[0].run, ablations=rows)
    if session.as_json:
        print_json(_ablations_json(rows))
    else:
        _show_ablations(rows)


def run_compare(before: Path, after: Path, *, worst: int, report: Path | None, as_json: bool) -> None:
    """Show what changed between two runs; a change for the worse is a result, not a failure."""
    refuse_unwritable(report, read=(before, after))
    compared = Comparison(Run.read(before), Run.read(after))
    _check_comparable(compared)
    differences = compared.differences()
    _write_report(report, compared.after, differences=differences)
    if as_json:
        files = {"before": str(before), "after": str(after)}
        print_json({"files": files, **_comparison_json(compared, differences, worst)})
    else:
        _show_comparison((str(before), str(after)), compared, differences, worst=worst)


def _write_report(
    file: Path | None, run: Run, *, differences: Sequence[Difference] = (), ablations: Sequence[Ablation] = ()
) -> None:
    if file is not None:
        from citewise.cli.html import report_html

        write_file(file, report_html(run, differences=differences, ablations=ablations))


def _files_of(judged: Path) -> list[Path]:
    """The files that a set is read from."""
    return [judged, *judged.glob("*"), *judged.glob("qrels/*")] if os.path.isdir(judged) else [judged]


def _threshold_of(text: str) -> tuple[str, float]:
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
    return metric, number


def _missed(run: Run, metric: str, threshold: float) -> str | None:
    """How the run misses a threshold: a minimum, or the maximum of what is better when lower."""
    value = run.metrics.get(metric)
    if value is None:
        return f"{metric} was not measured: no question of the set has it"
    if metric in SUMS:
        return f"{metric} is {value:g}, above {threshold:g}" if value > threshold else None
    hint = " (it is a share: never above 1)" if threshold > 1 else ""
    # Runs are written with six decimals: a threshold copied from one is reached by it.
    return f"{metric} is {value:.4f}, under {threshold:g}{hint}" if round(value, 6) < threshold else None


def _watched(events: Iterator[EvalEvent], *, bar: bool) -> Iterator[EvalEvent]:
    """The events; those that tell of progress move a bar on standard error, if that is a terminal."""
    with ExitStack() as stack:
        shown = bar and Console(stderr=True).is_terminal
        ingesting = stack.enter_context(ExitStack())
        on_ingest, progress = None, None
        for event in events:
            yield event
            if isinstance(event, Run | Ablation):
                continue
            if not isinstance(event, Step):
                on_ingest = on_ingest or ingesting.enter_context(shown_progress(verbose=False, bar=shown))
                on_ingest(event)
            elif shown:
                ingesting.close()
                progress = progress or stack.enter_context(_progress())
                progress.update(progress.task_ids[0], description=event.task, completed=event.done, total=event.total)


def _progress() -> Progress:
    columns = (TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task("", total=None)
    return progress


def _check_comparable(compared: Comparison) -> None:
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
        what = counted(common, "question of both is", "questions of both are")
        _log.warning("only the %s compared", what)


def _comparison_json(compared: Comparison, differences: Sequence[Difference], worst: int) -> dict[str, object]:
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


def _ablations_json(rows: Sequence[Ablation]) -> dict[str, object]:
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
    head = {"set": run.set, "queries": run.queries, "settings": run.settings, "commit": run.commit}
    return {**head, "ablations": ablations}


# Tables in a terminal


def _show_run(run: Run, *, worst: int) -> None:
    """The metrics by group, the latency, and the worst questions."""
    console = _wide_console()
    about = f"  {counted(run.queries, 'question')}, {run.unit}s judged"
    console.print(Text.assemble((printable(run.set), "bold"), about))
    console.print()
    console.print(_metrics_table(run))
    console.print()
    for numbers in _other_numbers(run):
        console.print(Text(numbers, style="dim"), soft_wrap=True)
    poor = [question for question in run.worst_first if (question.worst or 0.0) < 1.0][:worst]
    if poor:
        console.print(Text("\nworst questions", style="bold"))
    for question in poor:
        for line in _question_lines(question):
            console.print(line, soft_wrap=True)


def _show_comparison(
    files: tuple[str, str], compared: Comparison, differences: Sequence[Difference], *, worst: int
) -> None:
    """Each metric in both runs, what else differs between them, and the questions that changed most."""
    console, runs = _wide_console(), (compared.before, compared.after)
    for title, file, run in zip(("before", "after"), files, runs, strict=True):
        commit, dash, dirty = (run.commit or "").partition("-")
        about = f"  {run.set}, {counted(run.queries, 'question')}  {commit[:MAX_COMMIT]}{dash}{dirty}"
        console.print(Text.assemble(f"{title:6}  ", (_short(file, MAX_PATH), "bold"), printable(about).rstrip()))
    before, after = (_short(PurePath(file).name, MAX_HEADING) for file in files)
    names = ("before", "after") if before == after else (before, after)
    table = _table(("metric", *names, "change", "95 % interval", "p", "better", "worse", "of", "verdict"), left={0, 9})
    for row in differences:
        table.add_row(
            *(row.metric, f"{row.before:.4f}", f"{row.after:.4f}", f"{row.change:+.4f}"),
            "{:+.4f} … {:+.4f}".format(*row.interval),
            *(_p(row), str(row.better), str(row.worse), str(row.questions)),
            Text(row.verdict, style=COLORS[row.verdict]),
        )
    console.print()
    console.print(table)
    for name, run, other in zip(names, runs, reversed(runs), strict=True):
        if only := [metric for metric in run.metrics if metric not in other.metrics]:
            console.print(Text(printable(f"\nonly {name} has {', '.join(only)}"), style="dim"), soft_wrap=True)
    _show_settings(console, names, compared)
    _show_changed(console, compared, worst)


def _show_ablations(rows: Sequence[Ablation]) -> None:
    """A row for each part that was left out, with its change from the whole search."""
    table = _table(("", *(cell for name in ABLATED for cell in (name, "change", "p")), "p50 ms"), left={0})
    for row in rows:
        changes = {difference.metric: difference for difference in row.differences}
        cells: list[Text] = []
        for name in ABLATED:
            change = changes.get(name)
            cells.append(Text(_number(row.run.metrics.get(name))))
            texts = ("", "") if change is None else (f"{change.change:+.4f}", _p(change))
            cells += [Text(text, style=COLORS[change.verdict] if change else "") for text in texts]
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
    table.add_row("all", str(run.queries), *(_number(run.metrics[name], name) for name in names), style="bold")
    for group, metrics in run.groups.items():
        size = sum(question.group == group for question in run.questions)
        cells = (_number(metrics.get(name), name) for name in names)
        table.add_row(Text(f"  {_short(group, 40)}"), str(size), *cells)
    return table


def _other_numbers(run: Run) -> Iterator[str]:
    if others := [name for name in run.metrics if name not in MAIN_METRICS]:
        yield "  ".join(f"{name} {run.metrics[name]:.3f}" for name in others)
    if run.latency_ms:
        whole = "  ".join(f"{name} {ms:.1f}" for name, ms in run.latency_ms.items())
        stages = "  ".join(f"{name} {ms:.1f}" for name, ms in run.stages_ms.items() if name != "total" and ms >= 0.05)
        yield f"a search, in milliseconds: {whole}   ({stages})"
    if answers := run.questions_measured.get("citation_accuracy"):
        yield f"citation_accuracy is over {counted(answers, 'answer')}; a refusal needs no citation"


def _question_lines(result: QuestionResult) -> Iterator[Text]:
    title = (_short(result.id, 60), "bold cyan")
    yield Text.assemble("  ", title, f"  {_short(result.question, MAX_QUESTION)}")
    ranking = result.measures.get("ndcg@10")
    problems = [*([] if ranking is None else [f"ndcg@10 {ranking:.3f}"]), *result.problems]
    if problems:
        yield Text(f"      {'; '.join(problems)}", style="red")
    if result.expected_answer:
        yield Text(f"      {'wanted':9} {_short(result.expected_answer, MAX_ANSWER)}", style="green")
    if result.answer and not result.refused and (result.expected_answer or result.kind != "answerable"):
        yield Text(f"      {'answered':9} {_short(result.answer, MAX_ANSWER)}", style="dim")
    if ranking is not None and ranking < 1.0:
        for name, places in (("expected", result.expected), ("found", result.found)):
            for number, place in enumerate(places[:MAX_PLACES]):
                yield _place_line("" if number else name, place)


def _place_line(title: str, place: Place) -> Text:
    lines = "" if place.lines is None else f":{place.lines[0]}-{place.lines[1]}"
    text = f"{_short(unquote(place.document), MAX_PATH)}{lines}  {_short(place.section, 60)}"
    return Text(f"      {title:9} {place.grade or '-'}  {text}".rstrip(), style="green" if place.grade else "dim")


def _show_settings(console: Console, names: tuple[str, str], compared: Comparison) -> None:
    """A setting that a run does not name is the default; a name without a dot (generator, user) was not there."""
    if not compared.settings:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("setting", *names):
        table.add_column(Text(title), overflow="fold")
    for name, values in compared.settings.items():
        absent = "default" if "." in name else "none"
        cells = [absent if value is None else _setting(value) for value in values]
        table.add_row(*(Text(_short(cell, MAX_SETTING)) for cell in (name, *cells)))
    console.print(Text("\nsettings that differ", style="bold"))
    console.print(table)


def _setting(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _show_changed(console: Console, compared: Comparison, count: int) -> None:
    metric = compared.before.primary_metric
    changed = compared.changed_most(metric) if metric else ()
    if not changed or not count:
        return
    console.print(Text(f"\nchanged most ({metric})", style="bold"))
    for question, before, after in changed[:count]:
        line = Text(f"  {before:.3f} → {after:.3f}  ", style="green" if after > before else "red")
        line.append(_short(f"{question.id}  {question.question}", MAX_QUESTION), style="default")
        console.print(line, soft_wrap=True)
    if len(changed) > count:
        console.print(Text(f"  {len(changed) - count} more changed; --worst {len(changed)} shows each", style="dim"))


def _short(text: str, limit: int) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _number(value: float | None, metric: str = "") -> str:
    return "-" if value is None else f"{value:.0f}" if metric in SUMS else f"{value:.3f}"


def _p(difference: Difference) -> str:
    return "<0.001" if difference.p < 0.001 else f"{difference.p:.3f}"
