"""How much memory may be used, read from files as Linux has them."""

import resource
import sys
from pathlib import Path

import pytest

from citewise.adapters import resources
from citewise.adapters.resources import require_memory
from citewise.errors import Unavailable

GB = 1_000_000_000
PAGES = 10_000_000 // resource.getpagesize()  # of this process


@pytest.fixture(autouse=True)
def two_cores_and_nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr(resources, "_LOADED", ())


def a_system(root: Path, files: dict[str, str], *, available_mb: int = 8_000) -> Path:
    basic = {
        "proc/self/statm": f"{PAGES} {PAGES} 1 1 0 1 0",
        "proc/meminfo": f"MemTotal: 9000000 kB\nMemAvailable: {available_mb * 1_000_000 // 1024} kB\nSwapFree: 0 kB\n",
    }
    for name, text in {**basic, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def v2(limit: int, used: int, *, file: int = 0, path: str = "/") -> dict[str, str]:
    folder = f"sys/fs/cgroup{path}".rstrip("/")
    return {
        "proc/self/cgroup": f"0::{path}\n",
        f"{folder}/memory.max": f"{limit}\n",
        f"{folder}/memory.current": f"{used}\n",
        f"{folder}/memory.stat": f"anon 5\nactive_file {file}\ninactive_file 0\n",
    }


def v1(limit: int, used: int) -> dict[str, str]:
    folder = "sys/fs/cgroup/memory/docker/x"
    return {
        "proc/self/cgroup": "5:cpu:/\n4:memory:/docker/x\n0::/\n",
        f"{folder}/memory.limit_in_bytes": f"{limit}\n",
        f"{folder}/memory.usage_in_bytes": f"{used}\n",
        f"{folder}/memory.stat": "total_inactive_file 0\ntotal_active_file 0\n",
    }


ENOUGH: dict[str, dict[str, str]] = {
    "no control group": {},
    "a container of 512 MB": v2(512_000_000, 60_000_000),
    "a container of 256 MB that is full of cached files": v2(256_000_000, 250_000_000, file=220_000_000),
    "a group without a limit": {**v2(0, 5), "sys/fs/cgroup/memory.max": "max\n"},
    "an older container": v1(512_000_000, 60_000_000),
    "an older group without a limit": v1(2**63 - 4096, GB),
    "a group that is not seen from here": {"proc/self/cgroup": "0::/../other\n"},
    "a damaged file": {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "\n"},
}


@pytest.mark.parametrize("name", ENOUGH)
def test_enough_memory_is_no_reason_to_refuse(tmp_path: Path, name: str) -> None:
    for work in ("model", "search", "write"):
        require_memory(work, root=a_system(tmp_path, ENOUGH[name]))


TOO_LITTLE: dict[str, tuple[dict[str, str], int]] = {
    "a full machine": ({}, 90),
    "a small container": (v2(150_000_000, 60_000_000), 8_000),
    "a group inside a small one": (
        {**v2(GB, 60_000_000, path="/a/b"), **v2(150_000_000, 60_000_000, path="/a"), "proc/self/cgroup": "0::/a/b\n"},
        8_000,
    ),
    "an older small container": (v1(150_000_000, 60_000_000), 8_000),
}


@pytest.mark.parametrize("name", TOO_LITTLE)
def test_too_little_memory_is_named_with_what_is_needed(tmp_path: Path, name: str) -> None:
    files, available_mb = TOO_LITTLE[name]
    root = a_system(tmp_path, files, available_mb=available_mb)
    with pytest.raises(Unavailable, match=r"a search needs about 150 MB of memory, (?:89|90) MB may be used: close"):
        require_memory("search", root=root)


def test_a_large_index_needs_address_space_and_no_memory_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = a_system(tmp_path, {})
    require_memory("search", mapped_bytes=50 * GB, root=root)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2 * GB, 2 * GB))
    require_memory("search", mapped_bytes=GB, root=root)
    with pytest.raises(
        Unavailable, match=r"needs about 2,\d+ MB of address space, 1,990 MB may be used: raise `ulimit"
    ):
        require_memory("search", mapped_bytes=2 * GB, root=root)


def test_what_is_loaded_already_is_not_asked_for_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = GB // resource.getpagesize()
    root = a_system(tmp_path, {"proc/self/statm": f"{pages} {pages} 1 1 0 1 0"}, available_mb=20)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (GB, GB))
    monkeypatch.setattr(resources, "_LOADED", ("faiss",))
    monkeypatch.setitem(sys.modules, "faiss", resources)
    require_memory("search", root=root)


def test_a_system_that_does_not_say_is_taken_to_have_enough(tmp_path: Path) -> None:
    require_memory("write", root=tmp_path)
