"""Campaigns are short by default, long when asked for, and say how to repeat a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns import size

FAILING = """def test_fails(draw):
    assert False, f"drawn {draw.random()}"
"""


@pytest.mark.parametrize(("soak", "taken"), [(0.0, 60), (1.0, 2_000), (0.1, 200), (0.001, 60)])
def test_a_campaign_is_as_long_as_asked_for(soak: float, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "SOAK", soak)
    assert size.steps(60, 2_000) == taken


def test_a_failure_says_how_to_repeat_it_and_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    test = tmp_path / "test_failing.py"
    test.write_text(FAILING)
    asked = {**os.environ, "CITEWISE_SEED": "7", "CITEWISE_SOAK": "0.5"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.campaigns.conftest", str(test)]
    printed = [subprocess.run(command, env=asked, capture_output=True, text=True).stdout for _ in range(2)]
    drawn = [next(line for line in text.split("\n") if "drawn" in line) for text in printed]
    assert drawn[0] == drawn[1]
    assert "CITEWISE_SEED=7 CITEWISE_SOAK=0.5 .venv/bin/python -m pytest" in printed[0]
    assert "test_failing.py::test_fails'" in printed[0]


@pytest.mark.parametrize("text", [b"7", b"aaa7", b"7aaaaaa", b"aaa" * 99 + b"7" + b"aaaaaaa" * 99, b"a7a7a"])
def test_a_failing_case_is_shortened_to_what_fails(text: bytes) -> None:
    assert size.shrunk(text, lambda part: b"7" in part) == b"7"
    assert size.shrunk(tuple(text), lambda part: ord("7") in part) == (ord("7"),)
