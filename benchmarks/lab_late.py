"""Late interaction with other numbers than the product's: a question as the stage finds it, and tables over sets.

Pure. With the product's numbers `Blend` does what citewise.search.rescore does; a test compares them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature

import numpy as np
from numpy.typing import NDArray

from benchmarks.lab_choice import Alternative, Change, Parts, change, choices_table, table
from benchmarks.lab_pools import BY_PLACE, Numbers, Pool, Worths, measured
from benchmarks.printing import DECIMALS
from benchmarks.results import Cell, Table
from citewise.adapters.onnx import MINILM
from citewise.adapters.onnx.word_vectors import COMPONENTS_PER_BYTE, LENGTH_BONUS
from citewise.model.query import LATE_WEIGHT
from citewise.model.ranking import DENSE, Finding, Shortlist
from citewise.search.pipeline import Stage
from citewise.search.rescore import FAR, FAR_TIMES, NEAR, Late

DEPTH = int(signature(Late).parameters["depth"].default)
NEAR_DEPTH = int(signature(Late).parameters["near_depth"].default)
ROW_BYTES = MINILM.dimensions // COMPONENTS_PER_BYTE  # of one vector of words
ONE_VECTOR_BYTES = MINILM.dimensions  # what the index keeps of a chunk without late interaction
NONE = "no late interaction"
DEFAULT = " (default)"
POOL = "questions of all sets as one"
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0)  # 1: as much as all else together
BONUSES = (0.0, 0.01, 0.02, LENGTH_BONUS, 0.04, 0.05)  # subtracted for each factor e of length
DEPTHS = (
    (10, 10),
    (DEPTH, 6),
    (DEPTH, NEAR_DEPTH),
    (DEPTH, DEPTH),
    (40, NEAR_DEPTH),
    (40, 40),
)  # and where one is near

FAR_NOTE = (
    f"Questions whose nearest passage has a cosine below {NEAR:g}, all sets as one: each question counts the same. "
    "nDCG@10 of documents; of the textbook, where the first full answer stands. By set: the difference."
)
LENGTH_NOTE = (
    "How much nearer, by the mean cosine of what each word finds, the best 20 passages of a question are for each time "
    f"that they are e times as long; within questions, right or not. {LENGTH_BONUS:g} is taken off."
)
POOLED_NOTE = (
    "nDCG@10 of documents; of the textbook, questions with a full answer among the first five passages. The difference "
    "is to no late interaction, paired by question, every set counts the same, 95 % by bootstrap. Pooled: each "
    f"question counts the same, the textbook's by place; far ones have no passage with a cosine of {NEAR:g} or more."
)
COST_NOTE = (
    "Means over the passages that were found; bytes include the chunk's one vector. Milliseconds: the median over "
    "questions, from what is stored, and only as good as the machine is quiet."
)

Shown = tuple[Pool, Numbers]  # what a caller gets, and scores that put it into its order
Chosen = Mapping[str, NDArray[np.bool_]]  # by stratum, which questions are meant


@dataclass(frozen=True, slots=True)
class Gate:
    """By how much more the stage weighs for questions that no passage is near, by the cosine of the nearest."""

    far: float = FAR  # up to which it weighs `times` as much
    near: float = NEAR  # from which it has its plain weight; between the two it falls
    times: float = FAR_TIMES  # 1: as much for every question

    @property
    def name(self) -> str:
        return "as much everywhere" if self.times == 1 else f"{self.times:g} times, {self.far:g} to {self.near:g}"

    def factor(self, nearest: float) -> float:
        farness = min(1.0, max(0.0, (self.near - nearest) / (self.near - self.far)))
        return 1.0 + (self.times - 1.0) * farness


EVERYWHERE = Gate(times=1.0)
GATES = (
    EVERYWHERE,
    *(Gate(times=times) for times in (5.0, FAR_TIMES, 20.0)),
    *(Gate(*ends) for ends in ((0.2, 0.6), (0.35, 0.5), (0.4, 0.55), (0.3, 0.7))),
)


@dataclass(frozen=True, slots=True)
class Blend:
    """The numbers of the stage; the product's, unless others are given."""

    weight: float = LATE_WEIGHT  # beside the search's score, which weighs 1; 0: the stage is off
    gate: Gate = Gate()
    depth: int = DEPTH  # passages that are scored
    near_depth: int = NEAR_DEPTH  # where one is near
    length_bonus: float = LENGTH_BONUS  # subtracted for each factor e of length


WITHOUT = Blend(weight=0.0)


