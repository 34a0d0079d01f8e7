"""Bad input gets a clear error, and nothing is lost by it."""

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, citewise, error_of, json_of

PAGE = "# Tides\n\nTides rise and fall twice a day.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tides.md").write_text(PAGE)
    return tmp_path


def reason_for(home: Path, path: str, *, kind: str, code: int) -> str:
    report = json_of("ingest", "docs", cwd=home, code=code)
    assert report["ingested"] + report["unchanged"] == 1
    reasons: dict[str, str] = {entry["path"]: entry["reason"] for entry in report[kind]}
    return reasons[path]


def test_a_missing_folder_makes_no_library(home: Path) -> None:
    assert "no folder or file at nowhere" in error_of("ingest", "nowhere", cwd=home, code=2)
    assert not (home / ".citewise").exists()


def test_nul_bytes_are_skipped_as_binary(home: Path) -> None:
    (home / "docs" / "a.md").write_bytes(b"text\x00more")
    assert "binary" in reason_for(home, "a.md", kind="skipped", code=0)


def test_invalid_utf8_fails_with_its_line(home: Path) -> None:
    (home / "docs" / "a.md").write_bytes(b"one\ntwo \xe9\n")
    assert "line 2" in reason_for(home, "a.md", kind="failed", code=1)


def test_a_50_mb_file_is_skipped_with_the_flag_that_takes_it(home: Path) -> None:
    with (home / "docs" / "huge.md").open("wb") as huge:
        huge.truncate(50_000_000)
    assert "--max-file-mb" in reason_for(home, "huge.md", kind="skipped", code=0)


def test_an_empty_file_is_skipped(home: Path) -> None:
    (home / "docs" / "empty.md").write_text("")
    assert reason_for(home, "empty.md", kind="skipped", code=0) == "empty file"


def test_only_frontmatter_is_a_document_with_a_warning(home: Path) -> None:
    (home / "docs" / "front.md").write_text("---\ntitle: Only this\n---\n")
    report = json_of("ingest", "docs", cwd=home)
    assert report["ingested"] == 2
    assert report["warnings"] == [{"path": "front.md", "reason": "has no text below its frontmatter"}]


def test_a_symlink_loop_ends(home: Path) -> None:
    (home / "docs" / "loop").symlink_to(home / "docs")
    (home / "docs" / "self.md").symlink_to(home / "docs" / "self.md")
    report = json_of("ingest", "docs", cwd=home)
    assert {entry["path"] for entry in report["skipped"]} == {"loop", "self.md"}


def test_a_link_out_of_the_folder_is_not_followed(home: Path) -> None:
    (home / "secret.md").write_text("# Secret\n")
    (home / "docs" / "link.md").symlink_to(home / "secret.md")
    assert "outside the source" in reason_for(home, "link.md", kind="skipped", code=0)


def test_spaces_and_emoji_in_paths_are_fine(home: Path) -> None:
    folder = home / "docs" / "my notes 🌊"
    folder.mkdir()
    (folder / "a b ü.md").write_text("# Notes\n\nWords.\n")
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
    for n in range(40):
        (home / "docs" / f"p{n}.md").write_text(f"# Page {n}\n\n" + f"Words of page {n}. " * 400)
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


def test_another_model_is_refused_with_the_remedy(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    with sqlite3.connect(home / ".citewise" / "gen-1" / "catalog.db") as connection:
        connection.execute(
            "UPDATE facts SET value = json_set(value, '$.model', 'another-model') WHERE name = 'library'"
        )
    connection.close()
    message = error_of("ingest", "docs", cwd=home, code=3)
    assert "another-model" in message
    assert "citewise reindex" in message
    assert json_of("reindex", cwd=home)["reembedded"] is True
    assert json_of("ingest", "docs", cwd=home)["unchanged"] == 1


def test_a_newer_schema_is_refused(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    with sqlite3.connect(home / ".citewise" / "gen-1" / "catalog.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
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


def test_a_deleted_index_folder_comes_back(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    shutil.rmtree(home / ".citewise" / "gen-1" / "index")
    assert json_of("ingest", "docs", cwd=home)["embedded"] == 0
    assert json_of("status", cwd=home)["problems"] == []


def test_a_damaged_catalog_is_named_with_what_to_do(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    (home / ".citewise" / "gen-1" / "catalog.db").write_bytes(b"garbage" * 1000)
    assert "restore it from a backup" in error_of("status", cwd=home, code=3)


def test_an_emptied_catalog_is_no_healthy_library(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    catalog = home / ".citewise" / "gen-1" / "catalog.db"
    for file in catalog.parent.glob("catalog.db-*"):
        file.unlink()
    catalog.write_bytes(b"")
    for command in (("status",), ("ingest", "docs")):
        assert "emptied" in error_of(*command, cwd=home, code=3)
    assert json_of("doctor", cwd=home, code=1)["ok"] is False


def test_a_lost_current_file_does_not_start_an_empty_library(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    (home / ".citewise" / "gen-1").rename(home / ".citewise" / "gen-2")
    (home / ".citewise" / "CURRENT").unlink()
    for command in (("status",), ("ingest", "docs")):
        assert "gen-2" in error_of(*command, cwd=home, code=3)
    (home / ".citewise" / "CURRENT").write_text("gen-2\n")
    assert json_of("ingest", "docs", cwd=home)["unchanged"] == 1


def test_an_empty_path_names_nothing(home: Path) -> None:
    assert "empty path" in error_of("ingest", "", cwd=home, code=2)
    assert "current folder" in error_of("ingest", "docs", "--library", "", cwd=home, code=2)
    assert not (home / "CURRENT").exists()


def test_a_library_folder_full_of_other_files_is_refused(home: Path) -> None:
    assert "holds other files" in error_of("ingest", "docs", "--library", "docs", cwd=home, code=2)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ingest",), 2, "PATH"),
        (("ingest", "docs", "--access", "everyone"), 2, "access rule"),
        (("ingest", "docs", "--tenant", "../up"), 2, "tenant"),
        (("ingest", "docs", "--max-file-mb", "-1"), 2, "max-file-mb"),
        (("ingest", "docs", "--name", "../x"), 2, "source name"),
        (("ingest", "docs", "--corpus-type", "book"), 2, "corpus type"),
        (("ingest", "docs", "--config", "nowhere.toml"), 3, "nowhere.toml"),
        (("ingest", "docs", "--library", "docs/tides.md"), 2, "is a file"),
    ],
)
def test_bad_flags_are_explained(home: Path, words: tuple[str, ...], code: int, said: str) -> None:
    assert said in error_of(*words, cwd=home, code=code)
    assert not (home / ".citewise").exists()


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


def test_bad_settings_are_explained_with_the_nearest_name(home: Path) -> None:
    (home / "citewise.toml").write_text("[embeding]\nprovider = 'minilm'\n")
    assert "did you mean 'embedding'" in error_of("status", cwd=home, code=3)
    (home / "citewise.toml").write_text("library = ")
    assert "not valid TOML" in error_of("status", cwd=home, code=3)
    (home / "citewise.toml").write_text("[chunks]\ntarget_tokens = 'many'\n")
    assert "chunks.target_tokens" in error_of("status", cwd=home, code=3)
