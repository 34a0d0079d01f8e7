"""An evaluation on a terminal: its progress, the files it may not write, and its tables."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.cli.eval import _files_of as files_of
from citewise.cli.eval_results import show_comparison
from citewise.cli.ingest import shown_results
from citewise.cli.output import refuse_unwritable
from citewise.errors import BadRequest
from citewise.evaluation.compare import Comparison
from citewise.evaluation.pipeline import EvalEvent
from citewise.evaluation.runs import Run
from citewise.model.report import FileDone, Step, Walked
from tests.unit.evaluation.runs import a_run

RUN = a_run(6)


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


# Files that an evaluation would write are refused before any work, if they must not be written


def test_an_output_that_is_also_read_is_refused(tmp_path: Path) -> None:
    questions = tmp_path / "mine.json"
    questions.write_text("[]")
    with pytest.raises(BadRequest, match="name another file"):
        refuse_unwritable(tmp_path / "." / "mine.json", read=files_of(questions))
    with pytest.raises(BadRequest, match="name another file"):
        refuse_unwritable(questions, read=files_of(tmp_path))


def test_two_outputs_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="name another file"):
        refuse_unwritable(tmp_path / "same", tmp_path / "same")
    refuse_unwritable(tmp_path / "one", tmp_path / "other", None)


# What a terminal shows of runs


def test_a_commit_is_cut_short_and_still_says_that_its_code_was_changed(capsys: pytest.CaptureFixture[str]) -> None:
    clean, dirty = (replace(RUN, commit=f"{'0123456789' * 4}{end}") for end in ("", "-dirty"))
    show_comparison(("a.json", "b.json"), Comparison(clean, dirty), (), worst=0)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].endswith("questions  012345678901")
    assert lines[1].endswith("questions  012345678901-dirty")