@dataclass(frozen=True, slots=True)
class Question:
    """What the stage is given for one question, and how near its words are to each passage."""

    pool: Pool
    found: Shortlist  # in the order of fusion, by which the stage chooses the passages it scores
    later: tuple[Stage, ...]  # the stages behind it
    by_word: Numbers  # as the product gives it, for each passage
    vectors: Numbers  # how many each passage has
    ms: float | None  # for the first DEPTH passages; None where nothing was found

    @property
    def nearest(self) -> float:
        return nearest_cosine(self.found.findings[:DEPTH])

    def shown(self, blend: Blend) -> Shown:
        """What a caller gets."""
        found = self.reordered(blend)
        for stage in self.later:
            found = stage(found)
        at = {id_: place for place, id_ in enumerate(self.pool.ids)}
        places = np.array([at[finding.candidate.id] for finding in found.findings], np.int64)
        return self.pool.chosen(places), -np.arange(len(places), dtype=float)

    def reordered(self, blend: Blend) -> Shortlist:
        """What the stage makes of it; the order before it where it has nothing to say."""
        findings = self.found.findings
        weight = self.weight(blend)
        if not weight:
            return self.found.with_findings(Finding.in_order(findings))
        is_near = nearest_cosine(findings[: blend.depth]) >= blend.gate.near
        depth = blend.near_depth if is_near else blend.depth
        head, tail = findings[:depth], findings[depth:]
        late = Late.stretched(self.near(blend)[: len(head)].tolist())
        scores = [(finding.score + weight * share) / (1 + weight) for finding, share in zip(head, late, strict=True)]
        scores += [finding.score / (1 + weight) for finding in tail]
        rescored = (finding.rescored(Late.name, score) for finding, score in zip(findings, scores, strict=True))
        return self.found.with_findings(Finding.in_order(rescored))

    def near(self, blend: Blend) -> Numbers:
        return self.by_word + (LENGTH_BONUS - blend.length_bonus) * np.log(self.vectors)

    def weight(self, blend: Blend) -> float:
        """The weight that the stage has for this question."""
        head = self.found.findings[: blend.depth]
        nearest = nearest_cosine(head)
        return blend.weight * blend.gate.factor(nearest) if len(head) > 1 and nearest < math.inf else 0.0


def nearest_cosine(findings: Sequence[Finding]) -> float:
    """Infinite where nobody looked: there the stage says nothing."""
    cosines = (finding.candidate.scores.get(DENSE) for finding in findings)
    return max((cosine for cosine in cosines if cosine is not None), default=math.inf)


@dataclass(frozen=True, slots=True)
class LateLab:
    """The questions of all sets, and what each shows without the stage."""

    parts: Parts
    questions: Mapping[str, Sequence[Question]]  # by stratum
    without: Mapping[str, Sequence[Shown]]

    def worths(self, blend: Blend) -> Worths:
        """What each question is worth; one that the stage leaves alone is not asked again."""
        return measured(
            {
                stratum: [
                    question.shown(blend) if question.weight(blend) else shown
                    for question, shown in zip(questions, self.without[stratum], strict=True)
                ]
                for stratum, questions in self.questions.items()
            }
        )

    def far(self) -> Chosen:
        """The questions that have no near passage."""
        return {
            name: np.array([question.nearest < NEAR for question in questions], bool)
            for name, questions in self.questions.items()
        }

    def changed(self, worths: Worths, before: Worths, among: Chosen) -> Change:
        """The mean difference over these questions of all sets as one."""
        return change({POOL: self.pooled(worths, among)}, {POOL: self.pooled(before, among)}, {POOL: (POOL,)})

    def pooled(self, worths: Worths, among: Chosen) -> Numbers:
        return np.concatenate([worths[_by_place(name, worths)][among[name]] for name in self.questions])


def late_lab(parts: Parts, questions: Mapping[str, Sequence[Question]]) -> LateLab:
    without = {name: [question.shown(WITHOUT) for question in some] for name, some in questions.items()}
    return LateLab(parts, questions, without)


def late_tables(lab: LateLab) -> list[Table]:
    weights = blend_rows(lab, {f"{weight:g}": Blend(weight=weight) for weight in WEIGHTS})
    gates = blend_rows(lab, {gate.name: Blend(gate=gate) for gate in GATES})
    depths = blend_rows(
        lab, {f"{depth}, {near} if near": Blend(depth=depth, near_depth=near) for depth, near in DEPTHS}
    )
    bonuses = blend_rows(lab, {f"{bonus:g}": Blend(length_bonus=bonus) for bonus in BONUSES})
    choices = choices_table("Late interaction, weight chosen without each set", weights, lab.parts)
    columns = tuple("none gives" if name == "default gives" else name for name in choices.columns)
    return [
        far_table(lab),
        pooled_table(lab, weights, "by weight"),
        replace(choices, columns=columns),
        pooled_table(lab, gates, "by how much more it weighs, and between which cosines"),
        pooled_table(lab, depths, "by passages scored"),
        length_table(lab),
        pooled_table(lab, bonuses, "by what is taken off for length"),
        cost_table(lab),
    ]


