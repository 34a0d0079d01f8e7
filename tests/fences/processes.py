"""Fresh processes: what they print, and what they have loaded by then."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def printed_by(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """What a command prints; it must succeed and say nothing on stderr."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def modules_after(statement: str, cwd: Path = ROOT, **variables: str) -> set[str]:
    """The modules that a new interpreter has loaded after it."""
    code = f"import sys\n{statement}\nprint('loaded:', *sys.modules)"
    return set(printed_by(sys.executable, "-c", code, cwd=cwd, **variables).rpartition("loaded:")[2].split())
