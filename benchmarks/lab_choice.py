"""Alternatives side by side: what each is worth on every set, and which one would have been chosen without that set.

Pure. Every set counts the same, however many questions it has; so does every part of a set that is counted apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.lab_pools import BY_PLACE, Numbers, Worths
from benchmarks.printing import DECIMALS
from benchmarks.results import Cell, Table

SEED = 20_240_229
RESAMPLES = 2_000  # of the bootstrap: the interval's ends are then sure to about a tenth of its width
OUTER = (2.5, 97.5)  # percentiles between which 95 of 100 draws lie

Parts = Mapping[str, tuple[str, ...]]  # set -> its strata


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way of doing it, and what it was worth for each question."""

    name: str
    worths: Worths
    extra: tuple[Cell, ...] = ()  # cells of its own, behind the others


@dataclass(frozen=True, slots=True)
class Change:
    """The mean difference to the default, and between which two values it lies in 95 of 100 draws of questions."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the other sets would have chosen, and what that is worth on the set that took no part."""

    set: str
    chosen: Alternative


def set_worth(worths: Worths, strata: Sequence[str]) -> float:
    return float(np.mean([worths[name].mean() for name in strata]))


def mean_worth(worths: Worths, parts: Parts) -> float:
    return float(np.mean([set_worth(worths, strata) for strata in parts.values()]))


def change(worths: Worths, default: Worths, parts: Parts) -> Change:
    """Paired by question; drawn anew within each stratum, so that every draw has the sets' own proportions."""
    draws = np.zeros(RESAMPLES)
    mean = 0.0
    for at, (name, share) in enumerate(_shares(parts).items()):
        differences = worths[name] - default[name]
        drawn = np.random.default_rng((SEED, at)).integers(len(differences), size=(RESAMPLES, len(differences)))
        draws += share * differences[drawn].mean(axis=1)
        mean += share * float(differences.mean())
    low, high = np.percentile(draws, OUTER)
    return Change(mean, float(low), float(high))


def _shares(parts: Parts) -> dict[str, float]:
    """What part of the mean each stratum is."""
    return {name: 1 / len(parts) / len(strata) for strata in parts.values() for name in strata}


def left_out(alternatives: Sequence[Alternative], parts: Parts) -> tuple[LeftOut, ...]:
    """For each set, the best alternative on all the others; the first of equals, so the default should stand first."""
    found = []
    for name in parts:
        others = {other: strata for other, strata in parts.items() if other != name}
        found.append(LeftOut(name, _best(alternatives, others)))
    return tuple(found)


def _best(alternatives: Sequence[Alternative], parts: Parts) -> Alternative:
    return max(alternatives, key=lambda alternative: mean_worth(alternative.worths, parts))


def unseen_worths(choices: Sequence[LeftOut], parts: Parts) -> Worths:
    """Each set as what was chosen without it does there."""
    made: dict[str, Numbers] = {}
    for choice in choices:
        names = (*parts[choice.set], *by_place(choice.chosen.worths, parts)[choice.set])
        made |= {name: choice.chosen.worths[name] for name in names}
    return made


def table(
    title: str,
    alternatives: Sequence[Alternative],
    parts: Parts,
    *,
    note: str,
    extra: Sequence[str] = (),
    wanted: str | None = None,
) -> Table:
    """A row an alternative, the default first; the last row is what choosing on the other sets gives."""
    default, *_ = alternatives
    rows = [_row(alternative, default, parts) for alternative in alternatives]
    if len(parts) > 1:
        unseen = unseen_worths(left_out(alternatives, parts), parts)
        rows.append(_row(Alternative("chosen on the other sets", unseen, (None,) * len(extra)), default, parts))
    return Table(title, (*_columns(default, parts), *extra), tuple(rows), note, wanted)


def by_place(worths: Worths, parts: Parts) -> Parts:
    """The same sets, each stratum that can be valued by place taken so."""
    return {
        name: tuple(f"{stratum}{BY_PLACE}" if f"{stratum}{BY_PLACE}" in worths else stratum for stratum in strata)
        for name, strata in parts.items()
    }


def _columns(default: Alternative, parts: Parts) -> tuple[str, ...]:
    of = [_heading(name, default.worths[name]) for strata in parts.values() for name in strata]
    columns = ("", *of, "mean of sets", "difference", "95 % from", "to")
    if by_place(default.worths, parts) == parts:
        return columns
    return (*columns, "mean by place", "difference by place", "95 % from (by place)", "to (by place)")


def _heading(name: str, worths: Numbers) -> str:
    return f"{name}, of {len(worths)}" if _is_counted(worths) else name


def _is_counted(worths: Numbers) -> bool:
    """Whether a question is either answered or not: then a count says more than a share."""
    return bool(np.isin(worths, (0.0, 1.0)).all())


def _row(alternative: Alternative, default: Alternative, parts: Parts) -> tuple[Cell, ...]:
    strata = [name for names in parts.values() for name in names]
    cells: list[Cell] = [
        _cell(alternative.worths[name], is_counted=_is_counted(default.worths[name])) for name in strata
    ]
    placed = by_place(default.worths, parts)
    smooth = () if placed == parts else _mean_cells(alternative, default, placed)
    return (alternative.name, *cells, *_mean_cells(alternative, default, parts), *smooth, *alternative.extra)


def _mean_cells(alternative: Alternative, default: Alternative, parts: Parts) -> tuple[Cell, ...]:
    mean = _rounded(mean_worth(alternative.worths, parts))
    if alternative is default:
        return (mean, None, None, None)
    found = change(alternative.worths, default.worths, parts)
    return (mean, *(_rounded(value) for value in (found.mean, found.low, found.high)))


def _cell(worths: Numbers, *, is_counted: bool) -> Cell:
    return int(worths.sum()) if is_counted else _rounded(float(worths.mean()))


def _rounded(value: float) -> float:
    return round(value, DECIMALS)


def choices_table(title: str, alternatives: Sequence[Alternative], parts: Parts) -> Table:
    """Which alternative would have been chosen without each set, and what it gives there."""
    default, *_ = alternatives
    placed = left_out(alternatives, by_place(default.worths, parts))
    rows = []
    for choice, other in zip(left_out(alternatives, parts), placed, strict=True):
        strata = parts[choice.set]
        best = _best(alternatives, {choice.set: strata})
        here, usual, most = (_rounded(set_worth(row.worths, strata)) for row in (choice.chosen, default, best))
        rows.append((choice.set, choice.chosen.name, here, usual, best.name, most, other.chosen.name))
    columns = ("left out", "chosen on the others", "gives there", "default gives", "best there", "gives")
    return Table(title, (*columns, "chosen by place"), tuple(rows))
