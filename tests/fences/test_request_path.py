"""How far a question travels before the index is searched, and what a status report loads."""

import json
import sys
from pathlib import Path

import pytest

import citewise
from citewise import Library
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.cli.main import app
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.fences.processes import printed_by

MAX_FRAMES, MAX_FILES = 12, 10
SOURCE = str(Path(citewise.__file__).parent)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "gauge.md").write_text("# Gauge\n\nThe tide gauge is read at noon.\n")
    return tmp_path / "gauge.md"


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files of citewise on the stack whenever the vector index is searched, outermost first."""
    found: list[list[str]] = []
    search = LocalVectorIndex.search

    def watched(self: LocalVectorIndex, *args: object, **named: object) -> object:
        frame, files = sys._getframe(1), []
        while frame is not None:
            if frame.f_code.co_filename.startswith(SOURCE):
                files.append(frame.f_code.co_filename)
            frame = frame.f_back  # type: ignore[assignment]
        found.append(files[::-1])
        return search(self, *args, **named)

    monkeypatch.setattr(LocalVectorIndex, "search", watched)
    return found


def test_few_frames_and_files_stand_between_ask_and_the_index(
    page: Path, tmp_path: Path, stacks: list[list[str]]
) -> None:
    library = Library(tmp_path / "library", embedder=HashEmbedder(), token_counter=WordCounter())
    library.ingest(page)
    library.as_owner().ask("When is the tide gauge read?")
    assert len(stacks[0]) <= MAX_FRAMES, stacks[0]
    assert len(set(stacks[0])) <= MAX_FILES, stacks[0]


def test_few_frames_and_files_stand_between_the_command_and_the_index(
    page: Path, tmp_path: Path, stacks: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    Library(tmp_path / "library").ingest(page)
    command = ["ask", "When is the tide gauge read?", "--library", str(tmp_path / "library"), "--json"]
    app(command, standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["sufficient_context"]
    assert len(stacks[0]) <= MAX_FRAMES, stacks[0]
    assert len(set(stacks[0])) <= MAX_FILES, stacks[0]


def test_status_loads_no_index_and_no_model(page: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    Library(other).ingest(page)
    command = f"['status', '--library', {str(other)!r}, '--json'], standalone_mode=False"
    code = f"import sys\nfrom citewise.cli.main import app\napp({command})\nprint(*sys.modules)"
    report, loaded = printed_by(sys.executable, "-c", code).splitlines()
    assert json.loads(report)["problems"] == []
    assert {"numpy", "faiss", "tantivy", "onnxruntime", "tokenizers"}.isdisjoint(loaded.split())
