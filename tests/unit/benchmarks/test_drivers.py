"""Programs are spoken to by lines, end with whoever needs them, and say their last words."""

import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from benchmarks import drivers
from benchmarks.drivers import DriverProcess, driver_process, make_environment, silent_environment

from citewise.errors import Unavailable

ECHO = """
import sys
for line in sys.stdin:
    print(line.strip().upper(), flush=True)
print("ended by itself", file=sys.stderr)
"""
DEAF = "import time; time.sleep(60)"


def started(program: str, log: Path, *, answer_seconds: float = 60) -> AbstractContextManager[DriverProcess]:
    command = [sys.executable, "-c", program]
    return driver_process(command, log=log, environment=silent_environment(), answer_seconds=answer_seconds)


def test_a_program_answers_by_lines_and_ends_once_nothing_more_is_asked(tmp_path: Path) -> None:
    with started(ECHO, tmp_path / "log.txt") as process:
        for word in ("one", "two"):
            process.send(word)
            assert process.receive() == f"{word.upper()}\n"
    assert (tmp_path / "log.txt").read_text() == "ended by itself\n"


def test_a_program_that_cannot_start_is_unavailable_with_its_last_words(tmp_path: Path) -> None:
    with (
        started("import no_such_module", tmp_path / "log.txt") as process,
        pytest.raises(Unavailable, match="the driver stopped: ModuleNotFoundError: No module named 'no_such_module'"),
    ):
        process.receive()


def test_what_is_told_to_a_program_that_has_stopped_fails_with_its_last_words(tmp_path: Path) -> None:
    with started("import os; os.close(0); raise SystemExit('no more')", tmp_path / "log.txt") as process:
        with pytest.raises(Unavailable):
            process.receive()
        with pytest.raises(Unavailable, match="the driver stopped: no more"):
            process.send("anybody there?")


def test_a_program_that_keeps_silent_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    with (
        started(DEAF, tmp_path / "log.txt", answer_seconds=0.2) as process,
        pytest.raises(Unavailable, match="it said nothing"),
    ):
        process.receive()
    assert time.monotonic() - began < 30


def test_a_program_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "STOP_SECONDS", 0.1)
    began = time.monotonic()
    with started(DEAF, tmp_path / "log.txt"):
        pass
    assert time.monotonic() - began < 30


def test_an_environment_is_made_once_and_anew_by_another_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []

    def quietly(command: list[str]) -> str:
        ran.append(command)
        (tmp_path / "venv").mkdir(exist_ok=True)
        return ""

    monkeypatch.setattr(drivers, "quietly", quietly)
    for recipe in ("a", "a", "b"):
        make_environment(tmp_path / "venv", recipe, [("one==1",), ("two==2",)])
    assert [command[-1] for command in ran] == [str(tmp_path / "venv"), "one==1", "two==2"] * 2
