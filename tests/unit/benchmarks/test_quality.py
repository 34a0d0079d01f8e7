"""The benchmark of quality goes as far as the data that is there, and says what it left out."""

from pathlib import Path

import pytest
from benchmarks import quality
from benchmarks.quality import ALL, measure, those_there
from benchmarks.results import read_results


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
