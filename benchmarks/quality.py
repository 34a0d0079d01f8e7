"""How good are search and answers on every judged set? The same harness as `citewise eval`, over all of them.

    python -m benchmarks.quality [--sets scifact,textbook]

Libraries of the sets are made once and kept in .bench/ (embedding them takes about ten minutes). Sets that the shared
data beside the checkout does not have are left out, and it says which; one that was asked for by name is an error.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.judged import DATA, KEPT, SETS, TEXTBOOK, is_there, judged_at, library_at
from benchmarks.printing import say
from benchmarks.results import RESULTS, Table, results_now, write_results
from citewise.evaluation.compare import Comparison
from citewise.evaluation.pipeline import evaluate
from citewise.evaluation.runs import Run
from citewise.model.access import OWNER
from citewise.model.ranking import RANKINGS
from citewise.settings import Settings

DEFAULT = "the default"
RRF = "rrf of the same parts"
KINDS: Mapping[str, Mapping[str, object]] = {
    DEFAULT: {},
    "without features": {"features": {}},
    "without late": {"late": 0.0},
    RRF: {"fusion": "rrf"},
    **{
        f"{ranking} alone": {"fusion": "minmax", "weights": {ranking: 1.0}, "features": {}, "late": 0.0}
        for ranking in RANKINGS
    },
}
PARAPHRASE = "paraphrase"
# Floors of the default, by set; the textbook's two are shares of questions, recall@5.
WANTED: Mapping[str, float] = {
    "scifact": 0.735,
    "api_docs": 0.81,
    "cranfield": 0.435,
    "cosqa_dev": 0.57,
    "textbook, plain": 0.90,
    "textbook, paraphrased": 0.60,
}
SHOWN = (
    "ndcg@5",
    "ndcg@10",
    "recall@5",
    "recall@100",
    "precision@5",
    "mrr@10",
    "citation_accuracy",
    "citation_relevance",
    "refusal_accuracy",
    "selected_accuracy",
    "selected_leaks",
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", help="with commas; otherwise all that are there")
    asked = arguments.parse_args().sets
    measure(asked.split(",") if asked else those_there())


def those_there(data: Path = DATA) -> list[str]:
    """Every set but those that are missing, which are named on standard error."""
    missing = [name for name in ALL if not is_there(name, data)]
    if missing:
        say(f"skipped, since the shared data is not beside the checkout: {', '.join(missing)}")
    return [name for name in ALL if name not in missing]


def measure(names: Sequence[str], *, data: Path = DATA, kept: Path = KEPT, results: Path = RESULTS) -> None:
    """Without any set, what was measured before stays as it is."""
    if not names:
        say("no quality is measured; earlier results stay")
        return
    runs: dict[str, dict[str, Run]] = {kind: {} for kind in KINDS}
    for name in names:
        judged = judged_at(name, data)
        library = library_at(name, kept=kept, data=data)
        for kind, search in KINDS.items():
            settings = Settings(library=library).changed(search=search)
            events = evaluate(settings, judged, principal=OWNER, answers=kind == DEFAULT)
            runs[kind][name] = next(event for event in events if isinstance(event, Run))
            print(f"{name:12} {kind:24}", *_worths(runs[kind][name]).items(), flush=True)
    tables = (by_set(runs), all_metrics(runs[DEFAULT]))
    made = results_now("quality", tables=tables, title=TITLE, command="make bench-quality")
    write_results(made, results)


TITLE = "Quality: every judged set"
ALL = (*SETS, TEXTBOOK)


def _worths(run: Run) -> dict[str, float]:
    """The figures that a set is held to."""
    if run.set != "questions":
        return {run.set: run.metrics["ndcg@10"]}
    return {f"textbook, {label}": _recall(run, label) for label in ("plain", "paraphrased")}


def _recall(run: Run, label: str) -> float:
    found = [question.measures["recall@5"] for question in _of_group(run, label).questions]
    return sum(found) / len(found)


def by_set(runs: Mapping[str, Mapping[str, Run]]) -> Table:
    """A row a kind, a column a figure; below them what is wanted and how sure the lead over rrf is."""
    worths = {kind: _all(of_kind.values()) for kind, of_kind in runs.items()}
    columns = tuple(worths[DEFAULT])
    rows: list[tuple[str | float | None, ...]] = [
        (kind, *(found[column] for column in columns)) for kind, found in worths.items()
    ]
    rows.append(("wanted of the default", *(WANTED.get(column) for column in columns)))
    rows.append(("p of the default against rrf", *(_p_value(runs, column) for column in columns)))
    return Table(
        "What each way of ranking finds",
        ("", *columns),
        tuple(rows),
        note=NOTE + _left_out(runs[DEFAULT]),
    )


NOTE = (
    "nDCG@10 of documents for BEIR sets; for the textbook the share of questions with a full answer among the first "
    "five passages. p: paired randomization test over the questions of the column."
)


def _left_out(measured: Iterable[str]) -> str:
    missing = [name for name in ALL if name not in measured]
    return f" Not measured: {', '.join(missing)}." if missing else ""


def _all(runs: Iterable[Run]) -> dict[str, float]:
    return {name: value for run in runs for name, value in _worths(run).items()}


def _p_value(runs: Mapping[str, Mapping[str, Run]], column: str) -> float:
    name, _, label = column.partition(", ")
    before, after = (_of_group(runs[kind][name], label) for kind in (RRF, DEFAULT))
    (difference,) = Comparison(before, after).differences(("recall@5" if label else "ndcg@10",))
    return difference.p


def _of_group(run: Run, label: str) -> Run:
    """The questions that a column of the textbook is about; all of them elsewhere."""
    if not label:
        return run
    is_paraphrased = label == "paraphrased"
    chosen = [
        question
        for question in run.questions
        if "recall@5" in question.measures and (question.group == PARAPHRASE) == is_paraphrased
    ]
    return replace(run, questions=tuple(chosen))


def all_metrics(runs: Mapping[str, Run]) -> Table:
    rows = [(name, run.queries, *(run.metrics.get(metric) for metric in SHOWN)) for name, run in runs.items()]
    note = "Of `citewise eval` with answers; docs/evaluation.md says what each counts."
    return Table("Everything that is measured of the default", ("set", "questions", *SHOWN), tuple(rows), note=note)


if __name__ == "__main__":
    main()
