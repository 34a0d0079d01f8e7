"""All ways in turn, round after round on the same texts, so that a machine's slow moments hit all alike."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from benchmarks.embedding.batching import PADDED_TEXTS, Floats, by_length
from benchmarks.embedding.ways import Timed, Way
from benchmarks.results import Table
from citewise.errors import Unavailable

# Before each run, for the threads of the one before to fall asleep. 0: they still spin and take a core from the next;
# OpenMP's spin for up to 0.2 s unless told otherwise.
PAUSE_SECONDS = 0.25
COLUMNS = (
    "way",
    "texts/s",
    "to citewise",
    "lowest",
    "highest",
    "CPU-ms a text",
    "cosine to citewise, mean",
    "least",
    "same bits",
)


@dataclass(slots=True)
class Measured:
    """A way's rounds so far; refused: why it has none."""

    way: Way
    timed: list[Timed] = field(default_factory=list)
    refused: str | None = None


def parts_of(texts: Sequence[str], rounds: int) -> list[list[str]]:
    """A part a round, each of whole batches of the sorted texts: padding is what all texts at once would get."""
    order = by_length(texts)
    batches = [order[start : start + PADDED_TEXTS] for start in range(0, len(order), PADDED_TEXTS)]
    return [[texts[at] for batch in batches[part::rounds] for at in batch] for part in range(rounds)]


def measured(ways: Sequence[Way], parts: Sequence[Sequence[str]], say: Callable[[str], None]) -> list[Measured]:
    """Every way once a round, in an order drawn anew, since what ran before leaves its mark; one batch warms up."""
    found = [Measured(way) for way in ways]
    for one in found:
        _run(one, parts[0][:PADDED_TEXTS])
        one.timed.clear()
    for number, part in enumerate(parts, 1):
        for one in Random(number).sample(found, len(found)):
            time.sleep(PAUSE_SECONDS)
            _run(one, part)
        say(f"round {number} of {len(parts)}: {len(part)} texts")
    return found


def _run(one: Measured, texts: Sequence[str]) -> None:
    if one.refused is None:
        try:
            one.timed.append(one.way.run(texts))
        except Unavailable as error:
            one.refused = str(error)


def table(found: Sequence[Measured], note: str) -> Table:
    """A row a way; ratios and cosines are to the first."""
    rows = tuple(_row(one, found[0]) for one in found)
    refused = "".join(f" {one.way.name} does not run: {one.refused.rstrip('.')}." for one in found if one.refused)
    return Table("Texts a second", COLUMNS, rows, note=note + refused)


def _row(one: Measured, ours: Measured) -> tuple[str | float | bool | None, ...]:
    if one.refused is not None:
        return one.way.name, *[None] * (len(COLUMNS) - 1)
    counts = [len(round_.vectors) for round_ in one.timed]
    rates = [count / round_.seconds for count, round_ in zip(counts, one.timed, strict=True)]
    cpu_ms = [1000 * round_.cpu_seconds / count for count, round_ in zip(counts, one.timed, strict=True)]
    ratios = [base.seconds / round_.seconds for base, round_ in zip(ours.timed, one.timed, strict=True)]
    base, vectors = stacked(ours), stacked(one)
    cosines = (base * vectors).sum(axis=1)
    speeds = (statistics.median(rates), statistics.median(ratios), min(ratios), max(ratios), statistics.median(cpu_ms))
    return one.way.name, *speeds, float(cosines.mean()), float(cosines.min()), base.tobytes() == vectors.tobytes()


def stacked(one: Measured) -> Floats:
    return np.concatenate([round_.vectors for round_ in one.timed])
