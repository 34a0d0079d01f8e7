"""How long a campaign runs, and the seed that repeats it; and what of a failing case is enough for it to fail.

`CITEWISE_SOAK=1` runs the long size of every campaign, `CITEWISE_SOAK=0.1` a tenth of it. `CITEWISE_SEED` repeats a
run; without it a seed is drawn, so that every run tries something new.
"""

import os
import random
from collections.abc import Callable
from typing import Any, TypeVar

SOAK = float(os.environ.get("CITEWISE_SOAK") or 0)
SEED = int(os.environ.get("CITEWISE_SEED") or random.SystemRandom().getrandbits(32))


Parts = TypeVar("Parts", bytes, tuple[Any, ...])


def steps(short: int, long: int) -> int:
    """How many steps (or seconds) to take: `short` in `make test`; in `make soak` `long`, or the share of it that is
    asked for, and never fewer than `short`."""
    return max(short, round(SOAK * long))


def repeating(test: str) -> str:
    """The command that runs a test again as it ran in this process."""
    size = f"CITEWISE_SOAK={SOAK:g} " if SOAK else ""
    return f"CITEWISE_SEED={SEED} {size}.venv/bin/python -m pytest '{test}'"


def shrunk(parts: Parts, fails: Callable[[Parts], bool]) -> Parts:
    """A shortest part that still fails, as far as leaving out halves, quarters and so on finds it."""
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            shorter = parts[:at] + parts[at + size :]
            if shorter and fails(shorter):
                parts = shorter
            else:
                at += size
        size //= 2
    return parts
