"""citewise and the peers that come near it, measured in turns: a machine's slow moments then hit all of them alike."""

import json
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Timer

from benchmarks.peers.contenders import Contender
from benchmarks.peers.harness import IN_TURNS, Asked
from benchmarks.peers.measures import near_fastest
from benchmarks.peers.outcome import Outcome
from benchmarks.peers.report import parted
from benchmarks.peers.venvs import ROOT, last_line, silent_environment
from citewise.model.errors import Unavailable

ROUNDS = 3  # 1: whoever runs in a slow moment has lost; more: a minute each
ANSWER_SECONDS = 120  # for one principal's questions, or to take the corpus in
STOP_SECONDS = 10

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


def ready(driver: "Waiting") -> Turn:
    """Once it holds the corpus."""
    driver.line()
    return driver.asked


class Waiting:
    """A driver that holds the corpus and asks when it is told to."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log

    def asked(self, principal: str) -> Asked:
        assert self._process.stdin is not None
        try:
            print(principal, file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise self._stopped() from error
        return Asked(**json.loads(self.line()))

    def line(self) -> str:
        assert self._process.stdout is not None
        watch = Timer(ANSWER_SECONDS, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            raise self._stopped()
        return line

    def _stopped(self) -> Unavailable:
        return Unavailable(f"a driver stopped: {last_line(self._log.read_text('utf-8', 'replace'))}")


def command_of(contender: Contender, run: Run) -> tuple[Sequence[str], Path]:
    """What starts its driver, and the log beside its job."""
    python, job = run
    command = (str(python), "-m", f"benchmarks.peers.{contender.name}_driver", str(job), IN_TURNS)
    return command, job.with_name("log-in-turns.txt")


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[Waiting]:
    """The driver for as long as it is needed, and not longer."""
    with log.open("w", encoding="utf-8") as written:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=silent_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
        try:
            yield Waiting(process, log)
        finally:
            _stop(process)


def _stop(process: "subprocess.Popen[str]") -> None:
    try:
        process.communicate(timeout=STOP_SECONDS)  # closes its input, which ends it
    except (subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        process.wait()
