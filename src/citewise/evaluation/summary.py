"""Outcomes -> one run: means, groups and percentiles."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from citewise.evaluation.runs import Outcome

SUMS = ("selected_leaks",)  # counted, not averaged: one is one too many
DECISIONS = ("refusal_accuracy", "citation_accuracy", "selected_accuracy")  # that are right or wrong


def counted(number: int, word: str, several: str | None = None) -> str:
    """`1 question`, `2 questions`."""
    return f"{number:,} {word if number == 1 else several or f'{word}s'}"


def means(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Each metric over the questions that have it."""
    values: dict[str, list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome.measures.items():
            values.setdefault(name, []).append(value)
    return {name: math.fsum(found) if name in SUMS else statistics.fmean(found) for name, found in values.items()}


def measured(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many questions each metric is over."""
    return dict(Counter(name for outcome in outcomes for name in outcome.measures))


def by_group(outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, float]]:
    """The same for each group that has a name, in order of appearance."""
    names = dict.fromkeys(outcome.group for outcome in outcomes if outcome.group)
    return {name: means(outcome for outcome in outcomes if outcome.group == name) for name in names}


def medians(timings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each stage over the searches that went through it."""
    names = dict.fromkeys(name for one in timings for name in one)
    return {name: statistics.median(one[name] for one in timings if name in one) for name in names}


def by_worth(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The worst questions first: not found, wrongly answered or refused, falsely cited; unmeasured ones last."""

    def order(outcome: Outcome) -> tuple[float, float]:
        worth = worst_measure(outcome)[1]
        return (2.0 if worth is None else worth), outcome.measures.get("ndcg@10", 1.0)

    return sorted(outcomes, key=order)


def poorest(outcomes: Iterable[Outcome], count: int) -> list[Outcome]:
    """The worst questions, without those that went perfectly."""
    return [outcome for outcome in by_worth(outcomes) if (worst_measure(outcome)[1] or 0.0) < 1.0][:count]


def worst_measure(outcome: Outcome) -> tuple[str | None, float | None]:
    """The name of the measure that a question is worst at, and its worth in 0..1, where 1 is perfect."""
    worths = {
        name: 1 - min(outcome.measures[name], 1.0) if name in SUMS else outcome.measures[name]
        for name in ("ndcg@10", *DECISIONS, *SUMS)
        if name in outcome.measures
    }
    worst = min(worths, key=lambda name: worths[name], default=None)
    return worst, None if worst is None else worths[worst]


def shortcomings(outcome: Outcome) -> list[str]:
    """In words, what was wrong about an answer; nothing about a ranking, of which a number says more."""
    measures = outcome.measures
    wrong = []
    if measures.get("refusal_accuracy") == 0.0 or measures.get("selected_accuracy") == 0.0:
        wrong.append("refused, and should have been answered" if outcome.is_refused else "answered without grounds")
    if (true := measures.get("citation_accuracy", 1.0)) < 1.0:
        wrong.append(f"only {true:.0%} of its citations are true" if true else "no citation that is true")
    if measures.get("selected_leaks"):
        wrong.append("shows what is not in the selection")
    return wrong
