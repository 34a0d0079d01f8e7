"""Cheap features of a candidate's text, and the search for weights that hold on sets which took no part in it. Pure.

Every feature is a share in 0..1 of the question's terms, each weighing as much as it is rare among the candidates.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from benchmarks.lab_pools import Numbers

TITLE, PROXIMITY, RARE_PROXIMITY, WINDOW_20, WINDOW_40 = (
    *("title", "proximity", "proximity by rarity"),
    *("window of 20", "window of 40"),
)
FEATURES = (TITLE, PROXIMITY, RARE_PROXIMITY, WINDOW_20, WINDOW_40)
SIZES = (20, 40)  # terms of the windows
GAIN = 1e-4  # of the mean over sets, below which a step is no step: a hundredth of what the intervals span

Weights = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Worded:
    """A chunk as terms: its headings, and its text in order."""

    title: frozenset[str]
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A question's terms in one text, by where they stand."""

    places: tuple[tuple[int, str], ...]

    @property
    def by_term(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, term in self.places:
            found.setdefault(term, []).append(at)
        return found


def features(question: Sequence[str], candidates: Sequence[Worded]) -> Numbers:
    """Feature x candidate, in the order of FEATURES."""
    wanted = frozenset(question)
    seen = [_Seen(tuple((at, term) for at, term in enumerate(one.text) if term in wanted)) for one in candidates]
    rarity = local_rarity(wanted, candidates)
    total = sum(rarity.values()) or 1.0
    rows = [
        [sum(rarity[term] for term in wanted & one.title) / total for one in candidates],
        [proximity(one.by_term, question, dict.fromkeys(wanted, 1.0)) for one in seen],
        [proximity(one.by_term, question, rarity) for one in seen],
        *([best_window(one.places, rarity, size) / total for one in seen] for size in SIZES),
    ]
    return np.array(rows).reshape(len(FEATURES), -1)


def local_rarity(wanted: frozenset[str], candidates: Sequence[Worded]) -> Mapping[str, float]:
    """How much each term tells the candidates apart: log(1 + n / (1 + how many have it))."""
    having = Counter(term for one in candidates for term in wanted & (one.title | frozenset(one.text)))
    return {term: math.log(1 + len(candidates) / (1 + having[term])) for term in wanted}


def proximity(places: Mapping[str, list[int]], question: Sequence[str], weights: Mapping[str, float]) -> float:
    """Over neighbors in the question, the mean of 1 / their least distance in the text; 0 where one is missing."""
    gained = total = 0.0
    for one, other in pairwise(question):
        weight = weights[one] + weights[other]
        total += weight
        if one in places and other in places:
            gained += weight / (min(abs(a - b) for a in places[one] for b in places[other]) or 1)
    return gained / total if total else 0.0


def best_window(places: Sequence[tuple[int, str]], weights: Mapping[str, float], size: int) -> float:
    """The largest sum of weights of different terms that stand within `size` terms of each other."""
    held: Counter[str] = Counter()
    best = now = 0.0
    start = 0
    for at, term in places:
        held[term] += 1
        now += weights[term] if held[term] == 1 else 0.0
        while at - places[start][0] >= size:
            gone = places[start][1]
            held[gone] -= 1
            now -= weights[gone] if held[gone] == 0 else 0.0
            start += 1
        best = max(best, now)
    return best


def climbed(start: Weights, goal: Callable[[Weights], float], steps: Sequence[float]) -> Weights:
    """Coordinate ascent: one weight after the other, up or down by a step, while the goal rises; none below 0."""
    here, best = start, goal(start)
    for step in steps:
        is_moving = True
        while is_moving:
            is_moving = False
            for at, change in product(range(len(start)), (step, -step)):
                there = (*here[:at], round(here[at] + change, 6), *here[at + 1 :])
                reached = goal(there) if min(there) >= 0 else -math.inf
                if reached > best + GAIN:
                    here, best, is_moving = there, reached, True
    return here


def spread(found: Numbers) -> Numbers:
    """Each feature stretched to 0..1 over the candidates; one that tells nothing apart is 0."""
    low, high = found.min(axis=1, keepdims=True), found.max(axis=1, keepdims=True)
    return np.asarray((found - low) / np.where(high > low, high - low, 1.0))
