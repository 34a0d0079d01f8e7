"""A library that nobody here may write to can still be searched."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, json_of

PAGING = """
from citewise import Library
with Library("shared") as library:
    first = library.as_owner().search("tide", limit=1)
    second = library.as_owner().search("tide", limit=1, cursor=first.next_cursor)
    print(len({one.passage.chunk_id for one in first.findings}))
    print(len({one.passage.chunk_id for one in (*first.findings, *second.findings)}))
"""


LOGGING = """
import logging
from pathlib import Path
from citewise.settings import Settings
from citewise.wiring import query_log_of
logging.basicConfig(level=logging.WARNING)
print(type(query_log_of(Settings(library=Path("shared")))).__name__)
"""
PAGE = "# Tides\n\nThe tide gauge is read at noon.\n\n# Nets\n\nNets dry by the tide.\n"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The library of somebody else."""
    (tmp_path / "page.md").write_text(PAGE)
    json_of("ingest", "page.md", "--library", "shared", cwd=tmp_path)
    return tmp_path / "shared"


@contextmanager
def closed_off(library: Path, mode: int = 0o444) -> Iterator[None]:
    """Nothing in its folders can be made or removed; its files can be used as the mode says."""
    everything = [library, *library.rglob("*")]
    folders = [one for one in everything if one.is_dir()]
    for one in everything:
        one.chmod(0o555 if one in folders else mode)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


def without_privileges() -> list[str]:
    """What stands before a command, so that it may write only where permissions let it: root may everywhere."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("run as root without setpriv: nothing is read-only then")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"]


def as_anyone(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run by somebody without privileges."""
    return subprocess.run(
        [*without_privileges(), *command], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("mode", [0o444, 0o666], ids=["nothing may be written", "only the folder may not"])
def test_a_library_of_someone_else_is_searched_and_left_alone(shared: Path, mode: int) -> None:
    files = {file: file.stat().st_mtime_ns for file in shared.rglob("*")}
    with closed_off(shared, mode):
        done = as_anyone(COMMAND, "search", "tide gauge", "--library", "shared", cwd=shared.parent)
        assert done.returncode == 0, done.stderr
        assert "page.md:" in done.stdout
        assert done.stderr == ""
        paged = as_anyone(sys.executable, "-c", PAGING, cwd=shared.parent)
        assert (paged.returncode, paged.stdout.split()) == (0, ["1", "2"]), paged.stderr
        logged = as_anyone(sys.executable, "-c", LOGGING, cwd=shared.parent)
        assert (logged.stdout, logged.stderr) == ("NoLog\n", "")
        assert {file: file.stat().st_mtime_ns for file in shared.rglob("*")} == files