def blend_rows(lab: LateLab, blends: Mapping[str, Blend]) -> list[Alternative]:
    """None first; each with what it changes for far questions and for all, every question counting the same."""
    none = Alternative(NONE, lab.worths(WITHOUT), (None,) * 4)
    every = {name: np.ones(len(questions), bool) for name, questions in lab.questions.items()}
    rows = [none]
    for name, blend in blends.items():
        worths = lab.worths(blend)
        far, whole = (lab.changed(worths, none.worths, among) for among in (lab.far(), every))
        extra = tuple(_rounded(value) for value in (far.mean, far.low, far.high, whole.mean))
        rows.append(Alternative(f"{name}{DEFAULT if blend == Blend() else ''}", worths, extra))
    return rows


def pooled_table(lab: LateLab, rows: Sequence[Alternative], by: str) -> Table:
    extra = ("far pooled", "95 % from (far)", "to (far)", "all pooled")
    return table(f"Late interaction, {by}", rows, lab.parts, note=POOLED_NOTE, extra=extra)


def far_table(lab: LateLab) -> Table:
    """What it is worth to the questions for which it weighs most."""
    none, worths, far = lab.worths(WITHOUT), lab.worths(Blend()), lab.far()
    level, gain = lab.pooled(none, far).mean(), lab.changed(worths, none, far)
    by_stratum: list[Cell] = []
    for stratum, are_far in far.items():
        name = _by_place(stratum, none)
        differences = (worths[name] - none[name])[are_far]
        by_stratum.append(_rounded(differences.mean()) if len(differences) else None)
    cells = [_rounded(value) for value in (level + gain.mean, gain.mean, gain.low, gain.high)]
    counts = [f"{name}, {int(are_far.sum())} of {len(are_far)}" for name, are_far in far.items()]
    total, every = sum(int(are_far.sum()) for are_far in far.values()), sum(map(len, far.values()))
    return Table(
        f"Late interaction, the {total} far questions of {every}",
        ("", "mean", "difference", "95 % from", "to", *counts),
        ((NONE, _rounded(level), *[None] * (3 + len(far))), (f"late interaction{DEFAULT}", *cells, *by_stratum)),
        FAR_NOTE,
    )


def length_table(lab: LateLab) -> Table:
    """By how much longer passages are nearer, whether they are right or not: no judgment is looked at."""
    far = lab.far()
    slopes: dict[str, Sequence[float | None]] = {}
    for name, strata in lab.parts.items():
        every = [question for stratum in strata for question in lab.questions[stratum]]
        are_far = np.concatenate([far[stratum] for stratum in strata])
        slopes[name] = (
            length_slope(every),
            length_slope([question for question, is_far in zip(every, are_far, strict=True) if is_far]),
        )
    known = [[slope for slope in column if slope is not None] for column in zip(*slopes.values(), strict=True)]
    slopes["mean"] = [float(np.mean(column)) if column else None for column in known]
    rows = tuple((name, *(None if slope is None else _rounded(slope) for slope in row)) for name, row in slopes.items())
    return Table("Late interaction: nearer for being longer", ("", "all questions", "far questions"), rows, LENGTH_NOTE)


def length_slope(questions: Sequence[Question]) -> float | None:
    """How much nearer a passage is that is e times as long, within questions; None where nothing says."""
    lengths, near = [np.zeros(0)], [np.zeros(0)]
    for question in questions:
        raw = question.near(Blend(length_bonus=0.0))[:DEPTH]
        if len(raw) > 1:
            length = np.log(question.vectors[:DEPTH])
            lengths.append(length - length.mean())
            near.append(raw - raw.mean())
    apart = np.concatenate(lengths)
    spread = float(apart @ apart)
    return float(apart @ np.concatenate(near)) / spread if spread else None


def cost_table(lab: LateLab) -> Table:
    every = [question for questions in lab.questions.values() for question in questions]
    vectors = float(np.mean(np.concatenate([question.vectors for question in every])))
    ms = [question.ms for question in every if question.ms is not None]
    row = (round(vectors, 1), round(ONE_VECTOR_BYTES + vectors * ROW_BYTES), round(float(np.median(ms)), 2))
    columns = ("vectors a chunk", "bytes a chunk", f"ms for {DEPTH}")
    return Table("Late interaction: what it costs", columns, (row,), COST_NOTE)


def _by_place(stratum: str, worths: Worths) -> str:
    """Valued by place, where that can be."""
    return f"{stratum}{BY_PLACE}" if f"{stratum}{BY_PLACE}" in worths else stratum


def _rounded(value: float) -> float:
    return round(float(value), DECIMALS)
