"""The parts of a report about one run: tiles, groups, speed, spread, refusals, settings."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from citewise.evaluation.cases import Kind
from citewise.evaluation.compare import primary_metric
from citewise.evaluation.page.charts import Bar, bar_chart, histogram
from citewise.evaluation.page.drawing import Drawing, Frame
from citewise.evaluation.page.figures import ABSENT, figure, milliseconds, share
from citewise.evaluation.page.markup import Markup, joined, tag
from citewise.evaluation.page.metrics import in_order, is_share, main_metrics, meaning, written
from citewise.evaluation.page.spreads import latency_chart
from citewise.evaluation.runs import Outcome, Run


def section(anchor: str, title: str, *inside: Markup) -> Markup:
    return tag("section", tag("h2", title, id=f"{anchor}-title"), *inside, id=anchor, aria_labelledby=f"{anchor}-title")


def charts(*drawings: Drawing) -> Markup:
    return tag("div", *(tag("figure", one.inline()) for one in drawings), class_="charts") if drawings else Markup()


def table(label: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table whose first column names its rows. Where it is too wide it scrolls by itself, also by keyboard: a shadow
    shows that there is more, and words do where the script runs."""
    header = tag("tr", *(tag("th", column, scope="col") for column in columns))
    body = (tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows)
    made = tag("table", tag("caption", label), tag("thead", header), tag("tbody", *body))
    scrolled = tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=label)
    return joined(scrolled, tag("p", "more columns: scroll sideways \u2194", class_="sideways", hidden=True))


def tiles(run: Run) -> Markup:
    """The figures that somebody in a hurry wants."""
    made = [_tile(name, run.metrics[name]) for name in main_metrics(run.metrics)]
    for name in ("p50", "p95", "p99"):
        if name in run.latency_ms:
            remark = tag("small", "of the searches")
            made.append(tag("div", tag("dt", f"latency {name}"), tag("dd", milliseconds(run.latency_ms[name]), remark)))
    return tag("dl", *made, class_="tiles")


def metrics(run: Run) -> Markup:
    """Every metric, of all questions and of each group."""
    names = in_order(run.metrics)
    asked = Counter(outcome.group for outcome in run.outcomes)
    counts = ("questions", f"{run.queries:,}", *(f"{asked[group]:,}" for group in run.groups), "")
    rows = [counts] + [
        (
            name,
            written(name, run.metrics[name]),
            *(written(name, values.get(name)) for values in run.groups.values()),
            meaning(name),
        )
        for name in names
    ]
    columns = ("metric", "all", *run.groups, "meaning")
    drawings = [*_group_chart(run), *_spread(run)]
    return joined(charts(*drawings), table("Every metric, of all questions and of each group", columns, rows))


def speed(run: Run) -> Markup:
    """How long searches took, and where the time went."""
    drawings = []
    if searched := [outcome.latency_ms for outcome in run.outcomes if _was_searched(outcome)]:
        marks = {name: run.latency_ms[name] for name in ("p50", "p95", "p99") if name in run.latency_ms}
        drawings.append(latency_chart(Frame("How many searches were done by then", "milliseconds"), searched, marks))
    if run.stages_ms:
        bars = [Bar(stage, (ms,)) for stage, ms in run.stages_ms.items()]
        drawings.append(bar_chart(Frame("Median of each stage", "milliseconds"), bars))
    return charts(*drawings)


def refusals(run: Run) -> Markup | None:
    """Who got an answer and who should have; None if nobody was asked to answer."""
    rows = []
    for kind in Kind:
        asked = [one for one in run.outcomes if one.kind is kind and one.is_refused is not None]
        if asked:
            refused = sum(one.is_refused is True for one in asked)
            rows.append((kind.value, f"{len(asked) - refused:,}", f"{refused:,}", _rightly(kind, asked)))
    return table("Answered and refused", ("questions", "answered", "refused", "rightly"), rows) if rows else None


def settings(run: Run) -> Markup:
    rows = [(name, value) for name, value in _flat(run.settings)]
    return table("Settings of this run", ("setting", "value"), rows)


def _tile(name: str, value: float) -> Markup:
    meter = Markup()
    if is_share(name):
        meter = tag(
            "span", tag("span", style=f"width:{min(1.0, max(0.0, value)):.1%}"), class_="meter", aria_hidden="true"
        )
    return tag("div", tag("dt", name), tag("dd", written(name, value), meter, tag("small", meaning(name))))


def _group_chart(run: Run) -> list[Drawing]:
    shown = [name for name in ("ndcg@10", "recall@5") if name in run.metrics]
    bars = [
        Bar(group, tuple(values.get(name) for name in shown))
        for group, values in run.groups.items()
        if any(name in values for name in shown)
    ]
    frame = Frame(" and ".join(shown) + " of each group")
    return [bar_chart(frame, bars, names=shown, bounds=(0.0, 1.0), written=share)] if bars else []


def _spread(run: Run) -> list[Drawing]:
    """Single questions: a mean hides whether all are middling or some are lost."""
    metric = primary_metric(run) or ""
    values = [outcome.measures[metric] for outcome in run.outcomes if metric in outcome.measures]
    return [histogram(Frame(f"Questions by their {metric}", metric), values)] if values else []


def _was_searched(outcome: Outcome) -> bool:
    return outcome.kind is not Kind.SELECTED and outcome.latency_ms > 0 and math.isfinite(outcome.latency_ms)


def _rightly(kind: Kind, asked: Sequence[Outcome]) -> str:
    metric = "selected_accuracy" if kind is Kind.SELECTED else "refusal_accuracy"
    known = [one.measures[metric] for one in asked if metric in one.measures]
    return f"{figure(sum(known))} of {len(known):,}" if known else ABSENT


def _flat(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            yield f"{prefix}{name}", said
