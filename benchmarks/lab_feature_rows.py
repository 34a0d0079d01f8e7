"""Cheap features on top of the fused score: each alone, together, by ascent, and on fewer candidates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.lab_choice import Alternative, Parts, change, mean_worth
from benchmarks.lab_features import (
    FEATURES,
    PROXIMITY,
    TITLE,
    WINDOW_20,
    WINDOW_40,
    Weights,
    Worded,
    climbed,
    features,
    spread,
)
from benchmarks.lab_pools import Numbers, Pool, Worths, best_places, blended, measured, nearness, stretched, worths
from benchmarks.lab_rows import DEFAULT, NEARNESS, Lab
from benchmarks.printing import DECIMALS
from benchmarks.results import Cell, Table
from citewise.model.ids import ChunkId
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.search.fuse import HALVES
from citewise.text.analysis import terms

TRIED = (0.05, 0.1, 0.2, 0.3)  # of a fused score in 0..1; 0: the feature says nothing
TOGETHER = 0.1  # of each, where several are tried
STEPS = (0.1, 0.05)  # of the ascent
DEPTHS = (20, 40, 60, 100)  # candidates whose text is looked at
ROWS = (DENSE, WORDS, CODE, *FEATURES)
CLIMBED = (WORDS, CODE, TITLE, PROXIMITY, WINDOW_20, WINDOW_40)
TRIOS = ((TITLE, PROXIMITY, WINDOW_20), (TITLE, PROXIMITY, WINDOW_40))
BEHIND = 10.0  # how far below the others candidates stand whose text is not looked at: behind all of them


@dataclass(frozen=True, slots=True)
class Described:
    """A pool, and for each candidate the arms' parts of its fused score and its features, in the order of ROWS."""

    pool: Pool
    rows: Numbers


class FeatureLab:
    """The pools of a lab with the features of their candidates, and what any weighting of them is worth."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._worded: dict[tuple[str, ChunkId], Worded] = {}
        self._sets = {stratum: name for name, strata in lab.parts.items() for stratum in strata}
        self._known: dict[Weights, Worths] = {}
        self._described = {
            stratum: [self._describe(stratum, pool) for pool in pools] for stratum, pools in lab.pools.items()
        }

    @property
    def parts(self) -> Parts:
        return self._lab.parts

    def worths(self, weights: Mapping[str, float]) -> Worths:
        """With these weights instead of the default's, which have 0 for every feature; remembered."""
        usual = {DENSE: DEFAULT[0], WORDS: DEFAULT[1], CODE: DEFAULT[2]}
        row = tuple({**usual, **weights}.get(name, 0.0) for name in ROWS)
        if row not in self._known:
            self._known[row] = self._measured(lambda one: np.array(row) @ one.rows)
        return self._known[row]

    def recipe_worths(self, names: Sequence[str], weight: float) -> Worths:
        """Plain min-max fusion, and every feature stretched over the candidates too."""
        fused = blended((HALVES[DENSE], HALVES[WORDS], HALVES[CODE]))
        at = [ROWS.index(name) for name in names]
        return self._measured(lambda one: fused(one.pool) + weight * spread(one.rows[at]).sum(axis=0))

    def worths_to_depth(self, depth: int, names: Sequence[str], weight: float) -> Worths:
        """With features of the best fused candidates only, rarity counted among those; the rest stays behind them."""
        at = [FEATURES.index(name) for name in names]

        def scored(stratum: str, pool: Pool) -> tuple[Pool, Numbers]:
            fused = NEARNESS(pool)
            places = best_places(fused, depth)
            scores = fused - BEHIND
            scores[places] = fused[places] + weight * self.features(stratum, pool.chosen(places))[at].sum(axis=0)
            return pool, scores

        pools = self._lab.pools
        return measured({stratum: [scored(stratum, pool) for pool in some] for stratum, some in pools.items()})

    def features(self, stratum: str, pool: Pool) -> Numbers:
        question = terms(pool.question).words
        return features(question, [self._words_of(self._sets[stratum], id_) for id_ in pool.ids])

    def _measured(self, scoring: Callable[[Described], Numbers]) -> Worths:
        return measured(
            {stratum: [(one.pool, scoring(one)) for one in some] for stratum, some in self._described.items()}
        )

    def _describe(self, stratum: str, pool: Pool) -> Described:
        meaning = nearness(pool)
        total = DEFAULT[0] * meaning + DEFAULT[1] + DEFAULT[2]
        parts = stretched(pool) * np.array([[meaning], [1.0], [1.0]]) / total
        return Described(pool, np.vstack([parts, self.features(stratum, pool)]))

    def _words_of(self, name: str, id_: ChunkId) -> Worded:
        key = name, id_  # two sets may hold files of the same name, whose chunks then have the same ids
        if key not in self._worded:
            piece = self._lab.asked[name].corpus[id_].piece
            title = terms(" ".join(piece.breadcrumb)).words
            self._worded[key] = Worded(frozenset(title), terms(piece.text).words)
        return self._worded[key]


