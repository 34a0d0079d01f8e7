"""Whether a score in 0..1 is as sure as it is right: tenths of it, and how far off they are."""

from dataclasses import dataclass

import numpy as np

from benchmarks.logistic import Numbers

BINS = 10


@dataclass(frozen=True, slots=True)
class Curve:
    """What was said and what was true, with the weight of each question."""

    said: Numbers
    true: Numbers
    weights: Numbers

    def bins(self) -> list[tuple[int, float, float] | None]:
        """For each tenth: questions, what was said on average, and the share that was true."""
        places = np.minimum((self.said * BINS).astype(int), BINS - 1)
        return [self._bin(places == at) if (places == at).any() else None for at in range(BINS)]

    def _bin(self, own: Numbers) -> tuple[int, float, float]:
        weights = self.weights[own]
        said, true = (float((weights * of[own]).sum() / weights.sum()) for of in (self.said, self.true))
        return int(own.sum()), said, true

    def error(self) -> float:
        """Expected calibration error: how far off a bin is, on average over the questions."""
        places = np.minimum((self.said * BINS).astype(int), BINS - 1)
        off = [abs(float((self.weights * (self.said - self.true))[places == at].sum())) for at in range(BINS)]
        return sum(off) / float(self.weights.sum())
