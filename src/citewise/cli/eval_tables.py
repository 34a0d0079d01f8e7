"""Runs, comparisons and ablations as a terminal shows them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from urllib.parse import unquote

from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewise.cli.output import printable
from citewise.evaluation.cases import Kind, Unit
from citewise.evaluation.compare import Changed, OtherSetting, Verdict, lonely_metrics, other_settings, verdict
from citewise.evaluation.runs import Ablation, Difference, Outcome, Place, Run
from citewise.evaluation.summary import SUMS, counted, measured, poorest, shortcomings

HEADLINES = ("ndcg@10", "recall@5", "recall@100", "precision@5", "mrr@10")
ANSWERS = ("citation_accuracy", "refusal_accuracy", "selected_accuracy", "selected_leaks")
MIN_WIDTH = 160  # numbers that are cut off say nothing: a narrower terminal wraps the lines
FEW = 3  # places that are shown of each poor question
MAX_QUESTION = 160  # characters
MAX_ANSWER = 240
MAX_PATH = 80
MAX_HEADING = 24  # of a column that is named like a file
MAX_SETTING = 60
MAX_COMMIT = 12  # of its forty digits
COLORS = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.UNCLEAR: "yellow", Verdict.SAME: "dim"}


def show_run(run: Run, *, worst: int) -> None:
    """The metrics, group by group, the latency, and the poorest questions."""
    console = wide_console()
    judged = "documents" if run.unit is Unit.DOCUMENT else "passages"
    console.print(Text.assemble((printable(run.set), "bold"), f"  {counted(run.queries, 'question')}, {judged} judged"))
    console.print()
    console.print(_metrics_table(run))
    console.print()
    _show_rest(console, run)
    _show_poorest(console, poorest(run.outcomes, worst))


def show_differences(names: tuple[str, str], runs: tuple[Run, Run], compared: Sequence[Difference]) -> None:
    """Each metric before and after, under the names of the runs, and what may be said of the change."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    for name in (*_short_names(names), "change", "95 % interval", "p", "better", "worse", "of"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in compared:
        table.add_row(
            one.metric,
            f"{one.before:.4f}",
            f"{one.after:.4f}",
            f"{one.change:+.4f}",
            f"{one.low:+.4f} … {one.high:+.4f}",
            _p(one),
            str(one.better),
            str(one.worse),
            str(one.questions),
            _verdict(one),
        )
    console = wide_console()
    for title, name, run in zip(("before", "after"), names, runs, strict=True):
        console.print(Text.assemble(f"{title:6}  ", (_middle(name), "bold"), f"  {_named(run)}"))
    console.print()
    console.print(table)


def show_unlike(names: tuple[str, str], before: Run, after: Run) -> None:
    """What else tells the two runs apart: metrics that one of them lacks, settings that were chosen differently."""
    console = wide_console()
    short = _short_names(names)
    for name, only in zip(short, (lonely_metrics(before, after), lonely_metrics(after, before)), strict=True):
        if only:
            console.print(Text(printable(f"\nonly {name} has {', '.join(only)}"), style="dim"), soft_wrap=True)
    others = other_settings(before, after)
    if not others:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("setting", *short):
        table.add_column(Text(title), overflow="fold")
    for one in others:
        table.add_row(*(Text(_short(cell, MAX_SETTING)) for cell in (one.name, *_values(one))))
    console.print(Text("\nsettings that differ", style="bold"))
    console.print(table)


def show_changed(metric: str, changed: Sequence[Changed], count: int) -> None:
    """The questions that moved most."""
    if not changed or not count:
        return
    console = wide_console()
    console.print(Text(f"\nchanged most ({metric})", style="bold"))
    for one in changed[:count]:
        was, now = one.before.measures[metric], one.after.measures[metric]
        line = Text(f"  {was:.3f} → {now:.3f}  ", style="green" if one.change > 0 else "red")
        line.append(_short(f"{one.before.id}  {one.before.question}", MAX_QUESTION), style="default")
        console.print(line, soft_wrap=True)
    if len(changed) > count:
        console.print(Text(f"  {len(changed) - count} more changed; --worst {len(changed)} shows each", style="dim"))


