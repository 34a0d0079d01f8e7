"""docs/contracts.md names only what exists: tests, files, and names in the code."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDS = ROOT.parent / "shared" / "seeds"
PAGE = (ROOT / "docs" / "contracts.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| ---", "| called there", "| there"))
]
COVERED = ("::test_", "make ", "later issue", "not measured yet")


def names_of_tests(file: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(tests/[\w/]+\.py)::", PAGE))))
def test_every_test_on_the_page_exists(path: str) -> None:
    assert set(re.findall(rf"{re.escape(path)}::(\w+)", PAGE)) <= names_of_tests(ROOT / path)


def test_every_path_on_the_page_exists() -> None:
    paths = set(re.findall(r"`((?:src|tests|benchmarks|examples|docs)/[\w./-]*)[`:]", PAGE))
    assert paths
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_every_name_on_the_page_exists() -> None:
    names = set(re.findall(r"`(citewise(?:\.\w+){2,})", PAGE))
    assert names
    assert sorted(name for name in names if not is_there(name)) == []


def is_there(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize(("name", "there"), [("citewise.model.query.Query.where", True), ("citewise.model.no", False)])
def test_the_fence_tells_names_apart(name: str, *, there: bool) -> None:
    assert is_there(name) is there


def test_every_row_says_what_covers_it() -> None:
    rows = [row for row in ROWS if len(row) == 4]
    assert len(rows) > 150
    assert [row[0] for row in rows if not any(word in row[2] for word in COVERED)] == []
    assert {len(row) for row in ROWS} == {3, 4}  # the first table has no test


def test_every_test_that_the_contracts_name_is_on_the_page() -> None:
    if not SEEDS.is_dir():
        pytest.skip("the design documents are not on this machine")
    rows = {
        name
        for file in SEEDS.glob("0*.txt")
        for name in re.findall(r"^\| `(test_\w+)` \|", file.read_text("utf-8"), re.MULTILINE)
    }
    assert len(rows) > 35
    assert sorted(name for name in rows if f"`{name}`" not in PAGE) == []
