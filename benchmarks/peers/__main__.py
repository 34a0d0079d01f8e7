"""citewise beside LanceDB, LlamaIndex, Haystack, LangChain and txtai: the same chunks, vectors, questions and filters.

    python -m benchmarks.peers [--only NAME] [--chunks 10000] [--questions 100]

Each runs in a virtual environment of its own below .bench/peers, made once (a few GB in all, most of it txtai's). One
that cannot be installed or run is a row that says why. A run of one alone is printed and not kept. At the end citewise
and the fastest peers that are right search once more in turns, so that what is said of them is a ratio within one run.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

from benchmarks.judged import DATA, Judged, beir
from benchmarks.peers.contenders import ALL, Contender
from benchmarks.peers.files import TENANTS, Job, write_job
from benchmarks.peers.material import JUDGED, write_material
from benchmarks.peers.measures import measures
from benchmarks.peers.outcome import Outcome, outcome_of
from benchmarks.peers.report import printed, results_of, summary
from benchmarks.peers.turns import in_turns
from benchmarks.peers.venvs import HOME, drive, measured, python_in, python_of
from benchmarks.printing import say
from benchmarks.results import write_results
from citewise.errors import CitewiseError, Unavailable

PRINCIPALS = {"10 %": frozenset(TENANTS[3:4]), "50 %": frozenset(TENANTS[::2]), "all": None}
TOP_K = 10
DEPTH = 50  # chunks that are folded into documents
WARM_UP = 10  # questions before the clock runs; others than the timed ones, so that no answer is remembered
RUN_SECONDS = 1_140  # for all contenders; each gets its share of what the quicker ones before it left


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=[contender.name for contender in ALL])
    arguments.add_argument("--chunks", type=int, default=10_000)
    arguments.add_argument("--questions", type=int, default=100)
    chosen = arguments.parse_args()
    try:
        write_material(HOME / "material", chunks=chosen.chunks, questions=chosen.questions + WARM_UP)
    except CitewiseError as error:
        say(str(error))
        return 3
    contenders = [contender for contender in ALL if chosen.only in (None, contender.name)]
    outcomes = run_all(contenders)
    started = time.monotonic()
    outcomes = in_turns(
        outcomes, {contender: (python_in(contender), job_for(contender)) for contender in contenders}, list(PRINCIPALS)
    )
    say(f"in turns: {time.monotonic() - started:.0f} s")
    print_report(outcomes)
    if chosen.only is None:
        print(f"written to {write_results(results_of(outcomes, list(PRINCIPALS), JUDGED)).name}")
    return 0


def run_all(contenders: list[Contender]) -> list[Outcome]:
    """Environments first, since making them is not part of the run's time; then one contender after the other."""
    judged = {name: beir(DATA / name) for name in JUDGED}
    ready = {contender: environment(contender) for contender in contenders}
    until = time.monotonic() + RUN_SECONDS
    outcomes: list[Outcome] = []
    for contender, python in ready.items():
        started = time.monotonic()
        if isinstance(python, Path):
            share = (until - started) / (len(ready) - len(outcomes))
            outcomes.append(run_one(contender, python, judged, share))
        else:
            outcomes.append(Outcome(contender, problems=(python,)))
        say(f"{contender.title}: {time.monotonic() - started:.0f} s")
    return outcomes


def environment(contender: Contender) -> Path | str:
    """The interpreter, or why there is none."""
    try:
        return python_of(contender)
    except Unavailable as error:
        return str(error)


def run_one(contender: Contender, python: Path, judged: dict[str, Judged], seconds: float) -> Outcome:
    file = job_for(contender)
    work = file.parent
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    job = Job(HOME / "material", work, work / "out.json", JUDGED, PRINCIPALS, TOP_K, DEPTH, WARM_UP)
    write_job(file, job)
    try:
        install = measured(contender, python)
    except Unavailable as error:
        return Outcome(contender, problems=(str(error),))
    stopped = drive(contender, python, file, seconds)
    return outcome_of(contender, install, job.out, judged, stopped)


def job_for(contender: Contender) -> Path:
    return HOME / "work" / contender.name / "job.json"


def print_report(outcomes: list[Outcome]) -> None:
    columns = measures(list(PRINCIPALS), JUDGED)
    print("\n".join(printed(outcomes, columns)))
    print("\n".join(summary(outcomes, list(PRINCIPALS), columns)))


if __name__ == "__main__":
    sys.exit(main())
