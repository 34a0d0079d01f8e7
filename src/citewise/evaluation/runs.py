"""What one evaluation gave, question by question. A run is written as JSON, compared with another, and drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from citewise.evaluation.cases import Kind, Unit


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was found or expected."""

    document: str
    section: str = ""
    first_line: int | None = None
    last_line: int | None = None
    chunk: str | None = None
    grade: int = 0  # of what was found: 0 if it answers nothing


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: what was expected, what came, and what that is worth."""

    id: str
    question: str
    kind: Kind
    group: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)  # by metric name; a metric that says nothing is absent
    latency_ms: float = 0.0  # of the search, or of the answer where nothing is searched
    expected: tuple[Place, ...] = ()
    found: tuple[Place, ...] = ()  # the first ten
    answer: str | None = None
    is_refused: bool | None = None  # None: no answer was asked for
    expected_answer: str | None = None  # the answer as the author of the question would have it


@dataclass(frozen=True, slots=True)
class Run:
    """One set against one library with one choice of settings."""

    set: str
    unit: Unit
    outcomes: tuple[Outcome, ...]
    metrics: Mapping[str, float]  # the mean of each measure over the questions that have it
    groups: Mapping[str, Mapping[str, float]]  # the same for each group
    latency_ms: Mapping[str, float]  # p50, p95, p99 of the searches
    stages_ms: Mapping[str, float]  # p50 of each stage
    settings: Mapping[str, object]  # what differs from the defaults, and what the defaults are called
    commit: str | None  # of citewise itself, where it runs from a checkout

    @property
    def queries(self) -> int:
        return len(self.outcomes)


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric in two runs over the questions that both have."""

    metric: str
    before: float
    after: float
    questions: int
    better: int  # questions for which `after` is higher
    worse: int
    low: float  # 95 % interval of the mean difference, by bootstrap
    high: float
    p_value: float  # two-sided, by a paired randomization test

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Ablation:
    """One row of the ablation table: a run without one stage."""

    name: str  # "everything", "without dense", …
    run: Run
    differences: tuple[Difference, ...]  # against everything; empty for that row itself
