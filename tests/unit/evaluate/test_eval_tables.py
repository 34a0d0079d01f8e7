"""What a terminal shows of runs: a draft is called one wherever its numbers stand."""

from dataclasses import replace

import pytest

from citewise.cli.eval_tables import DRAFT, show_ablations, show_differences, show_run
from citewise.evaluation.compare import differences
from tests.unit.entry.page.runs import a_run, some_ablations

DRAFTED = a_run(6, is_draft=True)


@pytest.mark.parametrize("is_draft", [True, False])
def test_every_table_of_a_draft_says_that_nobody_has_looked_through_it(
    capsys: pytest.CaptureFixture[str], is_draft: bool
) -> None:
    run = replace(DRAFTED, is_draft=is_draft)
    show_run(run, worst=0)
    show_ablations(some_ablations(run), ["ndcg@10"])
    show_differences(("a.json", "b.json"), (run, run), differences(run, run, ["ndcg@10"]))
    assert capsys.readouterr().out.count(DRAFT) == (3 if is_draft else 0)


def test_a_commit_is_cut_short_and_still_says_that_its_code_was_changed(capsys: pytest.CaptureFixture[str]) -> None:
    clean, dirty = (replace(DRAFTED, commit=f"{'0123456789' * 4}{end}") for end in ("", "-dirty"))
    show_differences(("a.json", "b.json"), (clean, dirty), ())
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].endswith("questions  012345678901")
    assert lines[1].endswith("questions  012345678901-dirty")
