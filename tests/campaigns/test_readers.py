"""Readers beside a writer that ingests, changes rules, compacts and rebuilds: nothing wrong, torn or foreign."""

import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from tests.campaigns.readers import FAULTS, OPERATIONS, READERS, problems, read, write
from tests.campaigns.size import shrunk, steps

ROUND = 8  # operations in the life of one library
SHOWN = 5  # problems that a failure names

Operations = tuple[tuple[str, int], ...]


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit the threads and locks of the test process
    with ProcessPoolExecutor(len(READERS) + 1, mp_context=spawn) as pool:
        yield pool


def an_operation(draw: random.Random) -> tuple[str, int]:
    return draw.choice(OPERATIONS), draw.getrandbits(32)


def seen_problems(operations: Operations, processes: ProcessPoolExecutor, fault: str = "") -> tuple[list[str], int]:
    """What is wrong with what the readers of a new library saw, and how many searches they made."""
    with tempfile.TemporaryDirectory() as folder:
        searching = [processes.submit(read, Path(folder), reader, fault) for reader in READERS]
        facts = processes.submit(write, Path(folder), operations, fault).result()
        seen = [each for reader in searching for each in reader.result()]
    return list(islice(problems(facts, seen), SHOWN)), len(seen)


def test_no_reader_beside_a_writer_sees_anything_wrong(draw: random.Random, processes: ProcessPoolExecutor) -> None:
    until, searches = time.monotonic() + steps(10, 600), 0
    while time.monotonic() < until:
        operations = (("edit", draw.getrandbits(32)), *(an_operation(draw) for _ in range(ROUND)))
        found, count = seen_problems(operations, processes)
        searches += count
        if found:
            fewest = shrunk(operations, lambda some: bool(seen_problems(some, processes)[0]))
            pytest.fail(f"{found}\n{len(fewest)} of {len(operations)} operations are enough for it: {fewest}")
    sys.stdout.write(f"{searches} searches\n")
    assert searches > 0


@pytest.mark.parametrize("fault", FAULTS)
def test_the_campaign_notices_that(fault: str, draw: random.Random, processes: ProcessPoolExecutor) -> None:
    operations = tuple(("edit", draw.getrandbits(32)) for _ in range(ROUND))  # each closes two pages
    assert seen_problems(operations, processes, fault)[0]
