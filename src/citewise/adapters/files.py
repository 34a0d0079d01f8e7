"""Files of a library on disk: written whole, recognized by what replaced them, and measured."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, parts: Iterable[bytes]) -> None:
    """Write beside, flush to disk, rename: a reader sees the old file or the new one, never half of it."""
    beside = file.with_name(f"{file.name}.new")
    with beside.open("wb") as opened:
        opened.writelines(parts)
        opened.flush()
        os.fsync(opened.fileno())
    beside.replace(file)
    flush_folder(file.parent)


def flush_folder(folder: Path) -> None:
    """A rename is durable once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def identity(file: Path) -> tuple[int, int] | None:
    """Another value whenever another file takes this name; None if there is none."""
    try:
        state = file.stat()
    except FileNotFoundError:
        return None
    return state.st_mtime_ns, state.st_ino


def bytes_below(folder: Path) -> int:
    """Of all files. They and their folders may come and go meanwhile."""
    total = 0
    for inner, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):
                total += Path(inner, name).stat().st_size
    return total
