"""How metrics are ordered, explained and written; what makes a question a poor one."""

from collections.abc import Iterable
from dataclasses import dataclass

from citewise.evaluation.compare import LOWER_IS_BETTER, primary_metric
from citewise.evaluation.page.figures import figure, share
from citewise.evaluation.runs import Outcome, Run
from citewise.evaluation.summary import SUMS

MAIN = (
    "ndcg@10",
    "recall@5",
    "recall@100",
    "precision@5",
    "mrr@10",
    "citation_accuracy",
    "refusal_accuracy",
    "selected_accuracy",
    "selected_leaks",
)
POOR = 0.5  # of a question's worth. 0: only what failed altogether is poor; 1: everything short of perfect
_ALSO_COUNTS = ("citation_accuracy", "refusal_accuracy", "selected_accuracy", "selected_leaks")
_MEANINGS = {
    "ndcg": "what answers, and how high it stands",
    "recall": "what answers is among the first {}",
    "gold_recall": "how many of all places that answer are among the first {}",
    "precision": "how many of the first {} answer",
    "success": "anything that answers is among the first {}",
    "mrr": "how high the first full answer stands",
    "citation_accuracy": "citations that stand in the file as cited",
    "citation_relevance": "citations of a place that was expected",
    "refusal_accuracy": "answered if and only if there is an answer",
    "answered": "answerable questions that got an answer",
    "refused": "unanswerable questions that were refused",
    "selected_accuracy": "the same, of questions about selected text",
    "selected_leaks": "answers that show more than the selection",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """An outcome, the measure it is poorest at, and its worth by that, in 0..1; None if nothing was measured."""

    outcome: Outcome
    metric: str | None = None
    worth: float | None = None

    @property
    def is_poor(self) -> bool:
        return self.worth is not None and self.worth < POOR


def in_order(names: Iterable[str]) -> list[str]:
    """The usual metrics first, in the usual order; then the others, recall@5 before recall@20."""
    given = set(names)
    return [*main_metrics(given), *sorted(given.difference(MAIN), key=_by_depth)]


def main_metrics(names: Iterable[str]) -> list[str]:
    given = set(names)
    return [name for name in MAIN if name in given]


def meaning(metric: str) -> str:
    name, _, depth = metric.partition("@")
    return _MEANINGS.get(name, "").format(depth)


def is_share(metric: str) -> bool:
    """Whether the metric lives in 0..1; the others are counts."""
    return metric not in SUMS


def written(metric: str, value: float | None) -> str:
    return share(value) if is_share(metric) else figure(value)


def judged(run: Run) -> list[Judged]:
    """All outcomes, the poorest first; a question that nothing was measured of comes last."""
    main = primary_metric(run)
    found = [_judged(outcome, main) for outcome in run.outcomes]
    return sorted(found, key=lambda one: (one.worth is None, one.worth or 0.0, one.outcome.id))


def counting(found: Iterable[Judged], run: Run) -> list[str]:
    """The measures that such a worth may be of, those that this run has."""
    measured = {name for one in found for name in one.outcome.measures}
    return [name for name in (primary_metric(run) or "", *_ALSO_COUNTS) if name in measured]


def _judged(outcome: Outcome, main: str | None) -> Judged:
    """By the worst of what counts: a question whose passage came first and that was refused is a poor one."""
    names = [name for name in (main or "", *_ALSO_COUNTS) if name in outcome.measures]
    if not names:
        return Judged(outcome)
    worths = {name: _worth(name, outcome.measures[name]) for name in names}
    worst = min(names, key=lambda name: worths[name])
    return Judged(outcome, worst, worths[worst])


def _worth(metric: str, value: float) -> float:
    return 1 - min(value, 1.0) if metric in LOWER_IS_BETTER else value


def _by_depth(metric: str) -> tuple[str, int]:
    name, _, depth = metric.partition("@")
    return name, int(depth) if depth.isdecimal() and len(depth) < 10 else 0
