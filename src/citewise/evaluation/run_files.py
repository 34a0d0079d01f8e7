"""Runs as JSON (SPEC J), out and in. A run file may come from anybody: it is read field by field."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from citewise.errors import BadData, BadRequest
from citewise.evaluation.cases import Kind, Unit
from citewise.evaluation.json_files import read_json
from citewise.evaluation.runs import Ablation, Difference, Outcome, Place, Run
from citewise.evaluation.summary import SUMS, measured

DECIMALS = 6
MILLISECONDS = 3  # decimals
MAX_BYTES = 200_000_000
MOST = 1e12  # of any number: no metric and no time comes near, and every drawing can hold it
# What programs may rely on; null where a run could not say.
METRICS = ("ndcg@10", "recall@5", "recall@100", "precision@5", "mrr@10", "citation_accuracy", "refusal_accuracy")
PERCENTILES = ("p50", "p95", "p99")
A_RUN = "a run is what `citewise eval SET --out RUN.json` writes"

_TOP = {"set", "metrics", "questions"}  # what every run has, and nothing else that citewise writes

T = TypeVar("T")


def run_json(run: Run) -> dict[str, object]:
    """`eval`: what programs rely on first, then everything that `eval compare` needs."""
    return {
        "set": run.set,
        "queries": run.queries,
        "metrics": {**dict.fromkeys(METRICS), **_rounded(run.metrics, DECIMALS)},
        "latency_ms": {**dict.fromkeys(PERCENTILES), **_rounded(run.latency_ms, MILLISECONDS)},
        "settings": dict(run.settings),
        "commit": run.commit,
        "unit": run.unit.value,
        "questions_measured": measured(run.outcomes),
        "groups": {name: _rounded(metrics, DECIMALS) for name, metrics in run.groups.items()},
        "stages_ms": _rounded(run.stages_ms, MILLISECONDS),
        "questions": [_outcome_json(one) for one in run.outcomes],
    }


def difference_json(difference: Difference, verdict: str) -> dict[str, object]:
    return {
        "metric": difference.metric,
        "before": round(difference.before, DECIMALS),
        "after": round(difference.after, DECIMALS),
        "change": round(difference.change, DECIMALS),
        "interval": [round(difference.low, DECIMALS), round(difference.high, DECIMALS)],
        "p": round(difference.p_value, DECIMALS),
        "questions": difference.questions,
        "better": difference.better,
        "worse": difference.worse,
        "verdict": verdict,
    }


def ablation_json(ablation: Ablation, verdict: Callable[[Difference], str]) -> dict[str, object]:
    return {
        "name": ablation.name,
        "metrics": _rounded(ablation.run.metrics, DECIMALS),
        "latency_ms": _rounded(ablation.run.latency_ms, MILLISECONDS),
        "against_everything": [difference_json(one, verdict(one)) for one in ablation.differences],
    }


def _outcome_json(outcome: Outcome) -> dict[str, object]:
    return {
        "id": outcome.id,
        "question": outcome.question,
        "kind": outcome.kind.value,
        "group": outcome.group,
        "measures": _rounded(outcome.measures, DECIMALS),
        "latency_ms": round(outcome.latency_ms, MILLISECONDS),
        "expected": [_place_json(one) for one in outcome.expected],
        "found": [_place_json(one) for one in outcome.found],
        "answer": outcome.answer,
        "refused": outcome.is_refused,
        "expected_answer": outcome.expected_answer,
    }


def _place_json(place: Place) -> dict[str, object]:
    return {
        "document": place.document,
        "section": place.section,
        "lines": None if place.first_line is None else [place.first_line, place.last_line],
        "chunk": place.chunk,
        "grade": place.grade,
    }


def _rounded(values: Mapping[str, float], decimals: int) -> dict[str, float | None]:
    return {name: round(value, decimals) for name, value in values.items()}


def read_run(file: Path) -> Run:
    """The run that `--json` or `--out` wrote; BadRequest says that it is none, BadData what is wrong in it."""
    try:
        value = read_json(file, max_bytes=MAX_BYTES, called="the run ")
    except BadRequest as error:
        raise BadRequest(f"{error}; {A_RUN}") from error
    if not isinstance(value, dict) or not value.keys() >= _TOP:
        raise BadRequest(f"{file} is no run: {_look_of(value)}{A_RUN}")
    return _Tree(str(file), value).run()


def _look_of(value: object) -> str:
    """What a file that is no run seems to be instead."""
    if isinstance(value, dict) and "ablations" in value:
        return "it holds ablations, which are compared with each other already; "
    entries = value.get("questions") if isinstance(value, dict) else value
    if isinstance(entries, list) and entries and isinstance(entries[0], dict) and "question" in entries[0]:
        return "it holds questions that are yet to be asked; "
    return ""


class _Tree:
    """A JSON value, and how to speak of where it stands."""

    def __init__(self, where: str, value: object) -> None:
        self._where = where
        self._value = value

    def run(self) -> Run:
        metrics = self.field("metrics").measures()
        self.field("questions").refuse_twins()
        return Run(
            set=self.field("set").text(),
            unit=self.field("unit").one_of(Unit),
            outcomes=tuple(one.outcome() for one in self.field("questions").items()),
            metrics=metrics,
            groups={name: one.measures() for name, one in self.field("groups").fields().items()},
            latency_ms=self.field("latency_ms").numbers(),
            stages_ms=self.field("stages_ms").numbers(),
            settings=self.field("settings").table(),
            commit=self.field("commit").optional_text(),
        )

    def outcome(self) -> Outcome:
        return Outcome(
            id=self.field("id").text(),
            question=self.field("question").text(),
            kind=self.field("kind").one_of(Kind),
            group=self.field("group").text(),
            measures=self.field("measures").measures(),
            latency_ms=self.field("latency_ms").number(),
            expected=tuple(one.place() for one in self.field("expected").items()),
            found=tuple(one.place() for one in self.field("found").items()),
            answer=self.field("answer").optional_text(),
            is_refused=self.field("refused").optional_flag(),
            expected_answer=self.later_field("expected_answer").optional_text(),
        )

    def place(self) -> Place:
        lines = self.field("lines")
        first, last = (None, None) if lines._value is None else lines.pair()
        return Place(
            document=self.field("document").text(),
            section=self.field("section").text(),
            first_line=first,
            last_line=last,
            chunk=self.field("chunk").optional_text(),
            grade=self.field("grade").whole(),
        )

    def field(self, name: str) -> "_Tree":
        table = self.table()
        if name not in table:
            raise self._wrong(f"has no {name}: it was not written by `citewise eval`")
        return _Tree(f"{self._where}: {name}", table[name])

    def later_field(self, name: str) -> "_Tree":
        """One that the first runs did not have yet."""
        return self.field(name) if name in self.table() else _Tree(self._where, None)

    def fields(self) -> dict[str, "_Tree"]:
        return {name: _Tree(f"{self._where}.{name}", value) for name, value in self.table().items()}

    def items(self) -> list["_Tree"]:
        values = self._checked(list, "a list")
        return [_Tree(f"{self._where}[{at}]", value) for at, value in enumerate(values)]

    def table(self) -> Mapping[str, Any]:
        return self._checked(dict, "an object")

    def text(self) -> str:
        return self._checked(str, "text")

    def optional_text(self) -> str | None:
        return None if self._value is None else self.text()

    def optional_flag(self) -> bool | None:
        return None if self._value is None else self._checked(bool, "true or false")

    def number(self) -> float:
        if isinstance(self._value, bool) or not isinstance(self._value, int | float):
            raise self._wrong("must be a number")
        try:
            number = float(self._value)
        except OverflowError:
            number = math.inf
        if not abs(number) <= MOST:
            raise self._wrong(f"must be a number up to {MOST:g}")
        return number

    def whole(self) -> int:
        return int(self.number())

    def pair(self) -> tuple[int, int]:
        values = self.items()
        if len(values) != 2:
            raise self._wrong("must be a first and a last line")
        return values[0].whole(), values[1].whole()

    def numbers(self) -> dict[str, float]:
        """By name; what is null is absent."""
        return {name: one.number() for name, one in self.fields().items() if one._value is not None}

    def measures(self) -> dict[str, float]:
        """Numbers that are all a share of something, but for those that are counts."""
        found = self.numbers()
        for name, value in found.items():
            if not 0 <= value <= (MOST if name in SUMS else 1):
                raise BadData(f"{self._where}.{name} is {value:g}, and every measure lies in 0..1: make the run again")
        return found

    def refuse_twins(self) -> None:
        seen: set[str] = set()
        for one in self.items():
            id_ = one.field("id").text()
            if id_ in seen:
                raise BadData(f"{one._where}: the id {id_!r} occurred before: make the run again")
            seen.add(id_)

    def one_of(self, kinds: Callable[[str], T]) -> T:
        try:
            return kinds(self.text())
        except ValueError as error:
            raise self._wrong(f"is {self.text()!r}, which is not known") from error

    def _checked(self, kind: type[T], words: str) -> T:
        if not isinstance(self._value, kind):
            raise self._wrong(f"must be {words}")
        return self._value

    def _wrong(self, what: str) -> BadRequest:
        return BadRequest(f"{self._where} {what}")