def feature_rows(lab: FeatureLab) -> list[Alternative]:
    made = [Alternative("none (default)", lab.worths({}))]
    for name in FEATURES:
        made += [Alternative(f"{name} {weight}", lab.worths({name: weight})) for weight in TRIED]
    for trio in TRIOS:
        made.append(Alternative(f"{', '.join(trio)}: {TOGETHER} each", lab.worths(dict.fromkeys(trio, TOGETHER))))
    recipe = f"min-max of everything; {', '.join(TRIOS[1])}: {TOGETHER} each"
    return [*made, Alternative(recipe, lab.recipe_worths(TRIOS[1], TOGETHER))]


def depth_rows(lab: Lab, described: FeatureLab) -> list[Alternative]:
    """The same features, looked at on fewer candidates: only what is looked at has to be read."""
    trio = TRIOS[0]
    everything = Alternative("every candidate", described.worths(dict.fromkeys(trio, TOGETHER)))
    made = [Alternative("no features (default)", worths(lab.pools, NEARNESS)), everything]
    for depth in DEPTHS:
        found = described.worths_to_depth(depth, trio, TOGETHER)
        made.append(Alternative(f"the best {depth}", found))
    return made


def ascent_table(lab: FeatureLab, title: str, note: str) -> Table:
    """Weights climbed to on all sets but one, and what they give on that one; then on all sets."""
    usual = lab.worths({})
    unseen: dict[str, Numbers] = {}
    rows: list[tuple[Cell, ...]] = []
    for name, strata in lab.parts.items():
        others = {other: each for other, each in lab.parts.items() if other != name}
        weights = _climbed(lab, others)
        found = lab.worths(weights)
        unseen |= {stratum: found[stratum] for stratum in strata}
        rows.append((f"without {name}", *_ascent_cells(weights, found, usual, {name: strata})))
    weights = _climbed(lab, lab.parts)
    rows.append(("each set by the others' weights", *[None] * len(CLIMBED), *_changes(unseen, usual, lab.parts)))
    rows.append(("on all sets, in sight of them", *_ascent_cells(weights, lab.worths(weights), usual, lab.parts)))
    columns = ("", *CLIMBED, "default gives", "these give", "difference", "95 % from", "to")
    return Table(title, columns, tuple(rows), note)


def _climbed(lab: FeatureLab, parts: Parts) -> Mapping[str, float]:
    def goal(weights: Weights) -> float:
        return mean_worth(lab.worths(dict(zip(CLIMBED, weights, strict=True))), parts)

    start = (DEFAULT[1], DEFAULT[2], *[0.0] * (len(CLIMBED) - 2))
    return dict(zip(CLIMBED, climbed(start, goal, STEPS), strict=True))


def _ascent_cells(weights: Mapping[str, float], found: Worths, usual: Worths, parts: Parts) -> tuple[Cell, ...]:
    return (*weights.values(), *_changes(found, usual, parts))


def _changes(found: Worths, usual: Worths, parts: Parts) -> tuple[Cell, ...]:
    gained = change(found, usual, parts)
    means = (mean_worth(usual, parts), mean_worth(found, parts))
    return tuple(round(value, DECIMALS) for value in (*means, gained.mean, gained.low, gained.high))
