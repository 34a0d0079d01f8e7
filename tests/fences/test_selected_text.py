"""Selected text is answered from the selection alone: fences around what may be imported and touched."""

import json
from pathlib import Path
from typing import NoReturn

import pytest

from citewise import Library
from citewise.model.query import Selection
from tests.fences.processes import ROOT, modules_after

HANDBOOK = ROOT / "tests" / "data" / "handbook_questions" / "selected.json"
TEXTBOOK = ROOT.parent / "shared" / "data" / "textbook" / "questions" / "selected.json"
STORES = (
    "citewise.adapters.folder",
    "citewise.adapters.local_index",
    "citewise.adapters.sqlite",
    "citewise.ingest",
    "citewise.ports.catalog",
    "citewise.ports.indexes",
    "citewise.search",
    "citewise.library",
    "citewise.maintenance",
    "citewise.paging",
    "citewise.service",
    "faiss",
    "pyroaring",
    "sqlite3",
    "_sqlite3",
    "tantivy",
)
SELECTION = "The tide gauge is read at noon. Two people sign the sheet."

THROUGH_THE_LIBRARY = f"""
from citewise import Library
answer = Library("there/is/no/library").as_owner().ask("When is the tide gauge read?", selection={SELECTION!r})
assert answer.sufficient_context and "noon" in answer.text, answer
"""
THROUGH_THE_COMMAND = """
from citewise.cli.main import app
app(["ask", "When is the tide gauge read?", "--selection-file", "selection.txt", "--json"], standalone_mode=False)
"""


@pytest.mark.parametrize("statement", [THROUGH_THE_LIBRARY, THROUGH_THE_COMMAND], ids=["library", "command"])
def test_a_fresh_process_answers_without_loading_any_store(statement: str, tmp_path: Path) -> None:
    (tmp_path / "selection.txt").write_text(SELECTION)
    loaded = modules_after(statement, tmp_path, CITEWISE_LIBRARY="there/is/no/library")
    assert "citewise.answer.pipeline" in loaded
    assert not [name for name in loaded if any(name == store or name.startswith(f"{store}.") for store in STORES)]
    assert not (tmp_path / "there").exists()


def test_the_fence_would_see_a_store(tmp_path: Path) -> None:
    assert "sqlite3" in modules_after("from citewise import Library; Library('x').doctor()", tmp_path)


@pytest.fixture
def exploding_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way into a store goes off when it is touched."""

    def explode(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a store was touched")

    for touched in (
        "citewise.adapters.folder.storage.LibraryFolder.__init__",
        "citewise.adapters.sqlite.connections.Connections.__init__",
        "citewise.adapters.sqlite.catalog.SqliteCatalog.__init__",
        "citewise.adapters.sqlite.catalog.SqliteCatalog.passages",
        "citewise.adapters.local_index.generations.Generations.__init__",
        "citewise.adapters.local_index.vectors.LocalVectorIndex.search",
        "citewise.adapters.local_index.texts.LocalTextIndex.search",
        "sqlite3.connect",
    ):
        monkeypatch.setattr(touched, explode)


def selected_questions() -> list[dict[str, str]]:
    files = [file for file in (HANDBOOK, TEXTBOOK) if file.exists()]
    return [case for file in files for case in json.loads(file.read_text("utf-8"))]


@pytest.mark.usefixtures("exploding_stores")
def test_answers_quote_the_selection_and_touch_no_store() -> None:
    library = Library("there/is/no/library")
    for case in selected_questions():
        selection = Selection(case["selected_text"], case["source_doc"], case["source_section"])
        answer = library.as_owner().ask(case["question"], selection=selection)
        assert [one.chunk_id for one in answer.citations] == ["selection"]
        if answer.sufficient_context:
            leaked = words(answer.text.replace("[1]", "")) - words(case["selected_text"])
            assert not leaked, (case["id"], leaked)


def test_the_explosives_work(exploding_stores: None, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="a store was touched"):
        Library(tmp_path).as_owner().search("anything")


def test_an_answer_from_the_library_leaves_nothing_behind_for_a_selection(tmp_path: Path) -> None:
    (tmp_path / "sensors.md").write_text("# Sensors\n\nThe sonde measures pressure every six minutes.\n")
    library = Library(tmp_path / "library")
    library.ingest(tmp_path / "sensors.md")
    assert "six minutes" in library.as_owner().ask("How often does the sonde measure pressure?").text
    answer = library.as_owner().ask(
        "How often does the sonde measure pressure?", selection="The quay was painted blue in June."
    )
    assert not answer.sufficient_context
    assert "six" not in answer.text
    assert "Ask the whole library: the same question without the selection." in answer.text
    assert answer.suggestions == ()  # no place that could be opened


def words(text: str) -> set[str]:
    kept = "".join(character.lower() if character.isalnum() else " " for character in text)
    return set(kept.split())
