"""The results of one evaluation, question by question, their means, and the file that they are written to."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Kind, Place, Unit, read_bytes
from citewise.evaluation.metrics import ANSWER_METRICS, RANKING_METRICS
from citewise.evaluation.sets import problem_in
from citewise.insights import percentiles
from citewise.model.answer import Outcome

METRICS = (*RANKING_METRICS, *ANSWER_METRICS)  # every one that a run can have
SUMS = ("selected_leaks",)  # counted, not averaged; lower is better
MAIN_METRICS = (
    *("ndcg@10", "recall@5", "recall@100", "precision@5", "mrr@10"),
    *("citation_accuracy", "refusal_accuracy", "coverage", "reference_recall", "selected_accuracy", "selected_leaks"),
)
PRIMARY = ("ndcg@10", "recall@5", "refusal_accuracy", "selected_accuracy")  # the first that a run has
DECISIONS = ("refusal_accuracy", "citation_accuracy", "selected_accuracy")  # that are right or wrong
MAX_BYTES = 200_000_000
# Keys that programs may rely on; null where a run has no value.
JSON_METRICS = MAIN_METRICS[:7]
PERCENTILES = ("p50", "p95", "p99")
A_RUN = "a run is what `citewise eval SET --out RUN.json` writes"

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


_WRONG: Mapping[Outcome | None, str] = {
    "nothing": "refused, and should have been answered",
    "unsure": "not sure, and should have answered",
    "answered": "answered without grounds",
    None: "wrongly answered or refused",  # a run from before the outcomes had names
}


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question: what was expected, what was found, and the metrics of that."""

    id: str
    question: str
    kind: Kind
    group: str = ""
    measures: Mapping[str, Share] = field(default_factory=dict)  # by metric; one that does not apply is absent
    latency_ms: Milliseconds = 0.0  # of the search, or of the answer where nothing is searched
    expected: tuple[Place, ...] = ()
    found: tuple[Place, ...] = ()  # the first ten
    answer: str | None = None
    outcome: Outcome | None = None  # None: no answer was asked for
    expected_answer: str | None = None
    answer_ms: Milliseconds | None = None  # to the last word of the answer, its search included
    answer_lines: Annotated[int, Field(ge=0)] | None = None  # on a screen of 100 columns

    @property
    def refused(self) -> bool:
        """Whether it was told that there is nothing."""
        return self.outcome == "nothing"

    @property
    def worst(self) -> tuple[float, str] | None:
        """The value, where 1 is perfect, and the name of the metric that the question is worst at, if any."""
        names = [name for name in ("ndcg@10", *DECISIONS, *SUMS) if name in self.measures]
        values = [(1 - self.measures[name] if name in SUMS else self.measures[name], name) for name in names]
        return min(values, key=lambda value: value[0], default=None)

    @property
    def problems(self) -> list[str]:
        """What was wrong about an answer, in words."""
        measures, problems = self.measures, []
        if measures.get("refusal_accuracy") == 0.0 or measures.get("selected_accuracy") == 0.0:
            problems.append(_WRONG[self.outcome])
        if (true := measures.get("citation_accuracy", 1.0)) < 1.0:
            problems.append(f"only {true:.0%} of its citations are true" if true else "no citation that is true")
        if measures.get("selected_leaks"):
            problems.append("shows what is not in the selection")
        return problems


@dataclass(frozen=True)
class Run:
    """One set evaluated on one library with one choice of settings."""

    set: str
    unit: Unit
    questions: tuple[QuestionResult, ...]
    stages_ms: Mapping[str, Milliseconds]  # median of each stage
    settings: Mapping[str, object]  # models, and every setting that is not the default
    commit: str | None  # of citewise, where it runs from a checkout

    @property
    def queries(self) -> int:
        return len(self.questions)

    @cached_property
    def metrics(self) -> Mapping[str, float]:
        """Each metric over the questions that have it, the main ones first."""
        means = _means(self.questions)
        return {name: means[name] for name in (*MAIN_METRICS, *means) if name in means}

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, float]]:
        """The metrics of each named group, in order of appearance."""
        names = dict.fromkeys(question.group for question in self.questions if question.group)
        return {name: _means(found for found in self.questions if found.group == name) for name in names}

    @cached_property
    def latency_ms(self) -> Mapping[str, float]:
        """p50, p95 and p99 of the searches."""
        return percentiles([question.latency_ms for question in self.questions if question.kind != "selected"])

    @cached_property
    def answers(self) -> Mapping[str, Mapping[str, float]]:
        """p50, p95 and p99 of the time to an answer, and of its length in lines; nothing where none was asked for."""
        answered = [question for question in self.questions if not question.refused]
        found = {
            "ms": [each.answer_ms for each in self.questions if each.answer_ms is not None],
            "lines": [float(each.answer_lines) for each in answered if each.answer_lines is not None],
        }
        return {name: percentiles(values) for name, values in found.items() if values}

    @property
    def questions_measured(self) -> Mapping[str, int]:
        return Counter(name for question in self.questions for name in question.measures)

    @property
    def primary_metric(self) -> str | None:
        """The metric by which questions are ordered."""
        return next((name for name in PRIMARY if name in self.metrics), None)

    @property
    def worst_first(self) -> list[QuestionResult]:
        """The worst questions first: not found, wrongly answered or refused, falsely cited; unmeasured ones last."""

        def order(question: QuestionResult) -> tuple[float, float]:
            return question.worst[0] if question.worst else 2.0, question.measures.get("ndcg@10", 1.0)

        return sorted(self.questions, key=order)

    @staticmethod
    def read(file: Path) -> "Run":
        """The run in a file. BadRequest if it is not a run, BadData if it contradicts itself."""
        try:
            run = _RUN.validate_json(read_bytes(file, max_bytes=MAX_BYTES), strict=True)
        except ValidationError as error:
            raise BadRequest(f"{file} is not a run: {problem_in(error)}; {A_RUN}") from error
        id_, count = Counter(question.id for question in run.questions).most_common(1)[0] if run.questions else ("", 0)
        if count > 1:
            raise BadData(f"{file}: the id {id_!r} occurs twice: make the run again")
        return run

    def as_json(self) -> dict[str, object]:
        """The output of `eval`: the keys that programs rely on, then what `eval compare` needs."""
        tree = _RUN.dump_python(self, mode="json")
        return {
            "set": tree.pop("set"),
            "queries": self.queries,
            "metrics": {**dict.fromkeys(JSON_METRICS), **self.metrics},
            "latency_ms": {**dict.fromkeys(PERCENTILES), **self.latency_ms},
            "answers": self.answers,
            "settings": tree.pop("settings"),
            "commit": tree.pop("commit"),
            "questions_measured": self.questions_measured,
            "groups": self.groups,
            **tree,
        }


_RUN = TypeAdapter(Run)


def _means(questions: Iterable[QuestionResult]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for question in questions:
        for name, value in question.measures.items():
            values.setdefault(name, []).append(value)
    return {name: math.fsum(found) if name in SUMS else statistics.fmean(found) for name, found in values.items()}
