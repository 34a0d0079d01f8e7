"""Two runs, question by question: what changed, and whether chance alone would do as much.

Both tests are seeded, so that the same two runs always give the same numbers.
"""

import math
import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from citewise.evaluation.runs import Difference, Outcome, Run

SEED = 20_240_229
TRIALS = 10_000  # of the randomization test, where there are too many ways to try each; p is then sure to about 0.004
EXACT_QUESTIONS = 16  # that differ: up to 65,536 ways of swapping them, each of which is tried
MAX_RESAMPLES = 2_000  # of the bootstrap
MAX_DRAWS = 2_000_000  # in all of it, so that thousands of questions take seconds too
SIGNIFICANT = 0.05
LOWER_IS_BETTER = frozenset({"selected_leaks"})
PRIMARY = ("ndcg@10", "recall@5", "refusal_accuracy", "selected_accuracy")  # the first that both runs have

_NOISE = 1e-12  # between sums of the same numbers in another order
_BITS = 8


class Verdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Changed:
    """One question in both runs."""

    before: Outcome
    after: Outcome
    change: float


@dataclass(frozen=True, slots=True)
class OtherSetting:
    """A setting that is not the same in both runs; None where a run does not name it: it is as it comes."""

    name: str
    before: object
    after: object


def other_settings(before: Run, after: Run) -> tuple[OtherSetting, ...]:
    """What was chosen differently, in the order in which the runs name it."""
    names = dict.fromkeys((*before.settings, *after.settings))
    pairs = (OtherSetting(name, before.settings.get(name), after.settings.get(name)) for name in names)
    return tuple(one for one in pairs if one.before != one.after)


def lonely_metrics(run: Run, other: Run) -> tuple[str, ...]:
    """What a run measured and the other did not: nothing of it is compared."""
    return tuple(name for name in run.metrics if name not in other.metrics)


def differences(before: Run, after: Run, metrics: Iterable[str] | None = None) -> tuple[Difference, ...]:
    """Each metric over the questions that have it in both runs."""
    names = list(before.metrics if metrics is None else metrics)
    pairs = [(name, _paired(before, after, name)) for name in names]
    return tuple(_difference(name, paired) for name, paired in pairs if paired)


def verdict(difference: Difference) -> Verdict:
    """What the numbers allow to be said."""
    if not difference.better and not difference.worse:
        return Verdict.SAME
    if difference.p_value >= SIGNIFICANT:
        return Verdict.UNCLEAR
    is_up = difference.change > 0
    return Verdict.BETTER if is_up is not (difference.metric in LOWER_IS_BETTER) else Verdict.WORSE


def primary_metric(run: Run) -> str | None:
    """The metric that questions are ordered by."""
    return next((name for name in PRIMARY if name in run.metrics), None)


def changed_most(before: Run, after: Run, metric: str) -> tuple[Changed, ...]:
    """The questions whose measure changed, those that changed most first."""
    later = {_asked(outcome): outcome for outcome in after.outcomes}
    pairs = [
        Changed(one, later[_asked(one)], later[_asked(one)].measures[metric] - one.measures[metric])
        for one in before.outcomes
        if metric in one.measures and _asked(one) in later and metric in later[_asked(one)].measures
    ]
    return tuple(sorted((one for one in pairs if one.change), key=lambda one: (-abs(one.change), one.before.id)))


def common_questions(before: Run, after: Run) -> int:
    return len({_asked(one) for one in before.outcomes} & {_asked(one) for one in after.outcomes})


def _asked(outcome: Outcome) -> tuple[str, str]:
    """The same question has the same id and the same words: sets are numbered alike."""
    return outcome.id, outcome.question


def _paired(before: Run, after: Run, metric: str) -> list[tuple[float, float]]:
    later = {_asked(outcome): outcome.measures for outcome in after.outcomes}
    return [
        (one.measures[metric], later[_asked(one)][metric])
        for one in before.outcomes
        if metric in one.measures and metric in later.get(_asked(one), {})
    ]


def _difference(metric: str, paired: Sequence[tuple[float, float]]) -> Difference:
    changes = [after - before for before, after in paired]
    low, high = bootstrap_interval(changes)
    return Difference(
        metric=metric,
        before=statistics.fmean(before for before, _ in paired),
        after=statistics.fmean(after for _, after in paired),
        questions=len(paired),
        better=sum(change > _NOISE for change in changes),
        worse=sum(change < -_NOISE for change in changes),
        low=low,
        high=high,
        p_value=randomization_p(changes),
    )


def randomization_p(changes: Sequence[float]) -> float:
    """How often swapping the two runs' values at random, question by question, gives as large a mean difference.

    Two-sided (Fisher's paired randomization test). Every way is tried where few questions differ.
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
        ways = 1 << len(differing)
        return sum(is_as_large(way.to_bytes(len(tables), "little")) for way in range(ways)) / ways
    draw = random.Random(SEED)
    extreme = sum(is_as_large(draw.randbytes(len(tables))) for _ in range(TRIALS))
    return (1 + extreme) / (1 + TRIALS)


def _partial_sums(values: Sequence[float]) -> list[float]:
    """The sum of each subset, by its bits: a byte of random bits is then one look-up."""
    sums = [0.0]
    for value in values:
        sums += [known + value for known in sums]
    return sums


def bootstrap_interval(changes: Sequence[float]) -> tuple[float, float]:
    """Between which two values the mean difference lies in 95 of 100 draws of as many questions."""
    if len(changes) < 2 or not any(changes):
        mean = statistics.fmean(changes) if changes else 0.0
        return mean, mean
    draw = random.Random(SEED)
    resamples = max(200, min(MAX_RESAMPLES, MAX_DRAWS // len(changes)))
    drawn = sorted(math.fsum(draw.choices(changes, k=len(changes))) / len(changes) for _ in range(resamples))
    tail = round(0.025 * (resamples - 1))
    return drawn[tail], drawn[-1 - tail]
