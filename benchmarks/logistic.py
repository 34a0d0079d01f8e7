"""Logistic regression with a ridge, its cross-validation, its area under the curve, and how well it is calibrated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

FOLDS = 5
REPEATS = 20
BINS = 10  # of a score in 0..1, for its calibration


@dataclass(frozen=True, slots=True)
class Fit:
    """Logits = intercept + sum of worth * (value - center) / spread."""

    centers: Numbers
    spreads: Numbers
    worths: Numbers
    intercept: float

    def logits(self, rows: Numbers) -> Numbers:
        made: Numbers = (rows - self.centers) / self.spreads @ self.worths + self.intercept
        return made


def fitted(rows: Numbers, labels: Numbers, groups: Sequence[str], *, ridge: float) -> Fit:
    """By Newton's method; every group's two classes weigh the same, however many rows they have."""
    centers, spreads = rows.mean(0), rows.std(0) + 1e-9
    solved = _newton(_with_ones((rows - centers) / spreads), labels, balanced(labels, groups), ridge)
    return Fit(centers, spreads, solved[1:], float(solved[0]))


def stretched(fit: Fit, logits: Numbers, labels: Numbers, groups: Sequence[str]) -> Fit:
    """The fit with its logits stretched until they are as sure as they are right: a ridge makes them timid.

    `logits` must come from rows that their fit had not seen.
    """
    shift, slope = _newton(_with_ones(logits[:, None]), labels, balanced(labels, groups), 0.0)
    return Fit(fit.centers, fit.spreads, fit.worths * slope, float(fit.intercept * slope + shift))


def balanced(labels: Numbers, groups: Sequence[str]) -> Numbers:
    """A weight a row, so that every class of every group counts the same; they add up to the number of rows."""
    cells = [f"{group} {label}" for group, label in zip(groups, labels, strict=True)]
    counts = {cell: cells.count(cell) for cell in set(cells)}
    return np.array([len(cells) / (len(counts) * counts[cell]) for cell in cells])


def unseen_logits(rows: Numbers, labels: Numbers, groups: Sequence[str], *, ridge: float, seed: int) -> Numbers:
    """Logits of each row by a fit on the other folds; every fold has its share of every class and group."""
    draw = np.random.default_rng(seed)
    cells = np.array([f"{group} {label}" for group, label in zip(groups, labels, strict=True)])
    folds = np.zeros(len(labels), dtype=int)
    for cell in sorted(set(cells)):
        members = draw.permutation(np.flatnonzero(cells == cell))
        folds[members] = np.arange(len(members)) % FOLDS
    logits = np.zeros(len(labels))
    for fold in range(FOLDS):
        out = folds == fold
        kept = [group for group, is_out in zip(groups, out, strict=True) if not is_out]
        logits[out] = fitted(rows[~out], labels[~out], kept, ridge=ridge).logits(rows[out])
    return logits


def area(scores: Numbers, labels: Numbers) -> float:
    """Area under the curve: how often a positive scores above a negative; a tie is half a success."""
    above = scores[labels == 1][:, None] - scores[labels == 0][None]
    return float((above > 0).mean() + (above == 0).mean() / 2)


@dataclass(frozen=True, slots=True)
class Curve:
    """Scores in 0..1 and what was true, with the weight of each question."""

    scores: Numbers
    true: Numbers
    weights: Numbers

    def bins(self) -> list[tuple[int, float, float] | None]:
        """For each tenth: questions, the mean score, and the share that was true."""
        places = np.minimum((self.scores * BINS).astype(int), BINS - 1)
        return [self._bin(places == at) if (places == at).any() else None for at in range(BINS)]

    def _bin(self, own: Numbers) -> tuple[int, float, float]:
        weights = self.weights[own]
        score, true = (float((weights * of[own]).sum() / weights.sum()) for of in (self.scores, self.true))
        return int(own.sum()), score, true

    def error(self) -> float:
        """Expected calibration error: how far off a bin is, on average over the questions."""
        places = np.minimum((self.scores * BINS).astype(int), BINS - 1)
        off = [abs(float((self.weights * (self.scores - self.true))[places == at].sum())) for at in range(BINS)]
        return sum(off) / float(self.weights.sum())


def _with_ones(columns: Numbers) -> Numbers:
    return np.hstack([np.ones((len(columns), 1)), columns])


def _newton(columns: Numbers, labels: Numbers, weights: Numbers, ridge: float) -> Numbers:
    solved = np.zeros(columns.shape[1])
    penalty = np.diag([1e-9, *[ridge + 1e-9] * (columns.shape[1] - 1)])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-columns @ solved))
        slope = columns.T @ (weights * (chances - labels)) + penalty @ solved
        curve = (columns * (weights * chances * (1 - chances))[:, None]).T @ columns + penalty
        step = np.linalg.solve(curve, slope)
        solved = solved - step
        if np.abs(step).max() < 1e-9:
            break
    return solved
