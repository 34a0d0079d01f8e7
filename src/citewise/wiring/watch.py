"""Changes on disk -> which files to look at again."""

from collections.abc import Iterator, Sequence
from pathlib import Path

QUIET_MS = 300  # how long files must rest before they are read; editors write in several steps


def changes_below(targets: Sequence[Path], *, own: Path) -> Iterator[dict[Path, list[Path]]]:
    """For each target what changed below it, whenever something did; the library's own files do not count."""
    from watchfiles import watch

    library = own.resolve()
    for changes in watch(*targets, step=QUIET_MS, raise_interrupt=True):
        paths = sorted({Path(path) for _, path in changes})
        touched = [path for path in paths if not path.is_relative_to(library)]
        changed = {
            target: below
            for target in targets
            if target.exists() and (below := [path for path in touched if path.is_relative_to(target)])
        }
        if changed:
            yield changed
