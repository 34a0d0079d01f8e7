"""Ctrl-C at any moment of any command: one line that says what is safe and how to go on, and a library that works."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli import citewise, json_of

# In the process itself, so that the clock starts with its first line and not with that of Python.
INTERRUPTED = """
import os, signal, sys
from citewise.__main__ import main
sys.argv[:2] = ["citewise"]
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
signal.setitimer(signal.ITIMER_REAL, float(os.environ["AFTER"]))
main()
"""
MOMENTS = (0.02, 0.2, 0.5, 1.0, 2.0)
OTHER_SIZES = {
    "CITEWISE_CHUNKS__TARGET_TOKENS": "60",
    "CITEWISE_CHUNKS__FLOOR_TOKENS": "20",
    "CITEWISE_CHUNKS__OVERLAP_TOKENS": "10",
}
QUESTIONS = Path(__file__).parents[1] / "data" / "handbook_questions" / "answerable.json"
HANDBOOK = Path(__file__).parents[2] / "src" / "citewise" / "data" / "handbook"


def interrupted(*words: str, cwd: Path, after: float, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "-", *words],
        cwd=cwd,
        env={**os.environ, **env, "AFTER": str(after)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


COMMANDS = {
    "ingest": (["ingest", str(HANDBOOK)], "what was stored stays", {}),
    "reindex": (["reindex"], "the library is as it was", {}),
    "re-embed": (["reindex"], "the library is as it was", OTHER_SIZES),
    "compact": (["compact"], "nothing is lost", {}),
    "search": (["search", "ingest"], "nothing was changed", {}),
    "ask": (["ask", "What does TIDE-204 mean?"], "nothing was changed", {}),
    "eval": (["eval", str(QUESTIONS)], "there is no result", {}),
}


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("ingested")
    json_of("ingest", HANDBOOK, cwd=home)
    return home / ".citewise"


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_says_what_is_safe_and_how_to_go_on(tmp_path: Path, ingested: Path, command: str) -> None:
    words, safe, env = COMMANDS[command]
    if command != "ingest":
        shutil.copytree(ingested, tmp_path / ".citewise")
    stopped = 0
    for after in MOMENTS:
        done = interrupted(*words, cwd=tmp_path, after=after, env=env)
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode == 130:
            stopped += 1
            assert len(lines) == 1, done.stderr
            assert lines[0].startswith(("citewise: stopped before anything was done", f"citewise: stopped; {safe}"))
        else:
            # It was done before, or on its way out, where Python gives signals back to the system, the timer's too.
            assert done.returncode in (0, -signal.SIGINT, -signal.SIGALRM), done.stderr
    assert stopped
    assert citewise(*words, cwd=tmp_path, env=env).returncode == 0
    assert json_of("search", "calibrate the pressure sensor", cwd=tmp_path, env=env)["hits"]


def test_what_an_interrupted_ingestion_left_is_completed_by_the_next(tmp_path: Path) -> None:
    for after in (0.6, 1.2):
        interrupted("ingest", str(HANDBOOK), cwd=tmp_path, after=after, env={})
    report = json_of("ingest", HANDBOOK, cwd=tmp_path)
    assert report["ingested"] + report["unchanged"] == report["seen"] - len(report["skipped"])
    assert json_of("ingest", HANDBOOK, cwd=tmp_path)["ingested"] == 0


IGNORING = """
import atexit, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
atexit.register(lambda: print(signal.getsignal(signal.SIGINT).name))
from citewise.__main__ import main
sys.argv = ["citewise", "--help"]
main()
"""


def test_a_job_that_was_told_to_ignore_interrupts_goes_on_ignoring_them() -> None:
    done = subprocess.run([sys.executable, "-c", IGNORING], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "SIG_IGN"
