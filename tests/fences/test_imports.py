"""Import rules and other rules of the code that no review should have to check."""

import re
import sys
from pathlib import Path

import pytest

from tests.fences.processes import ROOT, modules_after, printed_by

SOURCE = ROOT / "src" / "citewise"
HEAVY = ("faiss", "numpy", "onnxruntime", "sqlite3", "tantivy", "tokenizers", "httpx", "yaml", "markdown_it", "rich")


def test_every_package_imports_only_what_it_may() -> None:
    printed_by(Path(sys.executable).with_name("lint-imports"))


@pytest.mark.parametrize(
    "statement",
    [
        "import citewise",
        "import citewise.cli.main",
        "import citewise.model.chunk, citewise.ports.indexes, citewise.ingest.pipeline",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement: str) -> None:
    assert {name.partition(".")[0] for name in modules_after(statement)}.isdisjoint(HEAVY)


def test_help_and_usage_errors_do_not_wait_for_the_library() -> None:
    loaded = modules_after("import citewise.cli.main")
    assert not {"citewise.api", "citewise.settings", "citewise.model.ranking"} & loaded


def test_the_embedder_is_not_loaded_to_find_that_nothing_changed(tmp_path: Path) -> None:
    statement = (
        "from pathlib import Path\n"
        "from citewise.settings import Settings\n"
        "from citewise.wiring import stored_library\n"
        f"with stored_library(Settings(library=Path({str(tmp_path / 'library')!r}))).writing(): pass"
    )
    assert "onnxruntime" not in modules_after(statement)


def test_the_version_is_the_packages() -> None:
    import citewise

    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", str(citewise.__version__))
    with pytest.raises(AttributeError):
        _ = citewise.nothing  # type: ignore[attr-defined]


def test_the_embedding_runtime_keeps_no_device_id(tmp_path: Path) -> None:
    """onnxruntime's telemetry writes one into the cache folder as soon as it is loaded, unless it is off."""
    printed_by(sys.executable, "-c", "import citewise.adapters.onnx.minilm", XDG_CACHE_HOME=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_every_folder_is_a_package_at_most_two_deep() -> None:
    folders = {file.parent for file in SOURCE.rglob("*.py")}
    for folder in folders:
        assert (folder / "__init__.py").is_file()
        assert len(folder.relative_to(SOURCE).parts) <= 2


def test_no_file_of_code_is_over_500_lines() -> None:
    long = [file.name for file in SOURCE.rglob("*.py") if len(file.read_text().splitlines()) > 500]
    assert long == []
