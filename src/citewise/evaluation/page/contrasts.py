"""The parts of a report about more than one run: a comparison, and what each stage is worth."""

from collections.abc import Sequence

from citewise.evaluation.compare import LOWER_IS_BETTER, SIGNIFICANT, Verdict, primary_metric, verdict
from citewise.evaluation.page.charts import Bar, bar_chart
from citewise.evaluation.page.drawing import Drawing, Frame
from citewise.evaluation.page.figures import ABSENT, milliseconds, share, signed
from citewise.evaluation.page.markup import Markup, joined, tag
from citewise.evaluation.page.metrics import main_metrics, written
from citewise.evaluation.page.sections import charts, table
from citewise.evaluation.page.spreads import Change, Dots, change_chart, dot_chart
from citewise.evaluation.runs import Ablation, Difference, Run

VERDICTS = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.UNCLEAR: "may be chance",
    Verdict.SAME: "the same",
}
COLUMNS = ("metric", "before", "after", "change", "95 % interval", "questions", "better", "worse", "p", "")


def comparison(compared: Sequence[Difference]) -> Markup:
    drawn = {*main_metrics(one.metric for one in compared)} or {one.metric for one in compared}
    changes = [
        Change(one.metric, one.change, one.low, one.high, one.metric not in LOWER_IS_BETTER)
        for one in compared
        if one.metric in drawn
    ]
    frame = Frame("Change of each metric, with its 95 % interval", "after \u2212 before")
    rows = [
        (
            one.metric,
            written(one.metric, one.before),
            written(one.metric, one.after),
            signed(one.change),
            f"{signed(one.low)} to {signed(one.high)}",
            f"{one.questions:,}",
            f"{one.better:,}",
            f"{one.worse:,}",
            probability(one.p_value),
            VERDICTS[verdict(one)],
        )
        for one in compared
    ]
    note = f"Paired, over the questions that both runs have; a change is called one below p = {SIGNIFICANT}."
    return joined(tag("p", note, class_="note"), charts(change_chart(frame, changes)), table("Change", COLUMNS, rows))


def ablation(ablations: Sequence[Ablation]) -> Markup:
    """One row a run without one stage, against the run with everything."""
    metrics = main_metrics({name for one in ablations for name in one.run.metrics})
    columns = ("", *metrics, "p50")
    rows = [
        (one.name, *(_with_change(one, metric) for metric in metrics), milliseconds(one.run.latency_ms.get("p50")))
        for one in ablations
    ]
    note = f"In brackets the change against everything; a star where p < {SIGNIFICANT}."
    return joined(tag("p", note, class_="note"), charts(*_drawings(ablations)), table("Ablations", columns, rows))


def probability(value: float) -> str:
    return "< 0.001" if value < 0.001 else share(value)


def _with_change(one: Ablation, metric: str) -> str:
    change = next((each for each in one.differences if each.metric == metric), None)
    value = written(metric, one.run.metrics.get(metric))
    if change is None or value == ABSENT:
        return value
    return joined(value, " ", tag("small", f"({signed(change.change)}{'*' if change.p_value < SIGNIFICANT else ''})"))


def _drawings(ablations: Sequence[Ablation]) -> list[Drawing]:
    metric = primary_metric(ablations[0].run)
    if metric is None:
        return []
    bars = [Bar(one.name, (one.run.metrics.get(metric),)) for one in ablations]
    drawings = [bar_chart(Frame(f"{metric} without each stage"), bars, bounds=(0, 1), written=share)]
    whole = next((one.run for one in ablations if not one.differences), None)
    rows = [Dots(one.name, _per_question(whole, one.run, metric)) for one in ablations if whole and one.differences]
    if rows:
        frame = Frame("Which questions each stage moves", f"{metric} without it \u2212 with it")
        drawings.append(dot_chart(frame, rows))
    return drawings


def _per_question(before: Run, after: Run, metric: str) -> tuple[float, ...]:
    known = {one.id: one.measures[metric] for one in before.outcomes if metric in one.measures}
    return tuple(
        one.measures[metric] - known[one.id] for one in after.outcomes if one.id in known and metric in one.measures
    )
