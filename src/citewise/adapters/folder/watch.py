"""Changes on disk -> which files to look at again."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

QUIET_MS = 300  # how long files must rest before they are read; editors write in several steps
TICK_MS = 1000  # how often a quiet watch comes back, so that what could not be done then is tried again


def changes_below(targets: Sequence[Path], *, own: Path) -> Iterator[dict[Path, list[Path]]]:
    """For each target what changed below it; nothing, now and then, when nothing did.

    A watch names the targets themselves once it is in place: what changed before is not known. It is
    started again when a folder was replaced by another of its name, since the system goes on watching the old one.
    """
    while True:
        folders = _folders(targets)
        is_first = True
        for touched in _touched(folders, own.resolve()):
            below = {target: [path for path in touched if path.is_relative_to(target)] for target in targets}
            yield {
                target: [target] if is_first else paths
                for target, paths in below.items()
                if target.exists() and (is_first or paths)
            }
            is_first = False
            if _folders(targets) != folders:
                break


def _folders(targets: Sequence[Path]) -> dict[Path, int]:
    """What to watch, and which folder that is now. A file is watched by its folder: editors replace files."""
    folders = {target if target.is_dir() else target.parent for target in targets}
    return {folder: folder.stat().st_ino for folder in folders if folder.is_dir()}


def _touched(folders: dict[Path, int], library: Path) -> Iterator[list[Path]]:
    from watchfiles import watch

    if not folders:  # all gone for now: look again later
        time.sleep(TICK_MS / 1000)
        yield []
        return
    for changes in watch(*folders, step=QUIET_MS, rust_timeout=TICK_MS, yield_on_timeout=True, raise_interrupt=True):
        yield [path for path in sorted({Path(path) for _, path in changes}) if not path.is_relative_to(library)]
