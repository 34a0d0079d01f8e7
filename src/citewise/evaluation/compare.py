"""Compare two runs, question by question: what changed, and whether it may be chance.

Both tests are seeded, so that the same two runs always give the same numbers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from citewise.evaluation.runs import SUMS, QuestionResult, Run

SEED = 20_240_229
TRIALS = 10_000  # of the randomization test, where there are too many swaps to try all; p is then exact to about 0.004
EXACT_QUESTIONS = 16  # that differ: up to 65,536 swaps, all of which are tried
RESAMPLES = 2_000  # of the bootstrap
MAX_CELLS = 1_000_000  # random numbers drawn at once, so that many questions take no more memory
SIGNIFICANT = 0.05

Floats = npt.NDArray[np.float64]
Verdict = Literal["better", "worse", "unclear", "same"]

_NOISE = 1e-12  # between sums of the same numbers in another order


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric in two runs, over the questions that both have."""

    metric: str
    before: float
    after: float
    change: float
    interval: tuple[float, float]  # 95 % of the mean difference, by bootstrap
    p: float  # two-sided, by a paired randomization test
    questions: int
    better: int  # questions for which `after` is higher
    worse: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Ablation:
    """One row of the ablation table: a run without one part of the search."""

    name: str  # "everything", "without dense", …
    run: Run
    differences: tuple[Difference, ...]  # from everything; empty for that row itself


@dataclass(frozen=True)
class Comparison:
    """Two runs, by the questions of both. A question is the same by id and text: ids are often just numbers."""

    before: Run
    after: Run

    @cached_property
    def pairs(self) -> Sequence[tuple[QuestionResult, QuestionResult]]:
        later = {(question.id, question.question): question for question in self.after.questions}
        keys = ((question, (question.id, question.question)) for question in self.before.questions)
        return [(question, later[key]) for question, key in keys if key in later]

    def differences(self, metrics: Iterable[str] | None = None) -> tuple[Difference, ...]:
        """Each metric over the questions that have it in both runs."""
        measures = [(first.measures, second.measures) for first, second in self.pairs]
        values = {
            name: [(first[name], second[name]) for first, second in measures if name in first and name in second]
            for name in (self.before.metrics if metrics is None else metrics)
        }
        return tuple(_difference(name, pairs) for name, pairs in values.items() if pairs)

    def changed_most(self, metric: str) -> list[tuple[QuestionResult, float, float]]:
        """The questions with another value of a metric, with both values, those that changed most first."""
        changed = [
            (first, first.measures[metric], second.measures[metric])
            for first, second in self.pairs
            if metric in first.measures
            and first.measures[metric] != second.measures.get(metric, first.measures[metric])
        ]
        return sorted(changed, key=lambda row: (-abs(row[2] - row[1]), row[0].id))

    @property
    def settings(self) -> Mapping[str, tuple[object, object]]:
        """The settings that differ, with both values; None where a run does not name one, because it is the default."""
        before, after = self.before.settings, self.after.settings
        pairs = {name: (before.get(name), after.get(name)) for name in (*before, *after)}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _difference(metric: str, pairs: Sequence[tuple[float, float]]) -> Difference:
    before, after = np.array(pairs).T
    changes = after - before
    changes[np.abs(changes) < _NOISE] = 0.0
    better, worse, change = int((changes > 0).sum()), int((changes < 0).sum()), float(changes.mean())
    p = _randomization_p(changes[changes != 0])
    verdict: Verdict = "unclear" if better or worse else "same"
    if p < SIGNIFICANT:
        verdict = "better" if (change > 0) is not (metric in SUMS) else "worse"
    return Difference(
        metric=metric,
        before=float(before.mean()),
        after=float(after.mean()),
        change=change,
        interval=_bootstrap_interval(changes),
        p=p,
        questions=len(pairs),
        better=better,
        worse=worse,
        verdict=verdict,
    )


def _randomization_p(changes: Floats) -> float:
    """How often swapping the two runs' values at random, question by question, gives as large a mean difference.

    Two-sided (Fisher's paired randomization test). Every swap is tried where few questions differ.
    """
    count = len(changes)
    threshold = abs(changes.sum()) - _NOISE * count

    def extreme(swapped: npt.NDArray[np.int64]) -> int:
        return int((np.abs((1 - 2 * swapped) @ changes) >= threshold).sum())

    if count <= EXACT_QUESTIONS:
        return extreme((np.arange(1 << count)[:, None] >> np.arange(count)) & 1) / (1 << count)
    draw = np.random.default_rng(SEED)
    trials = sum(extreme(draw.integers(0, 2, (rows, count))) for rows in _blocks(TRIALS, count))
    return (1 + trials) / (1 + TRIALS)


def _bootstrap_interval(changes: Floats) -> tuple[float, float]:
    """The 95 % interval of the mean difference over draws of as many questions."""
    draw = np.random.default_rng(SEED)
    count = len(changes)
    means = [draw.choice(changes, (rows, count)).mean(axis=1) for rows in _blocks(RESAMPLES, count)]
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return float(low), float(high)


def _blocks(rows: int, columns: int) -> Iterator[int]:
    """A table of random numbers as blocks of rows, since all of it may not fit in memory."""
    step = max(1, MAX_CELLS // columns)
    return (min(step, rows - done) for done in range(0, rows, step))
