"""The results of one evaluation, question by question, their means, and the file that they are written to."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import JudgedUnit, Kind, Place
from citewise.evaluation.metrics import ANSWER_METRICS, RANKING_METRICS
from citewise.evaluation.sets import problem_in, read_bytes

METRICS = (*RANKING_METRICS, *ANSWER_METRICS)  # every one that a run can have
SUMS = ("selected_leaks",)  # counted, not averaged; lower is better
MAIN_METRICS = (
    *("ndcg@10", "recall@5", "recall@100", "precision@5", "mrr@10"),
    *("citation_accuracy", "refusal_accuracy", "selected_accuracy", "selected_leaks"),
)
DECISIONS = ("refusal_accuracy", "citation_accuracy", "selected_accuracy")  # that are right or wrong
DECIMALS = 6
MAX_BYTES = 200_000_000
# Keys that programs may rely on; null where a run has no value.
JSON_METRICS = ("ndcg@10", "recall@5", "recall@100", "precision@5", "mrr@10", "citation_accuracy", "refusal_accuracy")
PERCENTILES = ("p50", "p95", "p99")
A_RUN = "a run is what `citewise eval SET --out RUN.json` writes"


Number = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]  # no metric and no time comes near
Numbers = Annotated[
    Mapping[str, Number],
    BeforeValidator(lambda row: {k: v for k, v in row.items() if v is not None} if isinstance(row, dict) else row),
]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question: what was expected, what was found, and the metrics of that. Aliases are the names in JSON."""

    id: str
    question: str
    kind: Kind
    group: str = ""
    measures: Numbers = field(default_factory=dict)  # by metric; one that does not apply is absent
    latency_ms: Number = 0.0  # of the search, or of the answer where nothing is searched
    expected: tuple[Place, ...] = ()
    found: tuple[Place, ...] = ()  # the first ten
    answer: str | None = None
    is_refused: Annotated[bool | None, Field(alias="refused")] = None  # None: no answer was asked for
    expected_answer: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One set evaluated on one library with one choice of settings."""

    set: str
    unit: JudgedUnit
    outcomes: Annotated[tuple[QuestionResult, ...], Field(alias="questions")]
    metrics: Numbers  # the mean of each metric over the questions that have it
    groups: Mapping[str, Numbers]  # the same for each group
    latency_ms: Numbers  # p50, p95, p99 of the searches
    stages_ms: Numbers  # median of each stage
    settings: Mapping[str, object]  # models, and every setting that is not the default
    commit: str | None  # of citewise, where it runs from a checkout

    @property
    def queries(self) -> int:
        return len(self.outcomes)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The minimum of a metric; the maximum of one that is better when lower."""

    metric: str
    value: float

    def problem(self, run: Run) -> str | None:
        """How the run misses the threshold; None if it does not."""
        found = run.metrics.get(self.metric)
        if found is None:
            return f"{self.metric} was not measured: no question of the set has it"
        if self.metric in SUMS:
            return f"{self.metric} is {found:g}, above {self.value:g}" if found > self.value else None
        hint = " (it is a share: never above 1)" if self.value > 1 else ""
        # Runs are written with six decimals: a threshold copied from one is reached by it.
        return f"{self.metric} is {found:.4f}, under {self.value:g}{hint}" if round(found, 6) < self.value else None


