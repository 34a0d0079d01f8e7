"""How far a question travels before the index is searched, and what a status report loads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import citewise
from citewise import Library
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.cli.main import app
from tests.fakes.counters import HashEmbedder, WordCounter

MAX_FRAMES, MAX_FILES = 12, 10
SOURCE = str(Path(citewise.__file__).parent)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    (tmp_path / "gauge.md").write_text("# Gauge\n\nThe tide gauge is read at noon.\n")
    made = Library(tmp_path / "library", embedder=HashEmbedder(), token_counter=WordCounter())
    made.ingest(tmp_path / "gauge.md")
    return made


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


def test_few_frames_and_files_stand_between_ask_and_the_index(library: Library, stacks: list[list[str]]) -> None:
    library.as_owner().ask("When is the tide gauge read?")
    assert len(stacks[0]) <= MAX_FRAMES, stacks[0]
    assert len(set(stacks[0])) <= MAX_FILES, stacks[0]


def test_few_frames_and_files_stand_between_the_command_and_the_index(
    tmp_path: Path, stacks: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gauge.md").write_text("# Gauge\n\nThe tide gauge is read at noon.\n")
    Library(tmp_path / "library").ingest(tmp_path / "gauge.md")
    command = ["ask", "When is the tide gauge read?", "--library", str(tmp_path / "library"), "--json"]
    app(command, standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["sufficient_context"]
    assert len(stacks[0]) <= MAX_FRAMES, stacks[0]
    assert len(set(stacks[0])) <= MAX_FILES, stacks[0]


def test_status_loads_no_index_and_no_model(library: Library, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Tide\n\nThe gauge is read at noon.\n")
    other = tmp_path / "other"
    Library(other).ingest(tmp_path / "page.md")
    code = (
        "import sys\nfrom citewise.cli.main import app\n"
        f"app(['status', '--library', {str(other)!r}, '--json'], standalone_mode=False)\n"
        "print([name for name in ('numpy', 'faiss', 'tantivy', 'onnxruntime', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    report, loaded = done.stdout.splitlines()
    assert json.loads(report)["problems"] == []
    assert loaded == "[]"
