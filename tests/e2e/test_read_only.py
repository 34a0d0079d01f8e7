"""A library that nobody here may write to can still be searched."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, json_of
from tests.privileges import without_privileges

LEAFING = """
from citewise import Library
with Library("shared") as library:
    first = library.search("tide", limit=1)
    second = library.search("tide", limit=1, cursor=first.next_cursor)
    print(len({one.passage.chunk_id for one in first.findings}))
    print(len({one.passage.chunk_id for one in (*first.findings, *second.findings)}))
"""


def test_a_library_of_someone_else_is_searched_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Tides\n\nThe tide gauge is read at noon.\n\n# Nets\n\nNets dry by the tide.\n")
    json_of("ingest", "page.md", "--library", "shared", cwd=tmp_path)
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "shared").rglob("*")}
    for file in (tmp_path / "shared", *files):
        file.chmod(0o555 if file.is_dir() else 0o444)
    try:
        done = subprocess.run(
            [*without_privileges(), COMMAND, "search", "tide gauge", "--library", "shared"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "page.md:" in done.stdout
        assert done.stderr == ""
        leafed = subprocess.run(
            [*without_privileges(), sys.executable, "-c", LEAFING],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (leafed.returncode, leafed.stdout.split()) == (0, ["1", "2"]), leafed.stderr
        assert {file: file.stat().st_mtime_ns for file in (tmp_path / "shared").rglob("*")} == files
    finally:
        for folder in (tmp_path / "shared", *(file for file in files if file.is_dir())):
            folder.chmod(0o755)


@pytest.mark.parametrize("mode", [0o444, 0o666], ids=["nothing may be written", "only the folder may not"])
def test_a_library_of_someone_else_from_before_words_had_vectors_is_searched_too(tmp_path: Path, mode: int) -> None:
    (tmp_path / "page.md").write_text("# Tides\n\nThe tide gauge is read at noon.\n\n# Nets\n\nNets dry by the tide.\n")
    json_of("ingest", "page.md", "--library", "shared", cwd=tmp_path)
    (catalog,) = (tmp_path / "shared").glob("gen-*/catalog.db")
    with closing(sqlite3.connect(catalog)) as connection:
        connection.executescript("DROP TABLE word_vectors; PRAGMA user_version = 1; PRAGMA wal_checkpoint(TRUNCATE);")
    folders = [tmp_path / "shared", *(file for file in (tmp_path / "shared").rglob("*") if file.is_dir())]
    for file in (tmp_path / "shared").rglob("*"):
        file.chmod(0o555 if file.is_dir() else mode)
    (tmp_path / "shared").chmod(0o555)
    try:
        done = subprocess.run(
            [*without_privileges(), COMMAND, "search", "Who won the world cup?", "--explain", "--library", "shared"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "page.md:" in done.stdout
        assert "ingested without vectors of their words" in done.stdout
    finally:
        for folder in folders:
            folder.chmod(0o755)
