"""Late interaction in tables: by form, weight, gate and depth; over sets, and over the questions it is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.lab_choice import Alternative, Change, Parts, change, choices_table, table
from benchmarks.lab_late import FORMS, ONE_VECTOR_BYTES, PRODUCT, Form
from benchmarks.lab_late_stage import DEPTH, EVERYWHERE, Blend, Gate, Question, Scored
from benchmarks.lab_pools import BY_PLACE, Numbers, Worths, measured
from benchmarks.lab_sets import SETS
from benchmarks.printing import DECIMALS
from benchmarks.results import Cell, Results, Table, results_now
from citewise.adapters.onnx.word_vectors import LENGTH_BONUS
from citewise.model.query import LATE_WEIGHT
from citewise.search.rescore import NEAR

NONE = "no late interaction"
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)  # of MaxSim; 1: as much as all else together
GATES = (
    *(Gate(*ends) for ends in ((0.35, 0.5), (0.4, 0.5), (0.4, 0.55), (0.45, 0.55), (0.4, 0.6), (0.5, 0.6))),
    EVERYWHERE,
)
CHANCES = (0.0, 0.01, 0.02, LENGTH_BONUS, 0.04, 0.05)  # taken off each time that a text is e times as long
DEPTHS = (10, 20, 40)  # 40: all that a search reads for a caller who names no number
POOL = "questions of all sets as one"
WITHOUT = Blend(weight=0.0)
DEFAULT = " (default)"

NOTE = (
    "nDCG@10 of documents; of the textbook, questions with a full answer among the first five passages; by place, "
    "where its first full answer stands. The difference is to no late interaction, paired by question, every set "
    "counts the same, 95 % by bootstrap. Vectors and bytes are means over the sets' libraries; bytes hold the chunk's "
    "one vector as well. Milliseconds: the median over questions, from what is stored, in numpy on one thread, and "
    "only as good as the machine is quiet. The stage stands where it does in the product, with all that precedes and "
    "follows it."
)
FAR_NOTE = (
    f"Questions whose nearest passage has a cosine below {NEAR:g}, all sets as one: each question counts the same. "
    "nDCG@10 of documents; of the textbook, where the first full answer stands. By set: the difference."
)
CHANCE_NOTE = (
    "How much nearer, by the mean cosine of what each word finds, the best 20 passages of a question are for each time "
    f"that they are e times as long; within questions, right or not. {LENGTH_BONUS:g} is taken off."
)
POOLED_NOTE = (
    "Pooled: each question counts the same, the textbook's by place; far ones have no passage with a cosine of "
    f"{NEAR:g} or more."
)


@dataclass(frozen=True, slots=True)
class Lab:
    """All sets, scored."""

    parts: Parts
    questions: Mapping[str, Sequence[Question]]  # by stratum
    bare: Mapping[str, Sequence[Scored]]  # what each question shows without the stage
    vectors: Mapping[Form, float]  # a chunk, on average over the sets' whole libraries

    def worths(self, blend: Blend) -> Worths:
        """What each question is worth; one that the stage leaves alone is not asked again."""
        return measured(
            {
                stratum: [one.shown(blend) if one.weight(blend) else bare for one, bare in pairs]
                for stratum, pairs in self._pairs().items()
            }
        )

    def _pairs(self) -> dict[str, list[tuple[Question, Scored]]]:
        return {name: list(zip(some, self.bare[name], strict=True)) for name, some in self.questions.items()}

    def far(self) -> dict[str, NDArray[np.bool_]]:
        """By stratum, which questions have no near passage."""
        return {name: np.array([one.nearest < NEAR for one in some], bool) for name, some in self.questions.items()}

    def ms(self, form: Form) -> float:
        return float(np.median([one.ms[form] for some in self.questions.values() for one in some if one.ms]))

    def bytes(self, form: Form) -> float:
        return ONE_VECTOR_BYTES + self.vectors[form] * form.row_bytes

    def costs(self, form: Form) -> tuple[Cell, ...]:
        return round(self.vectors[form], 1), round(self.bytes(form)), round(self.ms(form), 2)


def lab_with(parts: Parts, questions: Mapping[str, Sequence[Question]], vectors: Mapping[Form, float]) -> Lab:
    bare = {name: [one.shown(WITHOUT) for one in some] for name, some in questions.items()}
    return Lab(parts, questions, bare, vectors)


def late_results(lab: Lab) -> Results:
    gated, ungated = form_rows(lab, Gate()), form_rows(lab, EVERYWHERE)
    weights = weight_rows(lab)
    only = "" if tuple(lab.parts) == SETS else f" --sets {','.join(lab.parts)}"
    return results_now(
        "late-interaction",
        tables=[
            forms_table(lab, gated, "far questions only"),
            forms_table(lab, ungated, "all questions"),
            far_table(lab, gated),
            pooled_table(lab, weights, "by weight"),
            weight_choices(lab, weights),
            pooled_table(lab, gate_rows(lab), "by the cosines between which its weight falls to nothing"),
            pooled_table(lab, depth_rows(lab), "by passages scored"),
            chance_table(lab),
            pooled_table(lab, chance_rows(lab), "by what is taken off for length"),
        ],
        title="Late interaction",
        command=f"python -m benchmarks.late_interaction{only}",
    )


def form_rows(lab: Lab, gate: Gate) -> list[Alternative]:
    """None first, then a row a form."""
    bare = Alternative(NONE, lab.worths(WITHOUT), (1.0, ONE_VECTOR_BYTES, None))
    blends = [Blend(form, gate=gate) for form in FORMS]
    return [bare, *(Alternative(form_name(one.form), lab.worths(one), lab.costs(one.form)) for one in blends)]


def form_name(form: Form) -> str:
    return f"{form.name}{DEFAULT if form == PRODUCT else ''}"


def weight_rows(lab: Lab) -> list[Alternative]:
    return _rows(lab, {f"{weight:g}": Blend(weight=weight) for weight in WEIGHTS})


def gate_rows(lab: Lab) -> list[Alternative]:
    return _rows(lab, {gate.name: Blend(gate=gate) for gate in GATES})


def depth_rows(lab: Lab) -> list[Alternative]:
    return _rows(lab, {str(depth): Blend(depth=depth) for depth in DEPTHS})


def chance_rows(lab: Lab) -> list[Alternative]:
    return _rows(lab, {f"{chance:g}": Blend(by_chance=chance) for chance in CHANCES})


def chance_table(lab: Lab) -> Table:
    """By how much longer passages are nearer, whether they are right or not: nobody's judgments are looked at."""
    far = lab.far()
    slopes: dict[str, tuple[float | None, float | None]] = {}
    for name, strata in lab.parts.items():
        every = [one for stratum in strata for one in lab.questions[stratum]]
        are_far = np.concatenate([far[stratum] for stratum in strata])
        slopes[name] = growth(every), growth([one for one, is_far in zip(every, are_far, strict=True) if is_far])
    means = [[slope for slope in each if slope is not None] for each in zip(*slopes.values(), strict=True)]
    rows = {**slopes, "mean": [float(np.mean(each)) if each else None for each in means]}
    cells = tuple((name, *(None if one is None else _rounded(one) for one in each)) for name, each in rows.items())
    return Table(
        "Late interaction: nearer for being longer", ("", "all questions", "far questions"), cells, CHANCE_NOTE
    )


