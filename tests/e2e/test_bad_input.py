"""Bad input gets a clear error, and nothing is lost by it."""

import fcntl
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, citewise, error_of, json_of, written
from tests.stores import seal_again

PAGE = "# Tides\n\nTides rise and fall twice a day.\n"
CATALOG = Path(".citewise", "gen-1", "catalog.db")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return written(tmp_path, {"docs/tides.md": PAGE})


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"text\x00more", "skipped", "binary"),
        (b"", "skipped", "empty file"),
        (b"\0" * 50_000_000, "skipped", "--max-file-mb"),
        (b"one\ntwo \xe9\n", "failed", "is not UTF-8: byte 0xe9 at line 2; save it as UTF-8"),
        (b"---\ntitle: Only this\n---\n", "warnings", "has no text below its frontmatter"),
    ],
    ids=["NUL bytes", "nothing", "50 MB", "invalid UTF-8", "only frontmatter"],
)
def test_a_file_that_cannot_be_used_is_named_with_a_reason_and_stops_no_other(
    home: Path, content: bytes, kind: str, said: str
) -> None:
    (home / "docs" / "a.md").write_bytes(content)
    report = json_of("ingest", "docs", cwd=home, code=1 if kind == "failed" else 0)
    ((path, reason),) = [(entry["path"], entry["reason"]) for entry in report[kind]]
    assert path == "a.md"
    assert said in reason
    assert report["ingested"] == (2 if kind == "warnings" else 1)


def test_a_symlink_loop_ends(home: Path) -> None:
    (home / "docs" / "loop").symlink_to(home / "docs")
    (home / "docs" / "self.md").symlink_to(home / "docs" / "self.md")
    report = json_of("ingest", "docs", cwd=home)
    assert {entry["path"] for entry in report["skipped"]} == {"loop", "self.md"}


def test_a_link_out_of_the_folder_is_not_followed(home: Path) -> None:
    (home / "secret.md").write_text("# Secret\n")
    (home / "docs" / "link.md").symlink_to(home / "secret.md")
    (skipped,) = json_of("ingest", "docs", cwd=home)["skipped"]
    assert skipped["path"] == "link.md"
    assert "outside the source" in skipped["reason"]


def test_spaces_and_emoji_in_paths_are_fine(home: Path) -> None:
    written(home, {"docs/my notes 🌊/a b ü.md": "# Notes\n\nWords.\n"})
    report = json_of("ingest", "docs", cwd=home)
    assert report["ingested"] == 2
    assert report["failed"] == []


