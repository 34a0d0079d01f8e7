"""Runs as JSON, written and read. A run file may come from anybody: pydantic checks it field by field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Kind, Place, Unit
from citewise.evaluation.compare import Ablation, Difference
from citewise.evaluation.json_files import read_json, validated
from citewise.evaluation.runs import SUMS, Outcome, Run, measured

DECIMALS = 6
MILLISECONDS = 3  # decimals
MAX_BYTES = 200_000_000
# Keys that programs may rely on; null where a run has no value.
METRICS = ("ndcg@10", "recall@5", "recall@100", "precision@5", "mrr@10", "citation_accuracy", "refusal_accuracy")
PERCENTILES = ("p50", "p95", "p99")
A_RUN = "a run is what `citewise eval SET --out RUN.json` writes"

Number = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]  # no metric and no time comes near


class _PlaceRow(BaseModel):
    model_config = ConfigDict(strict=True)

    document: str
    section: str
    lines: Annotated[list[int], Field(min_length=2, max_length=2)] | None
    chunk: str | None
    grade: int

    def place(self) -> Place:
        first, last = self.lines or (None, None)
        return Place(self.document, self.section, first, last, self.chunk, self.grade)


class _QuestionRow(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    question: str
    kind: Annotated[Kind, Field(strict=False)]
    group: str
    measures: dict[str, Number | None]
    latency_ms: Number
    expected: list[_PlaceRow]
    found: list[_PlaceRow]
    answer: str | None
    refused: bool | None
    expected_answer: str | None = None


class _RunRow(BaseModel):
    model_config = ConfigDict(strict=True)

    set: str
    unit: Annotated[Unit, Field(strict=False)]
    metrics: dict[str, Number | None]
    latency_ms: dict[str, Number | None]
    stages_ms: dict[str, Number | None]
    settings: dict[str, object]
    commit: str | None
    groups: dict[str, dict[str, Number | None]]
    questions: list[_QuestionRow]


def read_run(file: Path) -> Run:
    """The run in a file. BadRequest if it is not a run, BadData if it contradicts itself."""
    try:
        tree = read_json(file, max_bytes=MAX_BYTES)
    except BadRequest as error:
        raise BadRequest(f"{error}; {A_RUN}") from error
    if not isinstance(tree, dict) or not tree.keys() >= {"set", "metrics", "questions"}:
        raise BadRequest(f"{file} is not a run: {_hint(tree)}{A_RUN}")
    row = validated(_RunRow, tree, where=str(file))
    seen: set[str] = set()
    for question in row.questions:
        if question.id in seen:
            raise BadData(f"{file}: the id {question.id!r} occurs twice: make the run again")
        seen.add(question.id)
    return Run(
        set=row.set,
        unit=row.unit,
        outcomes=tuple(
            Outcome(
                question.id,
                question.question,
                question.kind,
                question.group,
                _measures(f"{file}: question {question.id}", question.measures),
                question.latency_ms,
                tuple(each.place() for each in question.expected),
                tuple(each.place() for each in question.found),
                question.answer,
                question.refused,
                question.expected_answer,
            )
            for question in row.questions
        ),
        metrics=_measures(f"{file}: metrics", row.metrics),
        groups={name: _measures(f"{file}: group {name}", group) for name, group in row.groups.items()},
        latency_ms=_present(row.latency_ms),
        stages_ms=_present(row.stages_ms),
        settings=row.settings,
        commit=row.commit,
    )


def _hint(tree: object) -> str:
    """What a file that is not a run seems to be instead."""
    if isinstance(tree, dict) and "ablations" in tree:
        return "it has ablations, which are already compared with each other; "
    entries = tree.get("questions") if isinstance(tree, dict) else tree
    if isinstance(entries, list) and entries and isinstance(entries[0], dict) and "question" in entries[0]:
        return "it is a question file; "
    return ""


def _measures(where: str, values: Mapping[str, float | None]) -> dict[str, float]:
    present = _present(values)
    for name, value in present.items():
        if value < 0 or (value > 1 and name not in SUMS):
            raise BadData(f"{where}: {name} is {value:g}, and every metric is in 0..1: make the run again")
    return present


def _present(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def run_json(run: Run) -> dict[str, object]:
    """The output of `eval`: the keys that programs rely on, then what `eval compare` needs."""
    return {
        "set": run.set,
        "queries": run.queries,
        "metrics": {**dict.fromkeys(METRICS), **_rounded(run.metrics, DECIMALS)},
        "latency_ms": {**dict.fromkeys(PERCENTILES), **_rounded(run.latency_ms, MILLISECONDS)},
        "settings": dict(run.settings),
        "commit": run.commit,
        "unit": run.unit.value,
        "questions_measured": measured(run.outcomes),
        "groups": {name: _rounded(metrics, DECIMALS) for name, metrics in run.groups.items()},
        "stages_ms": _rounded(run.stages_ms, MILLISECONDS),
        "questions": [
            {
                "id": outcome.id,
                "question": outcome.question,
                "kind": outcome.kind.value,
                "group": outcome.group,
                "measures": _rounded(outcome.measures, DECIMALS),
                "latency_ms": round(outcome.latency_ms, MILLISECONDS),
                "expected": [_place_json(place) for place in outcome.expected],
                "found": [_place_json(place) for place in outcome.found],
                "answer": outcome.answer,
                "refused": outcome.is_refused,
                "expected_answer": outcome.expected_answer,
            }
            for outcome in run.outcomes
        ],
    }


def _place_json(place: Place) -> dict[str, object]:
    return {
        "document": place.document,
        "section": place.section,
        "lines": None if place.first_line is None else [place.first_line, place.last_line],
        "chunk": place.chunk,
        "grade": place.grade,
    }


def difference_json(difference: Difference) -> dict[str, object]:
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


def ablations_json(ablations: tuple[Ablation, ...]) -> dict[str, object]:
    run = ablations[0].run
    return {
        "set": run.set,
        "queries": run.queries,
        "settings": dict(run.settings),
        "commit": run.commit,
        "ablations": [
            {
                "name": ablation.name,
                "metrics": _rounded(ablation.run.metrics, DECIMALS),
                "latency_ms": _rounded(ablation.run.latency_ms, MILLISECONDS),
                "against_everything": [difference_json(each) for each in ablation.differences],
            }
            for ablation in ablations
        ],
    }


def _rounded(values: Mapping[str, float], decimals: int) -> dict[str, float]:
    return {name: round(value, decimals) for name, value in values.items()}