def means(outcomes: Iterable[QuestionResult]) -> dict[str, float]:
    """Each metric over the questions that have it."""
    values: dict[str, list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome.measures.items():
            values.setdefault(name, []).append(value)
    return {name: math.fsum(found) if name in SUMS else statistics.fmean(found) for name, found in values.items()}


def measured(outcomes: Iterable[QuestionResult]) -> dict[str, int]:
    """How many questions have each metric."""
    return dict(Counter(name for outcome in outcomes for name in outcome.measures))


def group_means(outcomes: Sequence[QuestionResult]) -> dict[str, Mapping[str, float]]:
    """The means of each named group, in order of appearance."""
    names = dict.fromkeys(outcome.group for outcome in outcomes if outcome.group)
    return {name: means(outcome for outcome in outcomes if outcome.group == name) for name in names}


def medians(timings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each stage over the searches that ran it."""
    names = dict.fromkeys(name for timing in timings for name in timing)
    return {name: statistics.median(timing[name] for timing in timings if name in timing) for name in names}


def worst_measure(outcome: QuestionResult) -> tuple[str | None, float | None]:
    """The metric that a question is worst at, and its value in 0..1, where 1 is perfect."""
    values = {
        name: 1 - min(outcome.measures[name], 1.0) if name in SUMS else outcome.measures[name]
        for name in ("ndcg@10", *DECISIONS, *SUMS)
        if name in outcome.measures
    }
    worst = min(values, key=lambda name: values[name], default=None)
    return worst, None if worst is None else values[worst]


def worst_first(outcomes: Iterable[QuestionResult]) -> list[QuestionResult]:
    """The worst questions first: not found, wrongly answered or refused, falsely cited; unmeasured ones last."""

    def order(outcome: QuestionResult) -> tuple[float, float]:
        value = worst_measure(outcome)[1]
        return (2.0 if value is None else value), outcome.measures.get("ndcg@10", 1.0)

    return sorted(outcomes, key=order)


def problems_of(outcome: QuestionResult) -> list[str]:
    """What was wrong about an answer, in words."""
    measures = outcome.measures
    problems = []
    if measures.get("refusal_accuracy") == 0.0 or measures.get("selected_accuracy") == 0.0:
        problems.append("refused, and should have been answered" if outcome.is_refused else "answered without grounds")
    if (true := measures.get("citation_accuracy", 1.0)) < 1.0:
        problems.append(f"only {true:.0%} of its citations are true" if true else "no citation that is true")
    if measures.get("selected_leaks"):
        problems.append("shows what is not in the selection")
    return problems


_RUN = TypeAdapter(Run)


def read_run(file: Path) -> Run:
    """The run in a file. BadRequest if it is not a run, BadData if it contradicts itself."""
    try:
        run = _RUN.validate_json(read_bytes(file, max_bytes=MAX_BYTES), strict=True)
    except BadRequest as error:
        raise BadRequest(f"{error}; {A_RUN}") from error
    except ValidationError as error:
        raise BadRequest(f"{file} is not a run: {problem_in(error)}; {A_RUN}") from error
    repeated = [id_ for id_, count in Counter(outcome.id for outcome in run.outcomes).items() if count > 1]
    if repeated:
        raise BadData(f"{file}: the id {repeated[0]!r} occurs twice: make the run again")
    measures = {f"question {outcome.id}": outcome.measures for outcome in run.outcomes}
    groups = {f"group {name}": group for name, group in run.groups.items()}
    for where, values in {"metrics": run.metrics, **groups, **measures}.items():
        for name, value in values.items():
            if value < 0 or (value > 1 and name not in SUMS):
                raise BadData(f"{file}: {where}: {name} is {value:g}, and every metric is in 0..1: make the run again")
    return run


def run_json(run: Run) -> dict[str, object]:
    """The output of `eval`: the keys that programs rely on, then what `eval compare` needs."""
    tree = _rounded(_RUN.dump_python(run, mode="json", by_alias=True))
    assert isinstance(tree, dict)
    return {
        "set": run.set,
        "queries": run.queries,
        "metrics": {**dict.fromkeys(JSON_METRICS), **tree.pop("metrics")},
        "latency_ms": {**dict.fromkeys(PERCENTILES), **tree.pop("latency_ms")},
        "settings": tree.pop("settings"),
        "commit": run.commit,
        "questions_measured": measured(run.outcomes),
        **tree,
    }


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return round(value, DECIMALS) if isinstance(value, float) else value
