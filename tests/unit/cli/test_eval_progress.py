"""Progress of an evaluation: a bar on a terminal, and nothing elsewhere."""

from collections.abc import Iterator

import pytest

from citewise.cli.ingest import shown_results
from citewise.evaluation.pipeline import EvalEvent
from citewise.evaluation.runs import Run
from citewise.model.report import FileDone, Step, Walked
from tests.unit.evaluation.runs import a_run

RUN = a_run(1)


def events() -> Iterator[EvalEvent]:
    yield Walked(1, 4000)
    yield FileDone("a.md", "ingested", 4000, 2)
    yield Step("without dense: judging", 0, 7)
    yield Step("without dense: judging", 7, 7)
    yield RUN


def test_a_terminal_shows_each_step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if there were one
    monkeypatch.setenv("TERM", "xterm")
    assert list(shown_results(events(), Run, bar=True)) == [RUN]
    shown = capsys.readouterr()
    assert "without dense: judging" in shown.err
    assert "7/7" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("bar", [True, False])
def test_nothing_is_shown_where_there_is_no_terminal(bar: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(shown_results(events(), Run, bar=bar)) == [RUN]
    assert capsys.readouterr() == ("", "")
