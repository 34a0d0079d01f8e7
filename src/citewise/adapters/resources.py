"""Memory that this process may use: looked at before a model or an index is loaded, which crash where there is too
little. A system that does not say (macOS) is taken to have enough."""

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from citewise.errors import Unavailable

Work: TypeAlias = Literal["model", "search", "write"]

# Peaks in MB of `citewise search` and `citewise ingest` on the sample handbook, rounded up: VmPeak and VmHWM in
# /proc/self/status at exit, under `taskset -c 0` and `taskset -c 0,1`. The index itself is mapped, and is added. Below
# VmPeak some runs succeed, others abort: how threads divide the address space among them is left to chance.
_ADDRESS_MB = {"model": (350, 50), "search": (500, 180), "write": (800, 330)}  # for all, and for each core
_RESIDENT_MB = {"model": 110, "search": 150, "write": 200}
_NAMES = {"model": "a local model", "search": "a search", "write": "writing to a library"}

_LOADED = ("onnxruntime", "faiss")  # whoever has one of them has taken much of it already
_MB = 1_000_000
_ROOT = Path("/")


def require_memory(work: Work, *, mapped_bytes: int = 0, heap_bytes: int = 0, root: Path = _ROOT) -> None:
    """Raise Unavailable where the address space or the memory does not suffice. `root` is where /proc and /sys are."""
    used = _used(root)
    if used is None:
        return
    fixed, each = _ADDRESS_MB[work]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    address = (fixed + each * cores) * _MB + mapped_bytes + heap_bytes
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        _refuse_if_less(work, limit - used[0], address, used[0], "address space", "raise `ulimit -v`")
    if (free := min(_free(root), default=None)) is not None:
        advice = "close other programs, or raise the container's limit"
        _refuse_if_less(work, free, _RESIDENT_MB[work] * _MB + heap_bytes, used[1], "memory", advice)


def _refuse_if_less(work: Work, free: int, needed: int, used: int, what: str, advice: str) -> None:
    usable = free + (used if any(name in sys.modules for name in _LOADED) else 0)
    if usable < needed:
        figures = f"{needed // _MB:,} MB of {what}, {max(0, usable) // _MB:,} MB may be used"
        raise Unavailable(f"{_NAMES[work]} needs about {figures}: {advice}")


def _used(root: Path) -> tuple[int, int] | None:
    """Address space and resident memory of this process."""
    try:
        pages = (root / "proc/self/statm").read_text().split()
        return int(pages[0]) * resource.getpagesize(), int(pages[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None


def _free(root: Path) -> Iterator[int]:
    """What the system, and each control group that this process is in, have left."""
    system = _fields(root / "proc/meminfo")
    if "MemAvailable:" in system:
        yield (system["MemAvailable:"] + system.get("SwapFree:", 0)) * 1024
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if not controllers:
            yield from _left(root / "sys/fs/cgroup", path, "memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            yield from _left(
                root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
            )


def _left(mount: Path, path: str, limit: str, usage: str, prefix: str) -> Iterator[int]:
    """Of a group and of those above it; inside a container, the path may be that of another view of the tree."""
    inner = PurePosixPath(path.lstrip("/"))
    for folder in (mount / inner, *(mount / above for above in inner.parents)):
        try:
            left = int((folder / limit).read_text()) - int((folder / usage).read_text())  # "max" is no number
        except (OSError, ValueError):
            continue
        cached = _fields(folder / "memory.stat")  # given back when somebody needs it
        yield left + cached.get(f"{prefix}active_file", 0) + cached.get(f"{prefix}inactive_file", 0)


def _fields(file: Path) -> dict[str, int]:
    try:
        return {words[0]: int(words[1]) for words in map(str.split, file.read_text().splitlines()) if len(words) > 1}
    except (OSError, ValueError):
        return {}