def growth(questions: Sequence[Question]) -> float | None:
    """How much nearer a passage is that is e times as long: the slope within questions; None where nothing says."""
    lengths, near = [np.zeros(0)], [np.zeros(0)]
    for one in questions:
        raw = one.near(Blend(by_chance=0.0))[:DEPTH]
        if len(raw) > 1:
            long = np.log(one.rows[PRODUCT][:DEPTH])
            lengths.append(long - long.mean())
            near.append(raw - raw.mean())
    apart = np.concatenate(lengths)
    spread = float(apart @ apart)
    return float(apart @ np.concatenate(near)) / spread if spread else None


def _rows(lab: Lab, blends: Mapping[str, Blend]) -> list[Alternative]:
    """None first; each with what it changes for far questions and for all, every question counting the same."""
    bare = Alternative(NONE, lab.worths(WITHOUT), (None,) * 4)
    made = [bare]
    for name, blend in blends.items():
        worths = lab.worths(blend)
        far = changed(lab, worths, bare.worths, lab.far())
        whole = changed(lab, worths, bare.worths, everything(lab))
        extra = tuple(round(value, DECIMALS) for value in (far.mean, far.low, far.high, whole.mean))
        made.append(Alternative(f"{name}{DEFAULT if blend == Blend() else ''}", worths, extra))
    return made


