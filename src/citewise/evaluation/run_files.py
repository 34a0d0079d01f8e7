"""Runs as JSON, written and read. A run file may come from anybody: pydantic checks it field by field."""

from collections import Counter
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from citewise.errors import BadData, BadRequest
from citewise.evaluation.compare import Ablation, Difference
from citewise.evaluation.json_files import problem_in, read_bytes
from citewise.evaluation.runs import SUMS, Run, measured

DECIMALS = 6
MAX_BYTES = 200_000_000
# Keys that programs may rely on; null where a run has no value.
METRICS = ("ndcg@10", "recall@5", "recall@100", "precision@5", "mrr@10", "citation_accuracy", "refusal_accuracy")
PERCENTILES = ("p50", "p95", "p99")
A_RUN = "a run is what `citewise eval SET --out RUN.json` writes"

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
        "metrics": {**dict.fromkeys(METRICS), **tree.pop("metrics")},
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
                "metrics": _rounded(dict(ablation.run.metrics)),
                "latency_ms": _rounded(dict(ablation.run.latency_ms)),
                "against_everything": [difference_json(each) for each in ablation.differences],
            }
            for ablation in ablations
        ],
    }
