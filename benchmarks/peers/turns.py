"""citewise and the peers that come near it, measured in turns: a machine's slow moments then hit all of them alike."""

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.drivers import Speaker, silent_environment, speaking
from benchmarks.peers.contenders import Contender
from benchmarks.peers.harness import IN_TURNS, Asked
from benchmarks.peers.measures import near_fastest
from benchmarks.peers.outcome import Outcome
from benchmarks.peers.report import parted
from citewise.errors import Unavailable

ROUNDS = 7  # 1: whoever runs in a slow moment has lost, and moods last for some rounds; more: half a minute each
ANSWER_SECONDS = 120  # for one principal's questions, or to take the corpus in

Turn = Callable[[str], Asked]  # a principal's questions, asked once
Run = tuple[Path, Path]  # interpreter and job of a contender


def in_turns(outcomes: Sequence[Outcome], runs: Mapping[Contender, Run], principals: Sequence[str]) -> list[Outcome]:
    """The outcomes with the times of ourselves and of whoever is near measured again; the others stay as they are."""
    ours, peers = parted(outcomes)
    near = near_fastest(peers, principals)
    if ours is None or ours.speed is None or not near:
        return list(outcomes)
    chosen = [one.contender for one in (ours, *near)]
    try:
        with ExitStack() as stack:
            started = {one: stack.enter_context(running(*command_of(one, runs[one]))) for one in chosen}
            turns = {one: ready(started[one]) for one in chosen}
            rounds = alternating(turns, principals)
    except Unavailable as error:
        return [
            replace(one, problems=(*one.problems, f"in turns: {error}")) if one is ours else one for one in outcomes
        ]
    return [timed_anew(one, rounds[one.contender]) if one.contender in rounds else one for one in outcomes]


def alternating(
    turns: Mapping[Contender, Turn], principals: Sequence[str], rounds: int = ROUNDS
) -> dict[Contender, list[Asked]]:
    """Everybody's turn for one principal, then for the next; who begins changes with every round."""
    found: dict[Contender, list[Asked]] = {one: [] for one in turns}
    names = list(turns)
    for number in range(rounds):
        first = number % len(names)
        for principal in principals:
            for one in (*names[first:], *names[:first]):
                found[one].append(turns[one](principal))
    return found


def timed_anew(outcome: Outcome, asked: Sequence[Asked]) -> Outcome:
    if outcome.speed is None:
        return outcome
    by_principal = [[one for one in asked if one.principal == each.principal] for each in outcome.speed.asked]
    merged = tuple(median_of(rounds) for rounds in by_principal)
    return replace(outcome, speed=replace(outcome.speed, asked=merged, rounds=min(map(len, by_principal))))


def median_of(rounds: Sequence[Asked]) -> Asked:
    """Of every time the median; of what went wrong the worst round."""

    def middle(read: Callable[[Asked], float]) -> float:
        return statistics.median(map(read, rounds))

    return replace(
        rounds[0],
        p50_ms=middle(lambda one: one.p50_ms),
        p95_ms=middle(lambda one: one.p95_ms),
        p99_ms=middle(lambda one: one.p99_ms),
        cpu_ms=middle(lambda one: one.cpu_ms),
        wrong=max(one.wrong for one in rounds),
        short=max(one.short for one in rounds),
    )


@dataclass(frozen=True, slots=True)
class Waiting:
    """A driver that holds the corpus and asks when it is told to."""

    speaker: Speaker

    def asked(self, principal: str) -> Asked:
        self.speaker.tell(principal)
        return Asked(**json.loads(self.speaker.hear()))


def ready(driver: Waiting) -> Turn:
    """Once it holds the corpus."""
    driver.speaker.hear()
    return driver.asked


def command_of(contender: Contender, run: Run) -> tuple[Sequence[str], Path]:
    """What starts its driver, and the log beside its job."""
    python, job = run
    command = (str(python), "-m", f"benchmarks.peers.{contender.name}_driver", str(job), IN_TURNS)
    return command, job.with_name("log-in-turns.txt")


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[Waiting]:
    with speaking(command, log=log, environment=silent_environment(), answer_seconds=ANSWER_SECONDS) as speaker:
        yield Waiting(speaker)
