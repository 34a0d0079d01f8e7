"""`citewise doctor` asks what a search leans on and tells what each breaker makes of it: parts are broken under it."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli import citewise, json_of
from tests.flows.test_degrading import overwrite

NOBODY = "http://127.0.0.1:9"  # where nothing listens


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that is well."""
    home = tmp_path_factory.mktemp("whole")
    (home / "docs").mkdir()
    (home / "docs" / "tides.md").write_text("# Tides\n\nThe gauge is read at noon by `read_gauge`.\n")
    json_of("ingest", "docs", cwd=home)
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    shutil.copytree(whole, tmp_path / "home")
    return tmp_path / "home"


def breakers(home: Path, *, code: int, env: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    found = json_of("doctor", cwd=home, code=code, env=env)
    assert found["ok"] is (code == 0)
    named = [
        check for check in found["checks"] if check["name"].startswith(("breaker: ", "vector index", "text index"))
    ]
    assert all(check.keys() == {"name", "ok", "detail", "problem", "remedy"} for check in named)
    return {check["name"].removeprefix("breaker: "): check for check in named}


def test_every_part_of_a_library_that_is_well_answers(whole: Path) -> None:
    found = breakers(whole, code=0)
    assert list(found) == ["vector index", "text index", "the catalog", "the embedding model"]  # there is no reranker
    assert all(check["detail"].endswith("answered just now") for check in found.values())


def test_a_model_that_cannot_be_reached_is_told_of_with_its_last_failure(whole: Path) -> None:
    env = {"CITEWISE_RERANK__PROVIDER": "http", "CITEWISE_RERANK__BASE_URL": NOBODY}
    found = breakers(whole, code=1, env=env)
    assert [name for name, check in found.items() if not check["ok"]] == ["the reranker"]
    assert found["the reranker"]["problem"].startswith(
        "closed; failed once, last: the rerank server at 127.0.0.1:9 cannot be reached"
    )
    assert found["the reranker"]["remedy"] == "check its settings under `rerank`, and its server"


def test_a_breaker_that_one_failure_opens_is_open(whole: Path) -> None:
    env = {
        "CITEWISE_RERANK__PROVIDER": "http",
        "CITEWISE_RERANK__BASE_URL": NOBODY,
        "CITEWISE_GUARD__FAILURES": "1",
    }
    assert breakers(whole, code=1, env=env)["the reranker"]["problem"].startswith("open; failed once, last: ")


def test_where_no_search_would_reach_the_store_it_is_not_asked(whole: Path) -> None:
    env = {
        "CITEWISE_EMBEDDING__PROVIDER": "openai",
        "CITEWISE_EMBEDDING__MODEL": "m",
        "CITEWISE_EMBEDDING__DIMENSIONS": "8",
        "CITEWISE_EMBEDDING__BASE_URL": NOBODY,
    }
    found = breakers(whole, code=1, env=env)
    assert list(found) == ["the embedding model"]
    assert "cannot be reached" in found["the embedding model"]["problem"]


@pytest.mark.parametrize(
    ("files", "part"),
    [("texts/default/default/1/*.idx", "text index"), ("vectors/default/default/1/*.rows", "vector index")],
)
def test_a_damaged_index_does_not_answer(home: Path, files: str, part: str) -> None:
    overwrite(*(home / ".citewise" / "gen-1" / "index").glob(files))
    found = breakers(home, code=1)
    assert not found[part]["ok"]
    assert "damaged" in found[part]["problem"]
    assert found[part]["remedy"] == "run `citewise reindex`"
    assert found["the catalog"]["ok"]


def test_a_catalog_that_cannot_be_read_from_is_a_problem_and_no_crash(home: Path) -> None:
    with sqlite3.connect(home / ".citewise" / "gen-1" / "catalog.db") as catalog:
        catalog.execute("ALTER TABLE chunks RENAME TO elsewhere")
    done = citewise("doctor", cwd=home)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "problem" in done.stdout
