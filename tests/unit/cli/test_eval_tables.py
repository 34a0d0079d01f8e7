"""What a terminal shows of runs."""

from dataclasses import replace

import pytest

from citewise.cli.eval_results import show_comparison
from citewise.evaluation.compare import Comparison
from tests.unit.evaluation.runs import a_run

RUN = a_run(6)


def test_a_commit_is_cut_short_and_still_says_that_its_code_was_changed(capsys: pytest.CaptureFixture[str]) -> None:
    clean, dirty = (replace(RUN, commit=f"{'0123456789' * 4}{end}") for end in ("", "-dirty"))
    show_comparison(("a.json", "b.json"), Comparison(clean, dirty), (), worst=0)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].endswith("questions  012345678901")
    assert lines[1].endswith("questions  012345678901-dirty")
