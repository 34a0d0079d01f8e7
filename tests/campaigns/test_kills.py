"""SIGKILL at random moments of every command that writes: nothing is lost, doubled or corrupt."""

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring_models import embedding_of
from tests.campaigns.kills import FAULTS, LATEST, Killed, Step, edit
from tests.campaigns.size import shrunk, steps

SERIES = 8  # steps in the life of one library


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return embedding_of(Settings())


def problem_of(series: Sequence[Step], embedding: Embedding) -> tuple[str, int]:
    """What is wrong with a new library after these steps, if anything is, and how many commands were killed."""
    with tempfile.TemporaryDirectory() as home:
        library = Killed(Path(home), embedding)
        problem = next(filter(None, map(library.run, series)), "") or library.finished()
        return problem, library.kills


def test_nothing_is_lost_by_a_kill_and_the_end_is_that_of_a_fresh_library(
    draw: random.Random, embedding: Embedding
) -> None:
    kills, wanted = 0, steps(6, 200)
    while kills < wanted:
        series = tuple(Step.drawn(draw) for _ in range(min(SERIES, 2 * (wanted - kills))))
        problem, killed = problem_of(series, embedding)
        kills += killed
        sys.stdout.write(f"{kills} kills\n")
        if problem:
            fewest = shrunk(series, lambda some: bool(problem_of(some, embedding)[0]))
            pytest.fail(f"{problem}\n{len(fewest)} of {len(series)} steps are enough for it: {fewest}")


@pytest.mark.parametrize("fault", FAULTS)
def test_the_campaign_notices_that(fault: str, draw: random.Random, embedding: Embedding, tmp_path: Path) -> None:
    library = Killed(tmp_path, embedding, fault=fault)
    edit(library.docs, draw.getrandbits(32))
    library.ingest()
    problem = library.run(Step("ingest", draw.getrandbits(32), LATEST)) or library.finished()
    assert library.kills == 1
    assert problem
