"""A library that was damaged on disk says so, and says the way back; it quotes nothing that was not stored."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, citewise, error_of, json_of, written
from tests.e2e.test_read_only import closed_off, without_privileges

LIBRARY = Path(".citewise")
CATALOG = LIBRARY / "gen-1" / "catalog.db"
CURRENT = LIBRARY / "CURRENT"
QUESTION = "What is the safe dose?"
LEFT_OUT = "catalog: dose.md is damaged and left out; the next `citewise ingest` reads it again"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = {
        "r/dose.md": "# Dose\n\nThe safe dose is 125 mg per day.\n",
        "r/nets.md": "# Nets\n\nNets are mended in winter.\n",
    }
    home = written(tmp_path_factory.mktemp("whole"), pages)
    json_of("ingest", "r", cwd=home)
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    shutil.copytree(whole, tmp_path / "home")
    return tmp_path / "home"


def damage(home: Path, expression: str) -> None:
    subprocess.run(["sed", "-i", expression, home / CATALOG], check=True)


def hits_of(home: Path, question: str = QUESTION) -> list[str]:
    return [hit["document"] for hit in json_of("search", question, cwd=home)["hits"]]


def test_a_text_that_changed_on_disk_is_not_quoted_and_comes_back_with_the_next_ingestion(home: Path) -> None:
    damage(home, "s/dose is 125 mg/dose is 925 mg/g")
    answer = json_of("ask", QUESTION, cwd=home)
    assert "mg" not in answer["answer"]
    assert LEFT_OUT in answer["degraded"]
    assert "dose.md" not in hits_of(home)
    (broken,) = (check for check in json_of("doctor", cwd=home, code=1)["checks"] if not check["ok"])
    assert broken["problem"].startswith("1 document is damaged (dose.md): `citewise ingest`")
    json_of("reindex", cwd=home)  # makes nothing of it permanent
    assert "925" not in citewise("search", "925 mg", cwd=home).stdout
    assert json_of("ingest", "r", cwd=home)["ingested"] == 1
    answer = json_of("ask", QUESTION, cwd=home)
    assert "The safe dose is 125 mg per day." in answer["answer"]
    assert answer["degraded"] == []
    assert json_of("search", "125 mg", cwd=home)["hits"][0]["ranks"]["words"] == 1
    assert json_of("doctor", cwd=home)["ok"] is True


def test_an_ingestion_finds_the_damage_that_nobody_met(home: Path) -> None:
    damage(home, "s/dose is 125 mg/dose is 925 mg/g")
    assert json_of("ingest", "r", cwd=home)["ingested"] == 1
    assert "The safe dose is 125 mg per day." in json_of("ask", QUESTION, cwd=home)["answer"]
    assert json_of("ingest", "r", cwd=home)["ingested"] == 0


def test_a_damaged_library_that_nobody_may_write_to_is_searched_without_the_page(home: Path) -> None:
    damage(home, "s/dose is 125 mg/dose is 925 mg/g")
    with closed_off(home / LIBRARY):
        search = [*without_privileges(), COMMAND, "search", QUESTION]
        done = subprocess.run(search, cwd=home, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    assert "mg" not in done.stdout
    assert "dose.md is damaged" in done.stderr
    assert "could not request" in done.stderr


def test_a_page_whose_rule_changed_on_disk_is_closed_until_somebody_opens_it_in_words(home: Path) -> None:
    json_of("ingest", "r", "--access", "owner:ann", cwd=home)
    with closing(sqlite3.connect(home / CATALOG)) as connection, connection:
        connection.execute("UPDATE documents SET access = ',public,' WHERE path = 'dose.md'")
    for user in ("ann", "bob"):
        found = citewise("search", QUESTION, "--user", user, cwd=home)
        assert "dose" not in found.stdout + found.stderr
    (held,) = json_of("ingest", "r", cwd=home)["access"]
    assert held["path"] == "dose.md"
    hits = json_of("search", QUESTION, "--user", "bob", cwd=home)
    assert (hits["hits"], hits["degraded"]) == ([], [])
    json_of("ingest", "r/dose.md", "--access", "owner:ann", "--widen", cwd=home)
    assert "dose.md" in [hit["document"] for hit in json_of("search", QUESTION, "--user", "ann", cwd=home)["hits"]]


def lost(file: Path) -> None:
    file.unlink()


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def holding(data: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(data)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "lost": (lost, "is lost"),
    "empty": (holding(b""), "is empty"),
    "another generation": (holding(b"gen-7\n"), "names gen-7, which is not there"),
    "another name": (holding(b"gex-1\n"), "names 'gex-1', which is no generation"),
    "not UTF-8": (holding(b"\xff\xfe"), "which is no generation"),
    "huge": (holding(b"gen-1\n" * 1_000_000), "which is no generation"),
    "zeros": (holding(b"\0" * 6), "which is no generation"),
    "a folder": (folder, "cannot be read (Is a directory)"),
}
COMMANDS = (("status",), ("search", QUESTION), ("ask", QUESTION), ("ingest", "r"), ("reindex",), ("compact",), ("log",))


@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_becomes_of_current_is_one_line_with_the_way_back(home: Path, name: str) -> None:
    make, problem = DAMAGES[name]
    make(home / CURRENT)
    for command in COMMANDS:
        message = error_of(*command, cwd=home, code=3)
        assert message.count("\n") == 1
        assert len(message) < 500
        assert problem in message
        assert "found gen-1 (2 documents)" in message
        assert f"`echo gen-1 > {CURRENT}`" in message
    checks = {check["name"]: check for check in json_of("doctor", cwd=home, code=1)["checks"]}
    assert problem in checks["library"]["problem"]
    if name == "a folder":
        (home / CURRENT).rmdir()
    (home / CURRENT).write_text("gen-1\n")
    assert json_of("ingest", "r", cwd=home)["unchanged"] == 2


def test_current_without_permission_is_one_line_with_the_way_back(home: Path) -> None:
    (home / CURRENT).chmod(0)
    search = [*without_privileges(), COMMAND, "search", QUESTION]
    done = subprocess.run(search, cwd=home, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "cannot be read (Permission denied); found gen-1 (2 documents)" in done.stderr


def test_a_generation_that_cannot_be_read_is_said_to_be_so(home: Path) -> None:
    (home / CURRENT).unlink()
    shutil.copytree(home / LIBRARY / "gen-1", home / LIBRARY / "gen-2")
    (home / LIBRARY / "gen-2" / "catalog.db").write_bytes(b"garbage" * 1000)
    message = error_of("status", cwd=home, code=3)
    assert "found gen-1 (2 documents), gen-2 (cannot be read)" in message
    assert "`echo gen-1" in message
    shutil.rmtree(home / LIBRARY / "gen-1")
    message = error_of("ingest", "r", cwd=home, code=3)
    assert "found gen-2 (cannot be read) of the library: restore the library from a backup" in message


def test_a_first_ingestion_that_was_interrupted_is_no_lost_library(home: Path) -> None:
    """Its catalog is empty until CURRENT is there."""
    shutil.rmtree(home / LIBRARY)
    (home / LIBRARY / "gen-1").mkdir(parents=True)
    (home / LIBRARY / "gen-1" / "catalog.db").touch()
    assert "there is no library" in error_of("status", cwd=home, code=2)
    assert json_of("ingest", "r", cwd=home)["ingested"] == 2
