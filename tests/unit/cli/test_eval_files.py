"""Files that an evaluation would write are refused before any work, if they must not be written."""

from pathlib import Path

import pytest

from citewise.cli.eval import _files_of as files_of
from citewise.cli.output import refuse_unwritable
from citewise.errors import BadRequest
from citewise.evaluation.sets import judged_set


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


def test_a_run_is_no_question_file(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text('{"set": "a", "metrics": {}, "questions": []}')
    with pytest.raises(BadRequest, match="eval compare"):
        judged_set(file)


def test_an_answerable_entry_without_a_place_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    file.write_text('[{"id": "a", "question": "Why?", "kind": "answerable"}]')
    with pytest.raises(BadRequest, match="relevant is missing"):
        judged_set(file)
