"""Logistic regression with a ridge, its cross-validation and its area under the curve."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

FOLDS = 5
REPEATS = 20


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
