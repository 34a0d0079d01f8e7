"""Compare two runs, question by question: what changed, and whether it may be chance.

Both tests are seeded, so that the same two runs always give the same numbers.
"""

import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from citewise.evaluation.runs import SUMS, QuestionResult, Run

SEED = 20_240_229
TRIALS = 10_000  # of the randomization test, where there are too many swaps to try all; p is then exact to about 0.004
EXACT_QUESTIONS = 16  # that differ: up to 65,536 swaps, all of which are tried
MAX_RESAMPLES = 2_000  # of the bootstrap
MAX_DRAWS = 2_000_000  # in the whole bootstrap, so that thousands of questions take seconds too
SIGNIFICANT = 0.05
PRIMARY = ("ndcg@10", "recall@5", "refusal_accuracy", "selected_accuracy")  # the first that a run has

_NOISE = 1e-12  # between sums of the same numbers in another order
_BITS = 8


class Verdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric in two runs, over the questions that both have."""

    metric: str
    before: float
    after: float
    questions: int
    better: int  # questions for which `after` is higher
    worse: int
    low: float  # 95 % interval of the mean difference, by bootstrap
    high: float
    p_value: float  # two-sided, by a paired randomization test

    @property
    def change(self) -> float:
        return self.after - self.before

    @property
    def verdict(self) -> Verdict:
        if not self.better and not self.worse:
            return Verdict.SAME
        if self.p_value >= SIGNIFICANT:
            return Verdict.UNCLEAR
        return Verdict.BETTER if (self.change > 0) is not (self.metric in SUMS) else Verdict.WORSE


@dataclass(frozen=True, slots=True)
class Ablation:
    """One row of the ablation table: a run without one part of the search."""

    name: str  # "everything", "without dense", …
    run: Run
    differences: tuple[Difference, ...]  # from everything; empty for that row itself


def changed_settings(before: Run, after: Run) -> Mapping[str, tuple[object, object]]:
    """The settings that differ, with both values; None where a run does not name one, because it is the default."""
    names = dict.fromkeys((*before.settings, *after.settings))
    pairs = {name: (before.settings.get(name), after.settings.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def differences(before: Run, after: Run, metrics: Iterable[str] | None = None) -> tuple[Difference, ...]:
    """Each metric over the questions that have it in both runs."""
    pairs = _paired(before, after)
    values = {
        name: [(a.measures[name], b.measures[name]) for a, b in pairs if name in a.measures and name in b.measures]
        for name in (before.metrics if metrics is None else metrics)
    }
    return tuple(_difference(name, paired) for name, paired in values.items() if paired)


def primary_metric(run: Run) -> str | None:
    """The metric by which questions are ordered."""
    return next((name for name in PRIMARY if name in run.metrics), None)


def changed_most(before: Run, after: Run, metric: str) -> tuple[tuple[QuestionResult, float, float], ...]:
    """The questions with another value of a metric, with both values, those that changed most first."""
    changed = [
        (first, first.measures[metric], second.measures[metric])
        for first, second in _paired(before, after)
        if metric in first.measures and first.measures[metric] != second.measures.get(metric, first.measures[metric])
    ]
    return tuple(sorted(changed, key=lambda each: (-abs(each[2] - each[1]), each[0].id)))


def common_questions(before: Run, after: Run) -> int:
    return len(_paired(before, after))


def _paired(before: Run, after: Run) -> list[tuple[QuestionResult, QuestionResult]]:
    """The questions of both runs. The same question has the same id and text: ids alone are often just numbers."""
    later = {(outcome.id, outcome.question): outcome for outcome in after.outcomes}
    pairs = ((outcome, later.get((outcome.id, outcome.question))) for outcome in before.outcomes)
    return [(first, second) for first, second in pairs if second is not None]


def _difference(metric: str, paired: Sequence[tuple[float, float]]) -> Difference:
    changes = [after - before for before, after in paired]
    low, high = _bootstrap_interval(changes)
    return Difference(
        metric=metric,
        before=statistics.fmean(before for before, _ in paired),
        after=statistics.fmean(after for _, after in paired),
        questions=len(paired),
        better=sum(change > _NOISE for change in changes),
        worse=sum(change < -_NOISE for change in changes),
        low=low,
        high=high,
        p_value=_randomization_p(changes),
    )


def _randomization_p(changes: Sequence[float]) -> float:
    """How often swapping the two runs' values at random, question by question, gives as large a mean difference.

    Two-sided (Fisher's paired randomization test). Every swap is tried where few questions differ.
    """
    differing = [change for change in changes if abs(change) > _NOISE]
    if not differing:
        return 1.0
    total = math.fsum(differing)
    tables = [_partial_sums(differing[at : at + _BITS]) for at in range(0, len(differing), _BITS)]

    def is_as_large(swapped: bytes) -> bool:
        moved = sum(table[byte % len(table)] for table, byte in zip(tables, swapped, strict=True))
        return abs(total - 2 * moved) >= abs(total) - _NOISE * len(differing)

    if len(differing) <= EXACT_QUESTIONS:
        swaps = 1 << len(differing)
        return sum(is_as_large(swap.to_bytes(len(tables), "little")) for swap in range(swaps)) / swaps
    draw = random.Random(SEED)
    extreme = sum(is_as_large(draw.randbytes(len(tables))) for _ in range(TRIALS))
    return (1 + extreme) / (1 + TRIALS)


def _partial_sums(values: Sequence[float]) -> list[float]:
    """The sum of each subset, by its bits: a byte of random bits is then one lookup."""
    sums = [0.0]
    for value in values:
        sums += [known + value for known in sums]
    return sums


def _bootstrap_interval(changes: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean difference over draws of as many questions."""
    if len(changes) < 2 or not any(changes):
        mean = statistics.fmean(changes) if changes else 0.0
        return mean, mean
    draw = random.Random(SEED)
    resamples = max(200, min(MAX_RESAMPLES, MAX_DRAWS // len(changes)))
    drawn = sorted(math.fsum(draw.choices(changes, k=len(changes))) / len(changes) for _ in range(resamples))
    tail = round(0.025 * (resamples - 1))
    return drawn[tail], drawn[-1 - tail]
