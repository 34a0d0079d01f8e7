"""A draft from the sample handbook: written once, read back by the evaluation, and every place in it is there."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from citewise.cli.eval_draft import DraftOptions, run_draft
from citewise.errors import BadRequest
from citewise.evaluation.cases import Kind
from citewise.evaluation.gold import problems
from citewise.evaluation.question_files import read_question_file
from citewise.model.access import Principal, Scope
from tests.flows.harness import Shelf


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """The handbook in a library that was made with the quick embedder; a draft needs none."""
    made = Shelf(tmp_path)
    made.docs = Path(str(files("citewise") / "data" / "handbook"))
    made.ingest()
    monkeypatch.setattr("citewise.evaluation.drafting.opened_for_reading", lambda settings: made.opened())
    return made


def test_a_draft_of_the_handbook_is_a_question_file_whose_gold_exists(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "questions.json"
    assert run_draft(shelf.settings, DraftOptions(Scope(), out, count=30, seed=3)) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "30 questions about" in said.err
    assert "no judgments" in said.err
    assert f"citewise eval {out}" in said.err
    read = read_question_file(out)
    assert read.is_draft
    assert {case.kind for case in read.cases} == {Kind.ANSWERABLE}
    assert {case.group for case in read.cases} == {"heading", "sentence", "keywords"}
    with shelf.opened() as library:
        paths = sorted(library.catalog.known(Scope()))
        assert problems(read.cases, paths, lambda path: library.catalog.chunks(Scope(), path)) == []
    documents = {gold.document for case in read.cases for gold in case.gold}
    assert len(documents) >= 12
    assert not any("quiz" in path or "assessment" in path for path in documents)


def test_the_same_seed_writes_the_same_file_and_another_another(shelf: Shelf, tmp_path: Path) -> None:
    def drafted(name: str, seed: int) -> str:
        run_draft(shelf.settings, DraftOptions(Scope(), tmp_path / name, count=20, seed=seed))
        return (tmp_path / name).read_text()

    assert drafted("one.json", 1) == drafted("again.json", 1)
    assert drafted("other.json", 2) != drafted("one-more.json", 1)


def test_a_file_that_is_there_is_left_alone(shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "questions.json"
    out.write_text("mine")
    with pytest.raises(BadRequest, match=r"not overwritten.*--out"):
        run_draft(shelf.settings, DraftOptions(Scope(), out, count=5, seed=1))
    assert out.read_text() == "mine"


def test_a_folder_that_is_not_there_is_named(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="no folder"):
        run_draft(shelf.settings, DraftOptions(Scope(), tmp_path / "no" / "q.json", count=5, seed=1))


def test_a_scope_without_documents_is_said_to_be_one(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="no documents in acme/book"):
        run_draft(shelf.settings, DraftOptions(Scope("acme", "book"), tmp_path / "q.json", count=5, seed=1))


def test_a_library_that_no_rule_fits_gives_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = Shelf(tmp_path)
    bare.write("a.md", "# Overview\n\nx y z.\n")
    bare.ingest()
    monkeypatch.setattr("citewise.evaluation.drafting.opened_for_reading", lambda settings: bare.opened())
    assert run_draft(bare.settings, DraftOptions(Scope(), tmp_path / "q.json", count=5, seed=1)) == 1
    assert "could be made a question of" in capsys.readouterr().err
    assert run_draft(bare.settings, DraftOptions(Scope(), tmp_path / "q.json", count=5, seed=1, as_json=True)) == 1
    assert json.loads(capsys.readouterr().out)["file"] is None
    assert not (tmp_path / "q.json").exists()


ASKED = {
    "faq.md": "# FAQ\n\n## How do I reset the gauge?\n\nHold the left button down.\n\n"
    "## Reset\n\nHold the left button down.\n",
    "hoist.md": "---\naccess: owner:ann\n---\n# Hoist\n\n## Use the hoist\n\nThe hoist is the crane at the end of the "
    "long quay behind the old office, and everybody who works there has a key to its box.\n",
}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A page of questions and their short answers, and one that is only ann's."""
    made = Shelf(tmp_path)
    for path, text in ASKED.items():
        made.write(path, text)
    made.ingest()
    monkeypatch.setattr("citewise.evaluation.drafting.opened_for_reading", lambda settings: made.opened())
    return made


def drafted_by(shelf: Shelf, out: Path, principal: Principal) -> str:
    assert run_draft(shelf.settings, DraftOptions(Scope(), out, count=9, seed=1, principal=principal)) == 0
    return out.read_text()


def test_a_heading_that_is_a_question_is_the_question_however_short_its_answer(asked: Shelf, tmp_path: Path) -> None:
    written = drafted_by(asked, tmp_path / "q.json", Principal("bob"))
    assert [one["question"] for one in json.loads(written)["questions"]] == ["How do I reset the gauge?"]


def test_nothing_is_made_of_sentences_where_the_heading_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Shelf(tmp_path)
    made.write("faq.md", "# FAQ\n\n## Can the buoy be moved?\n\nA buoy is a float that marks the way to the harbor.\n")
    made.ingest()
    monkeypatch.setattr("citewise.evaluation.drafting.opened_for_reading", lambda settings: made.opened())
    written = drafted_by(made, tmp_path / "q.json", Principal("bob"))
    assert [one["question"] for one in json.loads(written)["questions"]] == ["Can the buoy be moved?"]


def test_a_draft_quotes_nothing_that_its_asker_may_not_see(asked: Shelf, tmp_path: Path) -> None:
    assert "hoist" in drafted_by(asked, tmp_path / "ann.json", Principal("ann"))
    assert "hoist" not in drafted_by(asked, tmp_path / "bob.json", Principal(None, frozenset({"ops"})))
    with pytest.raises(BadRequest, match=r"nothing in default/default is for this --user and --group to see"):
        drafted_by(asked, tmp_path / "stranger.json", Principal())


def test_json_is_the_file_with_its_counts(asked: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "q.json"
    assert run_draft(asked.settings, DraftOptions(Scope(), out, count=9, seed=1, as_json=True)) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads(out.read_text())
    assert {name: printed[name] for name in written} == written
    assert printed["file"] == str(out)
    assert printed["counts"]["questions"] == len(written["questions"]) == 2
    assert printed["counts"]["documents"] == 2
    assert sum(printed["counts"][kind] for kind in ("heading", "sentence", "keywords")) == 2


def test_a_secret_of_the_library_is_in_no_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Shelf(tmp_path)
    told.write(
        "hoist.md",
        "# Hoist\n\n## Use the hoist\n\nThe hoist is the crane at the end of the long quay behind the old office. "
        "The hoist token is the value ghp_abcdefghijklmnopqrstuvwxyz0123456789 that opens the box at night.\n",
    )
    told.ingest()
    monkeypatch.setattr("citewise.evaluation.drafting.opened_for_reading", lambda settings: told.opened())
    assert run_draft(told.settings, DraftOptions(Scope(), tmp_path / "q.json", count=50, seed=1)) == 0
    written = (tmp_path / "q.json").read_text()
    assert "hoist" in written
    assert "ghp_" not in written
    assert "secret" not in written.lower()
    assert json.loads(written)["draft"] is True
