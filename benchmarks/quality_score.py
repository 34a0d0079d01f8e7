"""What is the quality of an answer worth: does it tell right from wrong, and does it say how often?

    python -m benchmarks.quality_score [--fit]

Three kinds of questions: answered in their library, not answered there, and withheld: answered ones asked once more
over the library without the pages that answer them. `--fit` prints the tables of citewise.answer.quality that these
would choose. What is said of fits over sets is said of a set that its fit has not seen; the handbook took no part.
"""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.grounding_sets import (
    HANDBOOK_QUESTIONS,
    TEXTBOOK,
    selected_rows,
    selection_rows,
)
from benchmarks.logistic import BINS, REPEATS, Curve, Fit, Numbers, area, balanced, fitted, stretched, unseen_logits
from benchmarks.printing import publish
from benchmarks.quality_rows import ANSWERED, UNANSWERED, WITHHELD, Row, rows_of
from benchmarks.results import Cell, Table, results_now
from citewise.answer.ground import SELECTION
from citewise.answer.quality import LOW, RETRIEVAL

CHOSEN_ON = ("textbook", "runbooks", "api_docs")
HELD_OUT = "handbook"
RIDGE = 40.0  # as in benchmarks.grounding
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--fit", action="store_true", help="print the tables that these sets would choose")
    wants_fit = arguments.parse_args().fit
    rows = [row for name in (*CHOSEN_ON, HELD_OUT) for row in rows_of(name)]
    chosen_on = [row for row in rows if row.set_ in CHOSEN_ON]
    if wants_fit:
        print_fits(chosen_on)
    selections = selection_points()
    curves = reliability_of(rows, selections)
    tables = [areas_table(rows), errors_table(curves), bins_table(curves), warnings_table(chosen_on)]
    results = results_now(
        "quality-score",
        tables=tables,
        title="Quality score: what it is worth",
        command="make bench-quality-score",
    )
    publish(results, decimals=3)


def print_fits(rows: Sequence[Row]) -> None:
    names = list(RETRIEVAL.weights)
    right, groups = _right(rows), [row.set_ for row in rows]
    fit = _by_rankings(rows, names)
    for at, name in enumerate(names):
        print(f'    "{name}": ({fit.centers[at]:.3f}, {fit.spreads[at]:.3f}, {fit.worths[at]:.3f}),')
    print(f"    intercept={fit.intercept:.3f}")
    even = fitted(_logits(rows)[:, None], right, groups, ridge=0.0)
    slope = even.worths[0] / even.spreads[0]
    print(f"    RIGHT_SLOPE, RIGHT_SHIFT = {slope:.3f}, {even.intercept - slope * even.centers[0]:.3f}")


def _by_rankings(rows: Sequence[Row], names: Sequence[str]) -> Fit:
    matrix, right, groups = _matrix(rows, names), _right(rows), [row.set_ for row in rows]
    runs = [unseen_logits(matrix, right, groups, ridge=RIDGE, seed=seed) for seed in range(REPEATS)]
    return stretched(fitted(matrix, right, groups, ridge=RIDGE), np.mean(runs, axis=0), right, groups)


def _matrix(rows: Sequence[Row], names: Sequence[str]) -> Numbers:
    values = [[row.signals[name] for name in names] for row in rows]
    matrix = np.array([[math.nan if value is None else value for value in of_row] for of_row in values])
    return np.where(np.isnan(matrix), np.nanmean(matrix, axis=0), matrix)


def _logits(rows: Sequence[Row]) -> Numbers:
    confidences = np.array([row.confidence for row in rows])
    made: Numbers = np.log(confidences / (1 - confidences))
    return made


def _right(rows: Sequence[Row]) -> Numbers:
    return np.array([float(row.is_right) for row in rows])


def areas_table(rows: Sequence[Row]) -> Table:
    """What each part tells apart, as it is wired."""
    parts: Mapping[str, Callable[[Row], float]] = {
        "overall": lambda row: row.overall,
        "retrieval confidence": lambda row: RETRIEVAL.confidence(row.signals),
        "sufficiency": lambda row: row.confidence,
    }
    made: list[tuple[Cell, ...]] = []
    for name in (*CHOSEN_ON, HELD_OUT):
        own = [row for row in rows if row.set_ == name]
        for part, value in parts.items():
            scores = np.array([value(row) for row in own])
            kinds = np.array([row.kind for row in own])
            answered = (kinds == ANSWERED).astype(float)
            sides = [
                area(scores[kinds != kind], answered[kinds != kind]) if other in kinds else None
                for kind, other in ((WITHHELD, UNANSWERED), (UNANSWERED, WITHHELD))
            ]
            made.append((name, part, *sides, area(scores, _right(own))))
    columns = ("set", "part", "answered or not", "answered or withheld", "a right passage among the sources or none")
    note = "AUC: how often the one scores above the other. Before faithfulness, overall orders as sufficiency does."
    return Table("Does it tell them apart?", columns, tuple(made), note)


