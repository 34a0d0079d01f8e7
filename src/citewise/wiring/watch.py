"""Changes on disk -> which files to look at again."""

from collections.abc import Iterator, Sequence
from pathlib import Path

QUIET_MS = 300  # how long files must rest before they are read; editors write in several steps
TICK_MS = 1000  # how often a quiet watch comes back, so that what could not be done then is tried again


def changes_below(targets: Sequence[Path], *, own: Path) -> Iterator[dict[Path, list[Path]]]:
    """For each target what changed below it; nothing, now and then, when nothing did.

    The first answer names the targets themselves: what changed before the watch was in place is not known.
    """
    from watchfiles import watch

    library = own.resolve()
    is_first = True
    for changes in watch(*targets, step=QUIET_MS, rust_timeout=TICK_MS, yield_on_timeout=True, raise_interrupt=True):
        if is_first:
            is_first = False
            yield {target: [target] for target in targets}
        touched = [path for path in sorted({Path(path) for _, path in changes}) if not path.is_relative_to(library)]
        found = ((target, [path for path in touched if path.is_relative_to(target)]) for target in targets)
        yield {target: below for target, below in found if below}
