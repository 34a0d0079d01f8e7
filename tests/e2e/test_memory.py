"""With too little address space a command says so: no crash inside a library, no stack trace."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli import MODULE, json_of, written

PAGES = {"docs/gauge.md": "# Gauge\n\nThe gauge is read daily.\n"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = written(tmp_path_factory.mktemp("home"), PAGES)
    json_of("ingest", "docs", cwd=home)
    return home


def limited(megabytes: int, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One run of the command with so much address space."""
    limit = megabytes * 1_000_000
    return subprocess.run(
        [*MODULE, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


COMMANDS = {
    "ingest": ["ingest", "docs", "--library", "new"],
    "search": ["search", "gauge"],
    "ask": ["ask", "When is the gauge read?"],
    "reindex": ["reindex"],
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited by Linux alone")
@pytest.mark.parametrize("megabytes", [150, 350, 600, 2_000])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_or_says_how_much_it_needs(home: Path, command: str, megabytes: int) -> None:
    done = limited(megabytes, *COMMANDS[command], cwd=home)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 4), (done.returncode, done.stderr)
    if done.returncode == 4:
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert "MB of address space" in line
        assert line.endswith("raise `ulimit -v`")
    assert megabytes == 2_000 or done.returncode == 4


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited by Linux alone")
def test_what_needs_neither_model_nor_index_works_with_little(home: Path) -> None:
    assert limited(150, "status", cwd=home).returncode == 0
    assert limited(150, "log", cwd=home).returncode == 0
