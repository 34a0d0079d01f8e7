"""`python -m citewise` is the command."""

import subprocess
import sys
from pathlib import Path

from tests.e2e.cli import citewise


def as_module(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "citewise", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


def test_a_command_that_fails_says_and_returns_the_same(tmp_path: Path) -> None:
    script, module = (run("status", "--library", "nowhere", cwd=tmp_path) for run in (citewise, as_module))
    assert (module.returncode, module.stdout, module.stderr) == (script.returncode, script.stdout, script.stderr)
    assert module.returncode == 2
    assert "nowhere" in module.stderr


def test_help_lists_the_commands(tmp_path: Path) -> None:
    done = as_module("--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ingest" in done.stdout
