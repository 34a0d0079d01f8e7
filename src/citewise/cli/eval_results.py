"""What `citewise eval`, `eval compare` and `eval ablate` show: figures, lists and tables."""

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from urllib.parse import unquote

from rich.text import Text

from citewise.cli.output import console, one_line, show_figures, show_list, table
from citewise.evaluation.cases import counted
from citewise.evaluation.compare import Ablation, Comparison, Difference
from citewise.evaluation.runs import SUMS, QuestionResult, Run

ABLATED = ("ndcg@10", "recall@5", "recall@100")
ABSENT = "\u2013"
MIN_WIDTH = 160
MAX_PLACES = 3  # shown of each question
MAX_LINE = 160  # characters of a question
MAX_ANSWER = 240
MAX_NAME = 80
MAX_HEADING = 24  # of a column that is named like a file
MAX_COMMIT = 12  # of its forty digits
COLORS = {"better": "green", "worse": "red", "unclear": "yellow", "same": "dim"}


def show_run(run: Run, *, worst: int) -> None:
    show_figures(_figures(run))
    poor = [question for question in run.worst_first if not question.worst or question.worst[0] < 1.0][:worst]
    show_list("\nworst questions", [line for question in poor for line in _question_lines(question)])


def _figures(run: Run) -> Iterator[tuple[str, str]]:
    yield "set", f"{run.set}: {counted(run.queries, 'question')}, {run.unit}s judged"
    for name, value in run.metrics.items():
        yield name, f"{metric_text(value, name)} over {counted(run.questions_measured[name], 'question')}"
    yield "search, in ms", "  ".join(f"{name} {ms:.1f}" for name, ms in run.latency_ms.items()) or ABSENT
    for name, spread in run.answers.items():
        yield f"answers, in {name}", "  ".join(f"{part} {value:.1f}" for part, value in spread.items()) or ABSENT
    stages = (f"{name} {ms:.1f}" for name, ms in run.stages_ms.items() if name != "total" and ms >= 0.05)
    yield "stages, in ms", "  ".join(stages) or ABSENT


def _question_lines(result: QuestionResult) -> Iterator[str]:
    yield f"{one_line(result.id, MAX_NAME)}  {one_line(result.question, MAX_LINE)}"
    ranking = result.measures.get("ndcg@10")
    if problems := [*([] if ranking is None else [f"ndcg@10 {ranking:.3f}"]), *result.problems]:
        yield f"    {'; '.join(problems)}"
    if result.expected_answer:
        yield f"    wanted    {one_line(result.expected_answer, MAX_ANSWER)}"
    if result.answer and not result.refused and (result.expected_answer or result.kind != "answerable"):
        yield f"    {'not sure' if result.outcome == 'unsure' else 'answered'}  {one_line(result.answer, MAX_ANSWER)}"
    if ranking is not None and ranking < 1.0:
        for name, places in (("expected", result.expected), ("found", result.found)):
            for number, place in enumerate(places[:MAX_PLACES]):
                lines = "" if place.lines is None else f":{place.lines[0]}-{place.lines[1]}"
                where = f"{one_line(unquote(place.document), MAX_NAME)}{lines}  {one_line(place.section, MAX_NAME)}"
                yield f"    {'' if number else name:8}  {place.grade or '-'}  {where}".rstrip()


def show_comparison(
    files: tuple[str, str], compared: Comparison, differences: Sequence[Difference], *, worst: int
) -> None:
    """Each metric in both runs, what else differs between them, and the questions that changed most."""
    runs = (compared.before, compared.after)
    show_figures([("before", _described(files[0], runs[0])), ("after", _described(files[1], runs[1]))])
    before, after = (one_line(PurePath(file).name, MAX_HEADING) for file in files)
    names = ("before", "after") if before == after else (before, after)
    rows = table(["metric"], [*names, "change", "95 % interval", "p", "better", "worse", "of"], ["verdict"])
    for row in differences:
        rows.add_row(
            *(row.metric, f"{row.before:.4f}", f"{row.after:.4f}", f"{row.change:+.4f}"),
            "{:+.4f} … {:+.4f}".format(*row.interval),
            *(p_text(row.p), str(row.better), str(row.worse), str(row.questions)),
            Text(row.verdict, style=COLORS[row.verdict]),
        )
    shown = console(min_width=MIN_WIDTH)
    shown.print()
    shown.print(rows)
    for name, run, other in zip(names, runs, reversed(runs), strict=True):
        if only := [metric for metric in run.metrics if metric not in other.metrics]:
            show_list(f"\nonly {name} has", [", ".join(only)])
    changed = [f"{name}: {json.dumps(was)}, now {json.dumps(now)}" for name, (was, now) in compared.settings.items()]
    show_list("\nsettings that differ (null: the default, or not there)", changed)
    metric = compared.before.primary_metric
    moved = compared.changed_most(metric)[:worst] if metric else []
    lines = [f"{was:.3f} → {now:.3f}  {one_line(f'{at.id}  {at.question}', MAX_LINE)}" for at, was, now in moved]
    show_list(f"\nchanged most ({metric})", lines)


def _described(file: str, run: Run) -> str:
    commit, dash, dirty = (run.commit or "").partition("-")
    questions = f"{one_line(run.set, MAX_NAME)}, {counted(run.queries, 'question')}"
    return f"{one_line(file, MAX_NAME)}  {questions}  {commit[:MAX_COMMIT]}{dash}{dirty}".rstrip()


def show_ablations(rows: Sequence[Ablation]) -> None:
    """A row for each part that was left out, with its change from the whole search."""
    run = rows[0].run
    show_figures([("set", f"{run.set}: {counted(run.queries, 'question')}, searches only")])
    shown = table(["left out"], [*(cell for name in ABLATED for cell in (name, "change", "p")), "p50 ms"])
    for row in rows:
        changes = {difference.metric: difference for difference in row.differences}
        cells: list[Text | str] = []
        for name in ABLATED:
            change = changes.get(name)
            texts = ("", "") if change is None else (f"{change.change:+.4f}", p_text(change.p))
            cells.append(metric_text(row.run.metrics.get(name)))
            cells += [Text(text, style=COLORS[change.verdict] if change else "") for text in texts]
        shown.add_row(row.name, *cells, f"{row.run.latency_ms.get('p50', 0.0):.1f}")
    console(min_width=MIN_WIDTH).print(shown)


def metric_text(value: float | None, name: str = "") -> str:
    """Three decimals, so that columns line up; counts as they are."""
    return ABSENT if value is None else f"{value:.0f}" if name in SUMS else f"{value:.3f}"


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
