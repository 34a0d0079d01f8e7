"""All encoders in turn, round after round on the same texts, so that a machine's slow moments hit all alike."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from benchmarks.embedding.batching import PADDED_TEXTS, Floats, by_length
from benchmarks.embedding.encoders import Encoder, Timed
from benchmarks.results import Table
from citewise.errors import Unavailable

# Before each run, for the threads of the one before to fall asleep. 0: they still spin and take a core from the next;
# OpenMP's spin for up to 0.2 s unless told otherwise.
PAUSE_SECONDS = 0.25
COLUMNS = (
    "encoder",
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
    """A encoder's rounds so far; refused: why it has none."""

    encoder: Encoder
    timed: list[Timed] = field(default_factory=list)
    refused: str | None = None


def parts_of(texts: Sequence[str], rounds: int) -> list[list[str]]:
    """A part a round, each of whole batches of the sorted texts: padding is what all texts at once would get."""
    order = by_length(texts)
    batches = [order[start : start + PADDED_TEXTS] for start in range(0, len(order), PADDED_TEXTS)]
    return [[texts[at] for batch in batches[part::rounds] for at in batch] for part in range(rounds)]


def measured(encoders: Sequence[Encoder], parts: Sequence[Sequence[str]], say: Callable[[str], None]) -> list[Measured]:
    """Every encoder once a round, in an order drawn anew, since what ran before leaves its mark; one batch warms up."""
    found = [Measured(encoder) for encoder in encoders]
    for result in found:
        _run(result, parts[0][:PADDED_TEXTS])
        result.timed.clear()
    for number, part in enumerate(parts, 1):
        for result in Random(number).sample(found, len(found)):
            time.sleep(PAUSE_SECONDS)
            _run(result, part)
        say(f"round {number} of {len(parts)}: {len(part)} texts")
    return found


def _run(result: Measured, texts: Sequence[str]) -> None:
    if result.refused is None:
        try:
            result.timed.append(result.encoder.run(texts))
        except Unavailable as error:
            result.refused = str(error)


def table(found: Sequence[Measured], note: str) -> Table:
    """A row a encoder; ratios and cosines are to the first."""
    rows = tuple(_row(result, found[0]) for result in found)
    refused = "".join(
        f" {result.encoder.name} does not run: {result.refused.rstrip('.')}." for result in found if result.refused
    )
    return Table("Texts a second", COLUMNS, rows, note=note + refused)


def _row(result: Measured, ours: Measured) -> tuple[str | float | bool | None, ...]:
    if result.refused is not None:
        return result.encoder.name, *[None] * (len(COLUMNS) - 1)
    counts = [len(round_.vectors) for round_ in result.timed]
    rates = [count / round_.seconds for count, round_ in zip(counts, result.timed, strict=True)]
    cpu_ms = [1000 * round_.cpu_seconds / count for count, round_ in zip(counts, result.timed, strict=True)]
    ratios = [base.seconds / round_.seconds for base, round_ in zip(ours.timed, result.timed, strict=True)]
    base, vectors = stacked(ours), stacked(result)
    cosines = (base * vectors).sum(axis=1)
    speeds = (statistics.median(rates), statistics.median(ratios), min(ratios), max(ratios), statistics.median(cpu_ms))
    return (
        result.encoder.name,
        *speeds,
        float(cosines.mean()),
        float(cosines.min()),
        base.tobytes() == vectors.tobytes(),
    )


def stacked(result: Measured) -> Floats:
    return np.concatenate([round_.vectors for round_ in result.timed])
