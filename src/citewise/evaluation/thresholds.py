"""What a run must reach."""

from collections.abc import Iterable
from dataclasses import dataclass

from citewise.evaluation.answered import ANSWER_METRICS
from citewise.evaluation.compare import LOWER_IS_BETTER
from citewise.evaluation.ranked import RANKING_METRICS
from citewise.evaluation.runs import Run

METRICS = (*RANKING_METRICS, *ANSWER_METRICS)  # every one that a run can have


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least that is good enough; of what is better when lower, the most."""

    metric: str
    value: float

    def problem(self, run: Run) -> str | None:
        """In words, how the run falls short; None if it does not."""
        found = run.metrics.get(self.metric)
        if found is None:
            return f"{self.metric} was not measured: no question of the set has it"
        if self.metric in LOWER_IS_BETTER:
            return f"{self.metric} is {found:g}, above {self.value:g}" if found > self.value else None
        hint = " (it is a share: never above 1)" if self.value > 1 else ""
        # Runs are written with six decimals: a threshold copied from one is reached by it.
        return f"{self.metric} is {found:.4f}, under {self.value:g}{hint}" if round(found, 6) < self.value else None


def shortfalls(run: Run, thresholds: Iterable[Threshold]) -> list[str]:
    """Every threshold that the run does not reach."""
    return [problem for problem in (one.problem(run) for one in thresholds) if problem is not None]
