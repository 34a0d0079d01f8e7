"""Every example runs as a newcomer would run it, and what it prints is true."""

import re
import sys
from pathlib import Path

import pytest

from tests.fences.processes import ROOT, printed_by

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAID = {
    "ask.py": (
        "18 documents",
        "**Firmware \u203a Low-power mode** [1]",
        "switches the anemometer off.",
        "[1] Firmware > Low-power mode",
    ),
    "async_ask.py": (
        "Firmware stuck** [1]",
        "twice in one day**.",
        "save a diagnostic bundle.",
        "Collect evidence** [1]",
    ),
    "own_index.py": ("tide-204.md  Firmware stuck",),
    "own_parts.py": ("twice in one day**. [1] And this marker points at nothing.\n", "(best-unit; 1 marker removed)"),
    "search_with_filters.py": (
        "[1] runbooks/tide-204.md",
        "fused 1.00",
        "ann sees the contact sheet: True",
        "bob sees the contact sheet: False",
    ),
    "selected_text.py": (
        "switches the anemometer off.",
        "[1] selection: module-1/1.1-stations/firmware.mdx",
        "The selected text does not answer this question.",
        "Ask the whole library",
    ),
    "stream.py": (
        "Firmware stuck** [1]",
        "twice in one day**.",
        " <- tide-204.md, Firmware stuck",
        "extractive, faithfulness 1.0",
    ),
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.name)
def test_an_example_runs_and_says_something_true(example: Path, tmp_path: Path) -> None:
    printed = printed_by(sys.executable, "-W", "error", example, cwd=tmp_path, TMPDIR=str(tmp_path))
    for said in SAID[example.name]:
        assert said in printed, printed
    assert list(tmp_path.iterdir()) == []  # and nothing is left behind


def test_a_folder_and_a_question_of_ones_own_are_taken(tmp_path: Path) -> None:
    (tmp_path / "tides.md").write_text("# Tides\n\nThe tide gauge is read at noon.\n")
    example = ROOT / "examples" / "ask.py"
    printed = printed_by(sys.executable, example, tmp_path, "When is the tide gauge read?")
    assert "**Tides** [1]  \nThe tide gauge is read at noon.\n\n[1] Tides" in printed


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.name)
def test_an_example_is_short_and_listed(example: Path) -> None:
    assert len(example.read_text().splitlines()) < (120 if example.name == "own_index.py" else 30)
    assert f"({example.name})" in (ROOT / "examples" / "README.md").read_text()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_imports_public_names_alone(example: Path) -> None:
    assert not re.findall(r"(?:from|import) citewise\.\w+", example.read_text(encoding="utf-8"))
