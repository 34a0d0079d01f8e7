"""Taking times of searches: one after the other, or by several threads at once, until a clock says stop."""

import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Self

from citewise import Library, Principal, Settings
from citewise.model.ranking import SearchResult

FORGETFUL = Settings().changed(query_cache={"megabytes": 0})  # what is timed is a search, not the memory of one
WHOLE = "whole call"
STAGES = ("embed", "dense", "words", "code", "rankings", "fuse", "hydrate", "refine", WHOLE)
LEAST = 20  # searches, however short the time: a percentile needs some


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Milliseconds."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        cuts = statistics.quantiles(values, n=100, method="inclusive")
        return cls(cuts[49], cuts[94], cuts[98])

    @property
    def row(self) -> tuple[float, float, float]:
        return self.p50, self.p95, self.p99


@dataclass(frozen=True, slots=True)
class Timed:
    """What searches with one filter took: the very first, and those in a warm process by stage."""

    first_ms: float
    stages: Mapping[str, Percentiles]
    cpu: Percentiles  # of all threads of the process
    searches: int


def warm(library: Library, questions: Sequence[str], seconds: float) -> None:
    """Every question once, if the time suffices: what they read of the files is in memory then."""
    ends_at = time.perf_counter() + seconds
    for question in questions:
        library.as_owner().search(question)
        if time.perf_counter() >= ends_at:
            return


def timed(library: Library, questions: Sequence[str], principal: Principal, seconds: float) -> Timed:
    """Questions in turn until the time is over; a tenth more of it warms up and is not counted."""
    first_ms = _search(library, questions[0], principal).waited_ms
    for question in _in_turn(questions, seconds / 10):
        library.as_principal(principal).search(question)
    taken: dict[str, list[float]] = {stage: [] for stage in STAGES}
    cpu = []
    for question in _in_turn(questions, seconds):
        search = _search(library, question, principal)
        cpu.append(search.cpu_ms)
        for stage, ms in _stages(search).items():
            taken[stage].append(ms)
    stages = {stage: Percentiles.of(ms) for stage, ms in taken.items()}
    return Timed(first_ms, stages, Percentiles.of(cpu), len(cpu))


def searches_a_second(
    library: Library, questions: Sequence[str], principal: Principal, seconds: float, *, threads: int
) -> float:
    """How many searches end in a second when so many threads ask, each as soon as it has its answer."""
    start = threading.Barrier(threads)

    def asking(thread: int) -> int:
        start.wait()
        own = [*questions[thread:], *questions[:thread]]
        return sum(bool(library.as_principal(principal).search(question)) for question in _in_turn(own, seconds))

    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        done = sum(pool.map(asking, range(threads)))
        return done / (time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class _Asked:
    result: SearchResult
    waited_ms: float
    cpu_ms: float


def _search(library: Library, question: str, principal: Principal) -> _Asked:
    used, started = time.process_time(), time.perf_counter()
    result = library.as_principal(principal).search(question)
    return _Asked(result, 1000 * (time.perf_counter() - started), 1000 * (time.process_time() - used))


def _stages(asked: _Asked) -> dict[str, float]:
    """The stages' own times; what comes after hydration is one figure."""
    told = asked.result.timings_ms
    named = {stage: told[stage] for stage in STAGES if stage in told}
    refine = sum(ms for stage, ms in told.items() if stage not in STAGES and stage != "total")
    return {**named, "refine": refine, WHOLE: asked.waited_ms}


def _in_turn(questions: Sequence[str], seconds: float) -> Iterator[str]:
    ends_at = time.perf_counter() + seconds
    for asked in count():
        if asked >= LEAST and time.perf_counter() >= ends_at:
            return
        yield questions[asked % len(questions)]