def test_two_ingests_at_once_do_not_meet(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    with (home / ".citewise" / "write.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        message = error_of("ingest", "docs", cwd=home, code=4)
    assert "another process" in message
    assert json_of("ingest", "docs", cwd=home)["unchanged"] == 1


def test_a_full_disk_stops_the_run_and_keeps_what_was_there(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    written(home, {f"docs/p{n}.md": f"# Page {n}\n\n" + f"Words of page {n}. " * 400 for n in range(40)})
    code = (
        "import resource, signal, os, sys;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000));"
        f"os.execv({COMMAND!r}, [{COMMAND!r}, 'ingest', 'docs'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert "make room" in done.stderr
    assert json_of("status", cwd=home)["documents"] >= 1
    report = json_of("ingest", "docs", cwd=home)
    assert report["failed"] == []
    assert json_of("status", cwd=home)["documents"] == 41


def in_catalog(home: Path, statement: str) -> None:
    with closing(sqlite3.connect(home / CATALOG)) as connection, connection:
        connection.execute(statement)


def test_another_model_is_refused_with_the_remedy(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    in_catalog(home, "UPDATE facts SET value = json_set(value, '$.model', 'another-model') WHERE name = 'library'")
    seal_again(home / CATALOG)
    message = error_of("ingest", "docs", cwd=home, code=3)
    assert "another-model" in message
    assert "citewise reindex" in message
    assert json_of("reindex", cwd=home)["reembedded"] is True
    assert json_of("ingest", "docs", cwd=home)["unchanged"] == 1


def test_a_newer_schema_is_refused(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    in_catalog(home, "PRAGMA user_version = 99")
    assert "upgrade citewise" in error_of("ingest", "docs", cwd=home, code=3)


def test_a_corrupted_index_file_is_rebuilt_and_said_so(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    rows = next((home / ".citewise").rglob("*.rows"))
    data = bytearray(rows.read_bytes())
    data[-1] ^= 0xFF
    rows.write_bytes(data)
    assert json_of("doctor", cwd=home, code=1)["ok"] is False  # `status` reads no index
    done = citewise("ingest", "docs", "--json", cwd=home)
    assert done.returncode == 0
    assert "damaged" in done.stderr
    assert json_of("status", cwd=home)["problems"] == []


def test_a_damaged_catalog_is_named_with_what_to_do(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    (home / CATALOG).write_bytes(b"garbage" * 1000)
    assert "restore it from a backup" in error_of("status", cwd=home, code=3)


def test_an_emptied_catalog_is_no_healthy_library(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    for file in (home / CATALOG).parent.glob("catalog.db-*"):
        file.unlink()
    (home / CATALOG).write_bytes(b"")
    for command in (("status",), ("ingest", "docs")):
        assert "emptied" in error_of(*command, cwd=home, code=3)
    assert json_of("doctor", cwd=home, code=1)["ok"] is False


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ingest",), 2, "PATH"),
        (("ingest", ""), 2, "empty path"),
        (("ingest", "nowhere"), 2, "no folder or file at nowhere"),
        (("ingest", "docs", "--library", ""), 2, "current folder"),
        (("ingest", "docs", "--library", "docs"), 2, "holds other files"),
        (("ingest", "docs", "--access", "everyone"), 2, "access rule"),
        (("ingest", "docs", "--tenant", "../up"), 2, "tenant"),
        (("ingest", "docs", "--max-file-mb", "-1"), 2, "max-file-mb"),
        (("ingest", "docs", "--name", "../x"), 2, "source name"),
        (("ingest", "docs", "--corpus-type", "book"), 2, "corpus type"),
        (("ingest", "docs", "--config", "nowhere.toml"), 3, "nowhere.toml"),
        (("ingest", "docs", "--library", "docs/tides.md"), 2, "is a file"),
    ],
)
def test_bad_paths_and_flags_are_explained_and_make_no_library(
    home: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    assert said in error_of(*words, cwd=home, code=code)
    assert os.listdir(home) == ["docs"]
    assert os.listdir(home / "docs") == ["tides.md"]


def test_a_path_that_cannot_be_read_is_a_bad_request(home: Path) -> None:
    assert "cannot be read" in error_of("ingest", "x" * 5000, cwd=home, code=2)
    folder = os.fsencode(home) + b"/bad-\xff"
    os.mkdir(folder)
    done = subprocess.run([COMMAND, "ingest", folder], cwd=home, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert b"not valid UTF-8" in done.stderr


def test_brackets_in_a_library_name_are_shown_as_they_are(home: Path) -> None:
    json_of("ingest", "docs", "--library", "x[/y]", cwd=home)
    assert "x[/y]" in citewise("status", "--library", "x[/y]", cwd=home).stdout


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[embeding]\nprovider = 'minilm'\n", "did you mean 'embedding'"),
        ("library = ", "not valid TOML"),
        ("[chunks]\ntarget_tokens = 'many'\n", "chunks.target_tokens"),
    ],
    ids=["a misspelled name", "no TOML", "a wrong type"],
)
def test_bad_settings_are_explained(home: Path, settings: str, said: str) -> None:
    (home / "citewise.toml").write_text(settings)
    assert said in error_of("status", cwd=home, code=3)
