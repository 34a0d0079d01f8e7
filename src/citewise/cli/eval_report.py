"""The page of `eval --report`: metrics, comparison, ablations, and every question with what was found for it."""

import json
import math
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePath

from citewise.cli.html import ABSENT, MINUS, figure, milliseconds, render
from citewise.evaluation.cases import Gold, JudgedUnit, Kind, Place, counted
from citewise.evaluation.compare import SIGNIFICANT, Ablation, Difference, primary_metric
from citewise.evaluation.runs import (
    MAIN_METRICS,
    SUMS,
    QuestionResult,
    Run,
    problems_of,
    worst_first,
    worst_measure,
)
from citewise.model.ids import ChunkId

MAX_LISTED = 500  # questions with details: a phone cannot open a page with many more
OPENED = 10  # poor questions whose details are open from the start
POOR = 0.5  # a question below is poor. 0: only complete failures are; 1: everything that is not perfect is
BINS = 10  # of the histogram


def report_html(
    run: Run,
    *,
    compared: Sequence[Difference] = (),
    ablations: Sequence[Ablation] = (),
    made_at: str | None = None,
    command: str | None = None,
) -> str:
    """The whole page; date and command are those of this process unless they are given."""
    ordered = worst_first(run.outcomes)
    entries = [_entry(outcome, number) for number, outcome in enumerate(ordered[:MAX_LISTED])]
    primary = primary_metric(run)
    return render(
        "eval.html",
        {
            "metric": _metric,
            "signed": _signed,
            "probability": _probability,
            "verdict": lambda difference: difference.verdict.value,
        },
        title=f"Evaluation: {run.set}",
        run=run,
        facts=_facts(run, made_at or datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        command=shlex.join([PurePath(sys.argv[0]).name, *sys.argv[1:]]) if command is None else command,
        main_metrics=[name for name in MAIN_METRICS if name in run.metrics],
        differences=compared,
        significant=SIGNIFICANT,
        ablations=ablations,
        ablation_metrics=[name for name in MAIN_METRICS if any(name in row.run.metrics for row in ablations)],
        primary=primary,
        histogram=_histogram([each.measures[primary] for each in run.outcomes if primary in each.measures])
        if primary
        else [],
        metric_rows=_metric_rows(run),
        refusals=list(_refusals(run)),
        latencies=[(name, milliseconds(ms)) for name, ms in run.latency_ms.items()],
        stages=[(name, milliseconds(ms)) for name, ms in run.stages_ms.items() if name != "total"],
        entries=entries,
        poor=sum(entry["is_poor"] is True for entry in entries),
        poor_below=POOR,
        left_out=len(ordered) - len(entries),
        settings=[
            (name, value if isinstance(value, str) else json.dumps(value)) for name, value in run.settings.items()
        ],
    )


def _facts(run: Run, made_at: str) -> list[str]:
    kinds = Counter(outcome.kind.value for outcome in run.outcomes)
    listed = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    judged = "documents are judged" if run.unit is JudgedUnit.DOCUMENT else "passages are judged"
    facts = [f"{counted(run.queries, 'question')}{f' ({listed})' if len(kinds) > 1 else ''}", judged, made_at]
    return [*facts, f"citewise {run.commit}"] if run.commit else facts


def _histogram(values: Sequence[float]) -> list[tuple[str, int]]:
    """How many values are in each part of 0..1; the last part includes 1."""
    counts = Counter(min(BINS - 1, max(0, int(value * BINS + 1e-9))) for value in values)
    return [(f"{at / BINS:g}\u2013{(at + 1) / BINS:g}", counts[at]) for at in range(BINS)] if values else []


def _metric_rows(run: Run) -> list[tuple[str, ...]]:
    """How many questions there are, then every metric of all questions and of each group."""
    if not run.metrics:
        return []
    sizes = Counter(outcome.group for outcome in run.outcomes)
    rows = [("questions", f"{run.queries:,}", *(f"{sizes[group]:,}" for group in run.groups))]
    names = dict.fromkeys((*(name for name in MAIN_METRICS if name in run.metrics), *run.metrics))
    for name in names:
        values = (run.metrics.get(name), *(group.get(name) for group in run.groups.values()))
        rows.append((name, *(_metric(value, name) for value in values)))
    return rows


def _refusals(run: Run) -> Iterator[tuple[str, ...]]:
    for kind in Kind:
        asked = [outcome for outcome in run.outcomes if outcome.kind is kind and outcome.is_refused is not None]
        metric = "selected_accuracy" if kind is Kind.SELECTED else "refusal_accuracy"
        known = [outcome.measures[metric] for outcome in asked if metric in outcome.measures]
        if asked:
            refused = sum(outcome.is_refused is True for outcome in asked)
            correct = f"{figure(sum(known))} of {len(known):,}" if known else ABSENT
            yield kind.value, f"{len(asked) - refused:,}", f"{refused:,}", correct


def _entry(outcome: QuestionResult, number: int) -> dict[str, object]:
    """One question of the list."""
    metric, worth = worst_measure(outcome)
    is_poor = worth is not None and worth < POOR
    full = max((1, *(place.grade for place in outcome.expected)))
    measures = ", ".join(f"{name} {_metric(value, name)}" for name, value in outcome.measures.items())
    kind = "" if outcome.kind is Kind.ANSWERABLE else outcome.kind.value
    decision = {None: "", True: "refused", False: "answered"}[outcome.is_refused]
    remarks = dict.fromkeys((outcome.group, kind, _first_answers(outcome, full), decision))
    return {
        "outcome": outcome,
        "metric": metric,  # the worst; None if nothing was measured
        "is_poor": is_poor,
        "is_open": is_poor and number < OPENED,
        "full_grade": full,
        "remark": " · ".join(filter(None, remarks)),
        "problems": "; ".join(problems_of(outcome)),
        "expected": [(place, _rank_of(place, outcome.found)) for place in outcome.expected],
        "expectation": _expectation(outcome),
        "facts": " · ".join(filter(None, (outcome.id, measures, milliseconds(outcome.latency_ms)))),
    }


def _rank_of(expected: Place, found: Iterable[Place]) -> int | None:
    """The rank at which an expected place was found first, from 1; None if it was not found."""
    first, last = expected.lines or (None, None)
    chunk = None if expected.chunk is None else ChunkId(expected.chunk)
    gold = Gold(expected.document, expected.grade, expected.section or None, first, last, chunk)
    return next((rank for rank, place in enumerate(found, 1) if gold.matches(place)), None)


def _first_answers(outcome: QuestionResult, full: int) -> str:
    """The rank of the first full answer, and of a part of one if that comes before it."""
    if not outcome.expected:
        return ""
    ranks = [
        next((rank for rank, place in enumerate(outcome.found, 1) if place.grade >= grade), None) for grade in (full, 1)
    ]
    if ranks[1] is None:
        return f"no answer in the first {len(outcome.found)}"
    if ranks[0] is None:
        return f"part of an answer at {ranks[1]}, no full one in the first {len(outcome.found)}"
    return f"full answer at {ranks[0]}" + ("" if ranks[0] == ranks[1] else f", part of one at {ranks[1]}")


def _expectation(outcome: QuestionResult) -> str:
    """What is expected instead of a place; for a selection, the verdict on the decision tells."""
    if outcome.kind is Kind.UNANSWERABLE:
        return "a refusal: nothing in the library answers this"
    right = outcome.measures.get("selected_accuracy")
    if outcome.kind is Kind.ANSWERABLE or right is None or outcome.is_refused is None:
        return "nothing"
    should_refuse = outcome.is_refused is (right == 1.0)
    return "a refusal: the selection does not answer this" if should_refuse else "an answer from the selection alone"


def _metric(value: float | None, name: str) -> str:
    """Three decimals, so that columns line up; counts as they are."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return figure(value) if name in SUMS else f"{value:.3f}".replace("-", MINUS)


def _signed(value: float) -> str:
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", MINUS)


def _probability(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