def show_ablations(rows: Sequence[Ablation], metrics: Sequence[str]) -> None:
    """A row for each part that was left out: its numbers, and how they differ from everything's."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for name in metrics:
        table.add_column(name, justify="right", no_wrap=True)
        table.add_column("change", justify="right", no_wrap=True)
        table.add_column("p", justify="right", no_wrap=True)
    table.add_column("p50 ms", justify="right", no_wrap=True)
    for row in rows:
        by_metric = {one.metric: one for one in row.differences}
        cells = [cell for name in metrics for cell in _ablation_cells(row, by_metric.get(name), name)]
        table.add_row(Text(row.name), *cells, f"{row.run.latency_ms.get('p50', 0.0):.1f}")
    console = wide_console()
    run = rows[0].run
    console.print(Text.assemble((printable(run.set), "bold"), f"  {counted(run.queries, 'question')}, searches alone"))
    console.print()
    console.print(table)


def wide_console() -> Console:
    console = Console(highlight=False)
    console.width = max(console.width, MIN_WIDTH)
    return console


def _ablation_cells(row: Ablation, difference: Difference | None, metric: str) -> Iterable[Text]:
    yield Text(_number(row.run.metrics.get(metric)))
    if difference is None:
        yield from (Text(""), Text(""))
        return
    color = COLORS[verdict(difference)]
    yield Text(f"{difference.change:+.4f}", style=color)
    yield Text(_p(difference), style=color)


def _metrics_table(run: Run) -> Table:
    names = [name for name in (*HEADLINES, *ANSWERS) if name in run.metrics]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for name in ("questions", *names):
        table.add_column(name.replace("_", "_\n"), justify="right", no_wrap=True)  # long names on two lines
    table.add_row("all", str(run.queries), *_cells(run.metrics, names), style="bold")
    for group, metrics in run.groups.items():
        size = sum(outcome.group == group for outcome in run.outcomes)
        table.add_row(Text(f"  {_short(group, 40)}"), str(size), *_cells(metrics, names))
    return table


def _cells(metrics: Mapping[str, float], names: Iterable[str]) -> list[str]:
    return [
        f"{metrics[name]:.0f}" if name in SUMS and name in metrics else _number(metrics.get(name)) for name in names
    ]


def _show_rest(console: Console, run: Run) -> None:
    others = [name for name in run.metrics if name not in (*HEADLINES, *ANSWERS)]
    lines = ["  ".join(f"{name} {run.metrics[name]:.3f}" for name in others)] if others else []
    if run.latency_ms:
        whole = "  ".join(f"{name} {ms:.1f}" for name, ms in run.latency_ms.items())
        stages = "  ".join(f"{name} {ms:.1f}" for name, ms in run.stages_ms.items() if name != "total" and ms >= 0.05)
        lines += [f"a search, in milliseconds: {whole}   ({stages})"]
    if (answers := measured(run.outcomes).get("citation_accuracy")) is not None:
        lines += [f"citation_accuracy is over {counted(answers, 'answer')}; a refusal owes no citation"]
    for line in lines:
        console.print(Text(line, style="dim"), soft_wrap=True)


def _show_poorest(console: Console, outcomes: Sequence[Outcome]) -> None:
    if outcomes:
        console.print(Text("\npoorest questions", style="bold"))
    for outcome in outcomes:
        head = Text("  ")
        head.append(_short(outcome.id, 60), style="bold cyan")
        head.append(f"  {_short(outcome.question, MAX_QUESTION)}")
        console.print(head, soft_wrap=True)
        for line in _poor_lines(outcome):
            console.print(line, soft_wrap=True)


def _poor_lines(outcome: Outcome) -> Iterable[Text]:
    wrong = _what_went_wrong(outcome)
    if wrong:
        yield Text(f"      {wrong}", style="red")
    yield from _answer_lines(outcome)
    if outcome.kind is Kind.ANSWERABLE and outcome.measures.get("ndcg@10", 1.0) < 1.0:
        for title, places in (("expected", outcome.expected), ("found", outcome.found)):
            for place in places[:FEW]:
                yield _place_line(title, place)
                title = ""


def _answer_lines(outcome: Outcome) -> Iterable[Text]:
    """The answer as its author would have it, and the one that came instead."""
    if outcome.expected_answer:
        yield Text(f"      {'wanted':9} {_short(outcome.expected_answer, MAX_ANSWER)}", style="green")
    is_telling = outcome.expected_answer or outcome.kind is not Kind.ANSWERABLE
    if outcome.answer and not outcome.is_refused and is_telling:
        yield Text(f"      {'answered':9} {_short(outcome.answer, MAX_ANSWER)}", style="dim")


def _what_went_wrong(outcome: Outcome) -> str:
    ranking = outcome.measures.get("ndcg@10")
    return "; ".join([*([] if ranking is None else [f"ndcg@10 {ranking:.3f}"]), *shortcomings(outcome)])


def _place_line(title: str, place: Place) -> Text:
    lines = "" if place.first_line is None else f":{place.first_line}-{place.last_line}"
    text = f"      {title:9} {place.grade or '-'}  {_middle(unquote(place.document))}{lines}"
    section = f"  {_short(place.section, 60)}" if place.section else ""
    return Text(printable(f"{text}{section}"), style="green" if place.grade else "dim")


def _short(text: str, most: int) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _middle(path: str) -> str:
    """A path that fits: cut in the middle, since both its ends tell it apart."""
    line = _short(path, len(path))
    half = MAX_PATH // 2
    return line if len(line) <= MAX_PATH else f"{line[: half - 1]}…{line[-half:]}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _p(difference: Difference) -> str:
    return "<0.001" if difference.p_value < 0.001 else f"{difference.p_value:.3f}"


def _verdict(difference: Difference) -> Text:
    found = verdict(difference)
    return Text(found.value, style=COLORS[found])


def _named(run: Run) -> str:
    head, _, dirty = (run.commit or "").partition("-")
    said = f"{head[:MAX_COMMIT]}-{dirty}" if dirty else head[:MAX_COMMIT]
    return printable(f"{run.set}, {counted(run.queries, 'question')}  {said}").rstrip()


def _short_names(names: tuple[str, str]) -> tuple[str, str]:
    """Both files as a column can be headed, still told apart."""
    before, after = (_short(PurePath(name).name, MAX_HEADING) for name in names)
    return ("before", "after") if before == after else (before, after)


def _values(setting: OtherSetting) -> tuple[str, str]:
    """A setting that a run does not name is as it comes; of what has no dot (generator, user, …) there was none."""
    unnamed = "default" if "." in setting.name else "none"
    return _value(setting.before, unnamed), _value(setting.after, unnamed)


def _value(value: object, unnamed: str) -> str:
    if value is None:
        return unnamed
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