def reliability_of(rows: Sequence[Row], selections: Curve) -> Mapping[str, Curve]:
    chosen_on = [row for row in rows if row.set_ in CHOSEN_ON]
    held_out = [row for row in rows if row.set_ == HELD_OUT]
    given = [row for row in rows if row.kind != WITHHELD and row.set_ in ("textbook", "runbooks")]
    return {
        "overall, fitted over the other sets": _curve(chosen_on, _unseen(chosen_on, _even)),
        "overall, as wired": _curve(chosen_on, [row.overall for row in chosen_on]),
        "overall on the handbook, as wired": _curve(held_out, [row.overall for row in held_out]),
        "overall of selections, as wired": selections,
        "retrieval confidence, fitted over the other sets": _curve(chosen_on, _unseen(chosen_on, _ranked)),
        "retrieval confidence, as wired": _curve(chosen_on, [RETRIEVAL.confidence(row.signals) for row in chosen_on]),
        "sufficiency, answered or not, as wired": Curve(
            np.array([row.confidence for row in given]),
            np.array([float(row.kind == ANSWERED) for row in given]),
            balanced(np.array([float(row.kind == ANSWERED) for row in given]), [row.set_ for row in given]),
        ),
    }


def _curve(rows: Sequence[Row], said: Sequence[float]) -> Curve:
    return Curve(np.array(said), _right(rows), balanced(_right(rows), [row.set_ for row in rows]))


def _unseen(rows: Sequence[Row], logits: Callable[[Sequence[Row], Sequence[Row]], Numbers]) -> list[float]:
    """Each set's chances by a fit on the others."""
    said = np.zeros(len(rows))
    for name in CHOSEN_ON:
        others, own = ([row for row in rows if (row.set_ == name) is is_own] for is_own in (False, True))
        said[[row.set_ == name for row in rows]] = 1 / (1 + np.exp(-logits(others, own)))
    return list(said)


def _even(others: Sequence[Row], own: Sequence[Row]) -> Numbers:
    fit = fitted(_logits(others)[:, None], _right(others), [row.set_ for row in others], ridge=0.0)
    return fit.logits(_logits(own)[:, None])


def _ranked(others: Sequence[Row], own: Sequence[Row]) -> Numbers:
    names = list(RETRIEVAL.weights)
    return _by_rankings(others, names).logits(_matrix(own, names))


def selection_points() -> Curve:
    """Selections that hold the answer, and neighbors that do not: what the two sets have, real and made."""
    pairs = [selection_rows(name) for name in ("textbook", "handbook")]
    pairs += [selected_rows(folder / "selected.json") for folder in (TEXTBOOK / "questions", HANDBOOK_QUESTIONS)]
    said = [SELECTION.confidence(signals) for pair in pairs for side in pair for signals in side]
    true = np.array([label for pair in pairs for label, side in zip((1.0, 0.0), pair, strict=True) for _ in side])
    return Curve(np.array(said), true, balanced(true, [""] * len(true)))


def errors_table(curves: Mapping[str, Curve]) -> Table:
    rows = tuple(
        (name, len(curve.scores), area(curve.scores, curve.true), curve.error()) for name, curve in curves.items()
    )
    columns = ("score", "questions", "AUC", "expected calibration error")
    note = (
        "Every set's two classes weigh the same. AUC: a right passage among the sources or none, all sets on one scale."
    )
    return Table("Is it as sure as it is right?", columns, rows, note)


def bins_table(curves: Mapping[str, Curve]) -> Table:
    columns = ("score", *(f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}" for at in range(BINS)))
    rows = tuple((name, *(_told(tenth) for tenth in curve.bins())) for name, curve in curves.items())
    return Table("Reliability, by tenths", columns, rows, "Share that is right (questions in the tenth).")


def _told(of_bin: tuple[int, float, float] | None) -> str | None:
    return f"{of_bin[2]:.2f} ({of_bin[0]})" if of_bin else None


def warnings_table(rows: Sequence[Row]) -> Table:
    """What a warning below a threshold would catch, of the answers that are given at all."""
    given = [row for row in rows if row.is_answered]
    groups: Mapping[str, list[Row]] = {
        "with a right passage": [row for row in given if row.is_right],
        "without, though there is one": [row for row in given if row.kind == ANSWERED and not row.is_right],
        "to what is not answered there": [row for row in given if row.kind == UNANSWERED],
        "to what was withheld": [row for row in given if row.kind == WITHHELD],
    }
    made = tuple(
        (threshold, *(sum(row.overall < threshold for row in some) / len(some) for some in groups.values()))
        for threshold in THRESHOLDS
    )
    counts = ", ".join(f"{len(some)} {name}" for name, some in groups.items())
    note = f"Share of the answers that a warning goes with; the threshold is {LOW:g}. Answers: {counts}."
    return Table("What a warning catches", ("below", *groups), made, note)


if __name__ == "__main__":
    main()
