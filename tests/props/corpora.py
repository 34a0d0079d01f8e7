"""Real documentation trees: the handbook always, others where the shared data sets are."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
TREES = {
    "handbook": ROOT / "src" / "citewise" / "data" / "handbook",
    "textbook": SHARED / "textbook" / "website" / "docs",
    "docusaurus": SHARED / "docs_docusaurus",
    "react_native": SHARED / "docs_react_native",
}


def files_of(tree: str) -> list[Path]:
    if not TREES[tree].is_dir():
        pytest.skip(f"the shared data set {tree} is not on this machine; the handbook is always tested")
    return sorted(TREES[tree].rglob("*.md*"))
