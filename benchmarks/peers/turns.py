"""citewise and the peers that come near it, measured in turns: a machine's slow moments then hit all of them alike."""

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.drivers import DriverProcess, driver_process, silent_environment
from benchmarks.peers.contenders import Contender
from benchmarks.peers.harness import IN_TURNS, SearchTimes
from benchmarks.peers.measures import near_fastest
from benchmarks.peers.outcome import Outcome
from benchmarks.peers.report import ours_and_peers
from citewise.errors import Unavailable

ROUNDS = 7  # 1: whoever runs in a slow moment has lost, and moods last for some rounds; more: half a minute each
ANSWER_SECONDS = 120  # for one principal's questions, or to take the corpus in

Turn = Callable[[str], SearchTimes]  # a principal's questions, asked once
Run = tuple[Path, Path]  # interpreter and job of a contender


def in_turns(outcomes: Sequence[Outcome], runs: Mapping[Contender, Run], principals: Sequence[str]) -> list[Outcome]:
    """The outcomes with the times of ourselves and of whoever is near measured again; the others stay as they are."""
    ours, peers = ours_and_peers(outcomes)
    near = near_fastest(peers, principals)
    if ours is None or ours.speed is None or not near:
        return list(outcomes)
    chosen = [outcome.contender for outcome in (ours, *near)]
    try:
        with ExitStack() as stack:
            started = {
                contender: stack.enter_context(running(*command_of(contender, runs[contender]))) for contender in chosen
            }
            turns = {contender: ready(started[contender]) for contender in chosen}
            rounds = alternating(turns, principals)
    except Unavailable as error:
        return [
            replace(outcome, problems=(*outcome.problems, f"in turns: {error}")) if outcome is ours else outcome
            for outcome in outcomes
        ]
    return [
        with_new_times(outcome, rounds[outcome.contender]) if outcome.contender in rounds else outcome
        for outcome in outcomes
    ]


def alternating(
    turns: Mapping[Contender, Turn], principals: Sequence[str], rounds: int = ROUNDS
) -> dict[Contender, list[SearchTimes]]:
    """Everybody's turn for one principal, then for the next; who begins changes with every round."""
    found: dict[Contender, list[SearchTimes]] = {contender: [] for contender in turns}
    names = list(turns)
    for number in range(rounds):
        first = number % len(names)
        for principal in principals:
            for contender in (*names[first:], *names[:first]):
                found[contender].append(turns[contender](principal))
    return found


def with_new_times(outcome: Outcome, turns: Sequence[SearchTimes]) -> Outcome:
    if outcome.speed is None:
        return outcome
    by_principal = [[turn for turn in turns if turn.principal == known.principal] for known in outcome.speed.searches]
    merged = tuple(median_of(rounds) for rounds in by_principal)
    return replace(outcome, speed=replace(outcome.speed, searches=merged, rounds=min(map(len, by_principal))))


def median_of(rounds: Sequence[SearchTimes]) -> SearchTimes:
    """Of every time the median; of what went wrong the worst round."""

    def middle(read: Callable[[SearchTimes], float]) -> float:
        return statistics.median(map(read, rounds))

    return replace(
        rounds[0],
        p50_ms=middle(lambda times: times.p50_ms),
        p95_ms=middle(lambda times: times.p95_ms),
        p99_ms=middle(lambda times: times.p99_ms),
        cpu_ms=middle(lambda times: times.cpu_ms),
        wrong=max(times.wrong for times in rounds),
        short=max(times.short for times in rounds),
    )


@dataclass(frozen=True, slots=True)
class WaitingDriver:
    """A driver that holds the corpus and asks when it is told to."""

    process: DriverProcess

    def search(self, principal: str) -> SearchTimes:
        self.process.send(principal)
        return SearchTimes(**json.loads(self.process.receive()))


def ready(driver: WaitingDriver) -> Turn:
    """Once it holds the corpus."""
    driver.process.receive()
    return driver.search


def command_of(contender: Contender, run: Run) -> tuple[Sequence[str], Path]:
    """What starts its driver, and the log beside its job."""
    python, job = run
    command = (str(python), "-m", f"benchmarks.peers.{contender.name}_driver", str(job), IN_TURNS)
    return command, job.with_name("log-in-turns.txt")


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[WaitingDriver]:
    with driver_process(command, log=log, environment=silent_environment(), answer_seconds=ANSWER_SECONDS) as process:
        yield WaitingDriver(process)
