"""How far an evaluation is: a bar on a terminal, one at a time, and nothing elsewhere."""

import pytest

from citewise.cli.eval_progress import shown_steps
from citewise.evaluation.evaluating import Listeners
from citewise.evaluation.pipeline import Step
from citewise.model.report import FileDone, FileOutcome, Walked


def told(listeners: Listeners) -> None:
    listeners.on_event(Walked(1, 4000))
    listeners.on_event(FileDone("a.md", FileOutcome.INGESTED, 4000, 2))
    listeners.on_part("without dense")
    listeners.on_step(Step("judging", 0, 7))
    listeners.on_step(Step("judging", 7, 7))


def test_a_terminal_shows_each_step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if there were one
    monkeypatch.setenv("TERM", "xterm")
    with shown_steps(bar=True) as listeners:
        told(listeners)
    shown = capsys.readouterr()
    assert "without dense: judging" in shown.err
    assert "7/7" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("bar", [True, False])
def test_nothing_is_shown_where_nobody_watches(bar: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with shown_steps(bar=bar) as listeners:
        told(listeners)
    assert capsys.readouterr() == ("", "")
