"""What the places of words add to the fused score: title and proximity, as the product's stage counts them.

Each weight alone, both together, and weights that are climbed to on all sets but one and tried on that one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from benchmarks.lab_choice import Alternative, Parts, change, mean_worth
from benchmarks.lab_pools import Numbers, Pool, Worths, measured, stretched
from benchmarks.lab_rows import DEFAULT, Lab
from benchmarks.lab_sets import Corpus
from benchmarks.printing import DECIMALS
from benchmarks.results import Cell, Table
from citewise.model.query import FEATURE_WEIGHTS, FEATURES
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.search.rescore import Features
from citewise.text.analysis import terms
from citewise.text.positions import term_positions

TRIED = (0.05, 0.1, 0.2, 0.3)  # of a fused score in 0..1; 0: the feature says nothing
STEPS = (0.1, 0.05)  # of the ascent
GAIN = 1e-4  # of the mean over sets, below which a step is no step: a hundredth of what the intervals span
ROWS = (DENSE, WORDS, CODE, *FEATURES)
CLIMBED = (WORDS, CODE, *FEATURES)

Weights = tuple[float, ...]


def features(question: str, headings: Sequence[str], texts: Sequence[str]) -> Numbers:
    """Feature x candidate, in the order of FEATURES."""
    words = terms(question).words
    different = frozenset(words)
    places = term_positions([*headings, *texts], different)
    pairs = [(word, following) for word, following in pairwise(words) if word != following]
    titles = [len(found) / max(len(different), 1) for found in places[: len(headings)]]
    return np.array([titles, [Features.proximity(pairs, found) for found in places[len(headings) :]]])


@dataclass(frozen=True, slots=True)
class _Candidates:
    """A pool, and for each candidate the parts of its fused score and its features, in the order of ROWS."""

    pool: Pool
    rows: Numbers


class FeatureLab:
    """The pools of a lab with the features of their candidates, and what any weighting of them is worth."""

    def __init__(self, lab: Lab) -> None:
        self.parts = lab.parts
        self._known: dict[Weights, Worths] = {}
        corpora = {stratum: lab.sets[name].corpus for name, strata in lab.parts.items() for stratum in strata}
        self._candidates = {
            stratum: [_with_features(pool, corpora[stratum]) for pool in pools] for stratum, pools in lab.pools.items()
        }

    def worths(self, weights: Mapping[str, float]) -> Worths:
        """With these weights instead of the default's, which have 0 for every feature; remembered."""
        usual = {DENSE: DEFAULT[0], WORDS: DEFAULT[1], CODE: DEFAULT[2]}
        row = tuple({**usual, **weights}.get(name, 0.0) for name in ROWS)
        if row not in self._known:
            self._known[row] = measured(
                {
                    stratum: [(question.pool, np.array(row) @ question.rows) for question in questions]
                    for stratum, questions in self._candidates.items()
                }
            )
        return self._known[row]


def _with_features(pool: Pool, corpus: Corpus) -> _Candidates:
    parts = stretched(pool) / sum(DEFAULT)
    pieces = [corpus[id_].piece for id_ in pool.ids]
    headings = [" ".join(piece.breadcrumb) for piece in pieces]
    return _Candidates(pool, np.vstack([parts, features(pool.question, headings, [piece.text for piece in pieces])]))


def feature_rows(lab: FeatureLab) -> list[Alternative]:
    both = ", ".join(f"{name} {weight}" for name, weight in FEATURE_WEIGHTS.items())
    alone = [(name, weight) for name in FEATURES for weight in TRIED]
    return [
        Alternative("none", lab.worths({})),
        Alternative(f"{both} (default)", lab.worths(FEATURE_WEIGHTS)),
        *(Alternative(f"{name} {weight}", lab.worths({name: weight})) for name, weight in alone),
    ]


def ascent_table(lab: FeatureLab, title: str, note: str) -> Table:
    """Weights climbed to on all sets but one, and what they give on that one; then on all sets."""
    usual = lab.worths({})
    unseen: dict[str, Numbers] = {}
    rows: list[tuple[Cell, ...]] = []
    for name, strata in lab.parts.items():
        others = {other: parts for other, parts in lab.parts.items() if other != name}
        weights = _climbed(lab, others)
        found = lab.worths(weights)
        unseen |= {stratum: found[stratum] for stratum in strata}
        rows.append((f"without {name}", *weights.values(), *_changes(found, usual, {name: strata})))
    weights = _climbed(lab, lab.parts)
    rows.append(("each set by the others' weights", *[None] * len(CLIMBED), *_changes(unseen, usual, lab.parts)))
    on_all = _changes(lab.worths(weights), usual, lab.parts)
    rows.append(("on all sets, in sight of them", *weights.values(), *on_all))
    columns = ("", *CLIMBED, "no features give", "these give", "difference", "95 % from", "to")
    return Table(title, columns, tuple(rows), note)


def _climbed(lab: FeatureLab, parts: Parts) -> Mapping[str, float]:
    def goal(weights: Weights) -> float:
        return mean_worth(lab.worths(dict(zip(CLIMBED, weights, strict=True))), parts)

    start = (DEFAULT[1], DEFAULT[2], *[0.0] * len(FEATURES))
    return dict(zip(CLIMBED, climbed(start, goal, STEPS), strict=True))


def climbed(start: Weights, goal: Callable[[Weights], float], steps: Sequence[float]) -> Weights:
    """Coordinate ascent: one weight after the other, up or down by a step, while the goal rises; none below 0."""
    here, best = start, goal(start)
    for step in steps:
        is_moving = True
        while is_moving:
            is_moving = False
            for at, move in product(range(len(start)), (step, -step)):
                there = (*here[:at], round(here[at] + move, 6), *here[at + 1 :])
                reached = goal(there) if min(there) >= 0 else -math.inf
                if reached > best + GAIN:
                    here, best, is_moving = there, reached, True
    return here


def _changes(found: Worths, usual: Worths, parts: Parts) -> tuple[Cell, ...]:
    gained = change(found, usual, parts)
    means = (mean_worth(usual, parts), mean_worth(found, parts))
    return tuple(round(value, DECIMALS) for value in (*means, gained.mean, gained.low, gained.high))
