"""Runs, comparisons and ablations as tables in a terminal."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from urllib.parse import unquote

from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewise.cli.output import printable
from citewise.evaluation.cases import JudgedUnit, Kind, Place
from citewise.evaluation.compare import (
    Ablation,
    Difference,
    Verdict,
    changed_most,
    changed_settings,
    primary_metric,
)
from citewise.evaluation.runs import (
    MAIN_METRICS,
    SUMS,
    QuestionResult,
    Run,
    counted,
    measured,
    problems_of,
    worst_first,
    worst_measure,
)

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


def show_run(run: Run, *, worst: int) -> None:
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


def show_comparison(
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


def show_ablations(rows: Sequence[Ablation]) -> None:
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