def forms_table(lab: Lab, rows: Sequence[Alternative], which: str) -> Table:
    extra = ("vectors a chunk", "bytes a chunk", f"ms for {DEPTH}")
    title = f"Late interaction by form, {which}, weight {LATE_WEIGHT:g}"
    return table(title, rows, lab.parts, note=NOTE, extra=extra)


def pooled_table(lab: Lab, rows: Sequence[Alternative], by: str) -> Table:
    extra = ("far pooled", "95 % from (far)", "to (far)", "all pooled")
    return table(f"Late interaction in the default form, {by}", rows, lab.parts, note=POOLED_NOTE, extra=extra)


def weight_choices(lab: Lab, rows: Sequence[Alternative]) -> Table:
    made = choices_table("Late interaction, weight chosen without each set", rows, lab.parts)
    return replace(made, columns=tuple("none gives" if name == "default gives" else name for name in made.columns))


def far_table(lab: Lab, rows: Sequence[Alternative]) -> Table:
    """What each form is worth to the questions that the stage is for."""
    bare, *forms = rows
    far = lab.far()
    counts = [f"{name}, {int(are.sum())} of {len(are)}" for name, are in far.items()]
    columns = ("", "mean", "difference", "95 % from", "to", *counts)
    level = _rounded(pooled(lab, bare.worths, far).mean())
    made: list[tuple[Cell, ...]] = [(NONE, level, *[None] * (3 + len(far)))]
    for one in forms:
        found = changed(lab, one.worths, bare.worths, far)
        cells = [_rounded(value) for value in (level + found.mean, found.mean, found.low, found.high)]
        made.append((one.name, *cells, *_by_stratum(lab, one.worths, bare.worths)))
    total, every = sum(int(are.sum()) for are in far.values()), sum(map(len, far.values()))
    return Table(f"Late interaction, the {total} far questions of {every}", columns, tuple(made), FAR_NOTE)


def _by_stratum(lab: Lab, worths: Worths, bare: Worths) -> list[Cell]:
    cells: list[Cell] = []
    for stratum, are_far in lab.far().items():
        name = _placed(stratum, bare)
        difference = (worths[name] - bare[name])[are_far]
        cells.append(_rounded(difference.mean()) if len(difference) else None)
    return cells


def changed(lab: Lab, worths: Worths, bare: Worths, among: Mapping[str, NDArray[np.bool_]]) -> Change:
    """The mean difference over these questions of all sets as one."""
    return change({POOL: pooled(lab, worths, among)}, {POOL: pooled(lab, bare, among)}, {POOL: (POOL,)})


def pooled(lab: Lab, worths: Worths, among: Mapping[str, NDArray[np.bool_]]) -> Numbers:
    return np.concatenate([worths[_placed(name, worths)][among[name]] for name in lab.questions])


def everything(lab: Lab) -> dict[str, NDArray[np.bool_]]:
    return {name: np.ones(len(some), bool) for name, some in lab.questions.items()}


def _placed(stratum: str, worths: Worths) -> str:
    """Valued by place, where that can be."""
    return f"{stratum}{BY_PLACE}" if f"{stratum}{BY_PLACE}" in worths else stratum


def _rounded(value: float) -> float:
    return round(float(value), DECIMALS)
