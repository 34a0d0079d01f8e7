"""Work that grows with its input and no faster, whatever else the machine is doing."""

import time
from collections.abc import Callable

FACTOR = 16  # large input : small input; quadratic work would take 256 times as long
MAX_RATIO = 4 * FACTOR
FLOOR_SECONDS = 0.05  # of CPU time: less is not worth comparing
TRIES = 5


def assert_linear(work: Callable[[str], object], piece: str, *, characters: int) -> None:
    """`work` on `characters` of repeated `piece` costs in proportion to a sixteenth of it: CPU time of this thread."""
    large, small = (piece * max(1, size // len(piece)) for size in (characters, characters // FACTOR))
    ratios = []
    for _ in range(TRIES):
        ratios.append(_cpu_seconds(work, large) / max(_cpu_seconds(work, small), FLOOR_SECONDS / FACTOR))
        if ratios[-1] < MAX_RATIO:
            return
    raise AssertionError(f"{FACTOR} times as much of {piece!r} took {min(ratios):.0f} times as long")


def _cpu_seconds(work: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    work(text)
    return time.thread_time() - started
