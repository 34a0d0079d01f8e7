"""The benchmark of quality goes as far as the data that is there, and says what it left out."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import quality
from benchmarks.compression import _bearing, _kept
from benchmarks.grounding_sets import Gold
from benchmarks.logistic import Curve
from benchmarks.quality import ALL, measure, those_there
from benchmarks.results import read_results

from tests.contexts import a_wide_context, evidence_of


def test_without_the_shared_data_it_says_what_is_skipped_and_leaves_earlier_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = those_there(tmp_path)
    measure(names, data=tmp_path, kept=tmp_path, results=tmp_path / "results")
    said = capsys.readouterr().err
    assert names == []
    assert all(name in said for name in ALL)
    assert "earlier results stay" in said
    assert not (tmp_path / "results").exists()


def test_the_command_without_the_shared_data_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["quality"])
    monkeypatch.setattr(quality, "is_there", lambda name, data: False)
    quality.main()
    assert "skipped" in capsys.readouterr().err


def test_a_set_that_was_asked_for_by_name_and_is_not_there_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="needs the shared data"):
        measure(["scifact"], data=tmp_path, kept=tmp_path, results=tmp_path)


def test_sets_that_are_there_are_measured_and_the_others_named_in_the_table(tmp_path: Path) -> None:
    a_set(tmp_path / "data" / "scifact")
    names = those_there(tmp_path / "data")
    measure(names, data=tmp_path / "data", kept=tmp_path / "kept", results=tmp_path / "results")
    table = read_results(tmp_path / "results" / "quality.json").tables[0]
    assert table.columns == ("", "scifact")
    assert table.note.endswith("Not measured: api_docs, cranfield, cosqa_dev, runbooks, textbook.")


def a_set(folder: Path) -> None:
    """A BEIR folder of three documents, each the answer to one question."""
    things = ("tide gauge", "ferry winch", "storm beacon")
    (folder / "qrels").mkdir(parents=True)
    corpus = [f'{{"_id": "d{at}", "title": "{one}", "text": "About the {one} here."}}' for at, one in enumerate(things)]
    asked = [f'{{"_id": "q{at}", "text": "What is the {one}?"}}' for at, one in enumerate(things)]
    judged = ["query-id\tcorpus-id\tscore", *(f"q{at}\td{at}\t1" for at in range(len(things)))]
    (folder / "corpus.jsonl").write_text("\n".join(corpus) + "\n", "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(asked) + "\n", "utf-8")
    (folder / "qrels" / "test.tsv").write_text("\n".join(judged) + "\n", "utf-8")


# What the benchmarks of quality and compression count


def test_a_score_that_is_as_sure_as_it_is_right_has_no_error() -> None:
    said = np.array([0.25] * 4 + [0.75] * 4)
    true = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    assert Curve(said, true, np.ones(8)).error() == pytest.approx(0.0)
    assert Curve(said, true, np.ones(8)).bins()[2] == (4, 0.25, 0.25)
    assert Curve(said, true, np.ones(8)).bins()[0] is None


def test_being_too_sure_is_an_error_by_as_much_as_it_is() -> None:
    said, true = np.array([1.0, 0.9, 0.1, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    assert Curve(said, true, np.ones(4)).error() == pytest.approx((0.9 + 0.1) / 4)


def test_a_question_of_a_rare_class_weighs_more() -> None:
    said, true = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert Curve(said, true, np.array([3.0, 1.0])).error() == pytest.approx(0.25)


def test_sentences_that_hold_half_of_the_best_one_s_answer_bear_it() -> None:
    context = a_wide_context(("At noon by two men. At noon. Gulls rest. Two.", 0.9), ("At noon by two men.", 0.2))
    gold = Gold((("1.md", 1, 1),), "")
    answer = frozenset({"noon", "two", "men"})
    bearing = _bearing(context, evidence_of(context), gold, answer)
    assert [(unit.source, unit.text) for unit in bearing] == [(1, "At noon by two men.")]
    wider = _bearing(context, evidence_of(context), gold, frozenset({"noon", "gull"}))
    assert [unit.text for unit in wider] == ["At noon by two men.", "At noon.", "Gulls rest."]


def test_a_sentence_is_kept_where_its_words_still_stand_together() -> None:
    context = a_wide_context(("At noon, by two men. Gulls \u2026 rest.", 0.9))
    units = [one.unit for one in evidence_of(a_wide_context(("at noon by two. By men. Gulls rest.", 0.9)))]
    assert _kept(units, context) == [True, False, False]
