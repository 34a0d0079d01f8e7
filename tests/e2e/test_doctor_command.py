"""`citewise doctor` asks every part that a search needs: parts are broken under it."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli import citewise, embedding_at, json_of, reranking_at, written
from tests.pipelines.test_degrading import overwrite

NOBODY = "http://127.0.0.1:9"  # where nothing listens


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that is well."""
    page = "# Tides\n\nThe gauge is read at noon by `read_gauge`.\n"
    home = written(tmp_path_factory.mktemp("whole"), {"docs/tides.md": page})
    json_of("ingest", "docs", cwd=home)
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    shutil.copytree(whole, tmp_path / "home")
    return tmp_path / "home"


def checks(home: Path, *, code: int, env: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    found = json_of("doctor", cwd=home, code=code, env=env)
    assert found["ok"] is (code == 0)
    assert all(check.keys() == {"name", "ok", "detail", "problem", "remedy"} for check in found["checks"])
    return {check["name"]: check for check in found["checks"]}


def test_every_part_of_a_library_that_is_well_answers(whole: Path) -> None:
    found = checks(whole, code=0)
    assert {"embedding model", "disk", "write lock", "catalog", "settings", "index"} <= found.keys()
    assert "reranker" not in found  # none is configured


def test_a_model_that_cannot_be_reached_is_a_problem(whole: Path) -> None:
    found = checks(whole, code=1, env=reranking_at(NOBODY))
    assert [name for name, check in found.items() if not check["ok"]] == ["reranker"]
    assert found["reranker"]["problem"].startswith("the rerank server at 127.0.0.1:9 cannot be reached")


def test_settings_that_do_not_fit_the_library_are_a_problem_of_their_own(whole: Path) -> None:
    found = checks(whole, code=1, env=embedding_at(NOBODY))
    assert [name for name, check in found.items() if not check["ok"]] == ["embedding model", "settings"]
    assert "cannot be reached" in found["embedding model"]["problem"]


@pytest.mark.parametrize("files", ["texts/default/default/1/*.idx", "vectors/default/default/1/*.rows"])
def test_a_damaged_index_does_not_answer(home: Path, files: str) -> None:
    overwrite(*(home / ".citewise" / "gen-1" / "index").glob(files))
    found = checks(home, code=1)
    assert [name for name, check in found.items() if not check["ok"]] == ["index"]
    assert "of default/default" in found["index"]["problem"]
    assert found["index"]["remedy"] == "run `citewise reindex`"


def test_a_catalog_that_cannot_be_read_from_is_a_problem_and_no_crash(home: Path) -> None:
    with sqlite3.connect(home / ".citewise" / "gen-1" / "catalog.db") as catalog:
        catalog.execute("ALTER TABLE chunks RENAME TO elsewhere")
    done = citewise("doctor", cwd=home)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "problem" in done.stdout
