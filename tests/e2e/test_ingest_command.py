"""`citewise ingest` and its neighbors as real processes."""

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.cli import COMMAND, MODULE, citewise, error_of, json_of, written

PAGE = "# Tides\n\nTides rise and fall twice a day.\n\n## Gauges\n\nA gauge reads the level.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return written(tmp_path, {"docs/intro.md": PAGE, "docs/module-1/1.1-basics/lab.md": "# Lab\n\nMeasure it.\n"})


def test_the_json_report_has_the_documented_shape(home: Path) -> None:
    report = json_of("ingest", "docs", cwd=home)
    assert {"seen", "ingested", "unchanged", "removed", "skipped", "failed", "chunks", "embedded"} <= report.keys()
    assert {"seconds", "chunks_per_second"} <= report.keys()
    assert report["chunks"] == {"created": 3, "updated": 0, "deleted": 0, "unchanged": 0}
    assert report["seen"] == report["ingested"] == 2
    again = json_of("ingest", "docs", cwd=home)
    assert (again["unchanged"], again["embedded"]) == (2, 0)
    assert again["chunks"] == {"created": 0, "updated": 0, "deleted": 0, "unchanged": 3}


def test_the_report_counts_hidden_and_vendored_folders(home: Path) -> None:
    for folder in (".github", "node_modules"):
        (home / "docs" / folder).mkdir()
    shown = citewise("ingest", "docs", cwd=home).stdout
    assert "2 seen: 2 ingested, 0 unchanged, 0 skipped" in shown
    assert "2 left out, hidden or vendored (add them with --include)" in shown
    report = json_of("ingest", "docs", cwd=home)
    assert report["folders_left_out"] == 2
    assert {"path": "node_modules/", "reason": "vendored folder (add it with --include)"} in report["skipped"]


def test_status_tells_about_the_library(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    status = json_of("status", cwd=home)
    assert (status["documents"], status["chunks"], status["problems"]) == (2, 3, [])
    assert status["embedding_model"]["dimensions"] == 384
    assert status["last_ingest"]["seen"] == 2
    assert {"engines", "sizes", "log_position"} <= status.keys()


def test_people_get_a_readable_report(home: Path) -> None:
    done = citewise("ingest", "docs", "--verbose", cwd=home)
    assert "2 seen: 2 ingested" in done.stdout
    assert "ingested intro.md (2 chunks)" in done.stderr
    as_json = citewise("ingest", "docs", "--json", "--verbose", cwd=home)
    assert json.loads(as_json.stdout)["unchanged"] == 2  # and nothing else is on stdout
    assert "unchanged intro.md" in as_json.stderr
    assert "3 chunks" in citewise("status", cwd=home).stdout
    assert "ok" in citewise("doctor", cwd=home).stdout


def test_the_library_can_be_named_by_flag_and_by_variable(home: Path) -> None:
    json_of("ingest", "docs", "--library", "here", cwd=home)
    assert json_of("status", cwd=home, env={"CITEWISE_LIBRARY": "here"})["documents"] == 2
    assert "no library" in error_of("status", cwd=home, code=2)


def test_scopes_are_kept_apart(home: Path) -> None:
    json_of("ingest", "docs", "--tenant", "acme", "--project", "a", cwd=home)
    json_of("ingest", "docs/intro.md", "--tenant", "rival", cwd=home)
    scopes = {(each["tenant"], each["project"]): each["documents"] for each in json_of("status", cwd=home)["scopes"]}
    assert scopes == {("acme", "a"): 2, ("rival", "default"): 1}


def test_owner_and_group_alone_mean_who_runs_the_command(home: Path) -> None:
    flags = ("--user", "ann", "--group", "ops", "--group", "dev", "--access", "owner", "--access", "group")
    json_of("ingest", "docs", *flags, cwd=home)
    with closing(sqlite3.connect(home / ".citewise" / "gen-1" / "catalog.db")) as connection:
        rules = {rule for (rule,) in connection.execute("SELECT access FROM documents")}
    assert rules == {",group:dev,group:ops,owner:ann,"}
    assert "access rule" in error_of("ingest", "docs", "--access", "owner", cwd=home, code=2)


def test_reindex_rebuilds_without_embedding(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    made = json_of("reindex", cwd=home)
    assert made == {"reembedded": False, "chunks": 3, "embedded": 0}
    assert json_of("status", cwd=home)["problems"] == []


def test_another_chunk_size_is_refused_until_reindex_makes_the_library_anew(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    (home / "citewise.toml").write_text(
        "[chunks]\ntarget_tokens = 60\nfloor_tokens = 10\nceiling_tokens = 80\noverlap_tokens = 20\n"
    )
    message = error_of("ingest", "docs", cwd=home, code=3)
    assert "citewise reindex" in message
    assert "citewise reindex" in json_of("status", cwd=home)["problems"][0]
    made = json_of("reindex", cwd=home)
    assert made["reembedded"] is True
    assert json_of("ingest", "docs", cwd=home)["unchanged"] == 2
    assert [entry.name for entry in sorted((home / ".citewise").glob("gen-*"))] == ["gen-2"]


def test_the_demo_is_ready_in_one_command(tmp_path: Path) -> None:
    done = citewise("demo", "--library", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 failed" in done.stdout
    assert "citewise status --library demo" in done.stdout
    assert json_of("status", "--library", "demo", cwd=tmp_path)["documents"] >= 12
    by_module = citewise("demo", "--library", "demo", cwd=tmp_path, command=MODULE)
    assert "  citewise status --library demo" in by_module.stdout


def test_watching_takes_up_changes_until_it_is_interrupted(home: Path) -> None:
    with watching(home, "docs") as watcher:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        assert json.loads(watcher.stdout.readline())["ingested"] == 2
        assert "watching" in watcher.stderr.readline()
        (home / "docs" / "new.md").write_text("# New\n\nJust written.\n")
        (home / "docs" / "intro.md").unlink()
        report = json.loads(watcher.stdout.readline())
        while report["removed"] == 0:  # the two changes may come one by one
            report = json.loads(watcher.stdout.readline())
        assert json_of("status", cwd=home)["documents"] == 2
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(20) == 130
        assert (
            watcher.stderr.read().strip().startswith("citewise: stopped; all changes until now are stored or will be")
        )


def test_an_emptied_folder_is_kept_and_named_until_prune_is_said(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    shutil.rmtree(home / "docs")
    (home / "docs").mkdir()
    done = citewise("ingest", "docs", cwd=home)
    assert done.returncode == 1
    assert "2 of 2 documents of" in done.stderr
    assert "0 removed, 2 gone and kept" in done.stdout
    report = json_of("ingest", "docs", cwd=home, code=1)
    assert (report["removed"], report["kept"]) == (0, 2)
    report = json_of("ingest", "docs", "--prune", cwd=home)
    assert (report["removed"], report["kept"]) == (2, 0)


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, 2), ("y", 0, 0)])
def test_on_a_terminal_an_emptied_folder_is_a_question(home: Path, answer: str, code: int, left: int) -> None:
    json_of("ingest", "docs", cwd=home)
    shutil.rmtree(home / "docs")
    (home / "docs").mkdir()
    ours, theirs = os.openpty()
    os.write(ours, f"{answer}\n".encode())
    with subprocess.Popen([COMMAND, "ingest", "docs"], cwd=home, stdin=theirs, stderr=theirs) as asking:
        os.close(theirs)
        shown = terminal_text(ours)
    assert asking.returncode == code
    assert "2 of 2 documents" in shown
    assert "Remove them? [y/N]" in shown
    assert json_of("status", cwd=home)["documents"] == left


def test_a_program_that_reads_json_is_asked_nothing(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    shutil.rmtree(home / "docs")
    (home / "docs").mkdir()
    ours, theirs = os.openpty()
    command = [COMMAND, "ingest", "docs", "--json"]
    with subprocess.Popen(command, cwd=home, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE) as asking:
        os.close(theirs)
        shown = terminal_text(ours)
        assert asking.stdout is not None
        assert json.loads(asking.stdout.read())["kept"] == 2
    assert asking.returncode == 1
    assert "Remove them?" not in shown


def terminal_text(terminal: int) -> str:
    """All that is written to a terminal until the last process leaves it."""
    text = b""
    with suppress(OSError):  # how Linux says that nobody is there any more
        while part := os.read(terminal, 4096):
            text += part
    os.close(terminal)
    return text.decode()


def test_a_watch_keeps_what_an_emptied_folder_had(home: Path) -> None:
    with watching(home, "docs") as watcher:
        next_report(watcher, "ingested")
        for page in (*(home / "docs").rglob("*.md"),):
            page.unlink()
        assert next_report(watcher, "kept") > 0
        assert json_of("status", cwd=home)["documents"] > 0


@contextmanager
def watching(home: Path, *paths: str) -> Iterator[subprocess.Popen[str]]:
    """`citewise ingest … --watch`, stopped at the end however the test went."""
    watcher = subprocess.Popen(
        [COMMAND, "ingest", *paths, "--watch", "--json"],
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever started the tests in the background made them, and all they start, deaf to interrupts.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield watcher
    finally:
        watcher.kill()
        watcher.communicate()


def next_report(watcher: subprocess.Popen[str], key: str) -> int:
    """Read reports until one counts something under this key."""
    assert watcher.stdout is not None
    while not (count := json.loads(watcher.stdout.readline())[key]):
        pass
    return int(count)


def test_a_watch_outlives_replaced_files_and_folders(home: Path) -> None:
    with watching(home, "docs/intro.md", "docs/module-1") as watcher:
        next_report(watcher, "ingested")
        for n in range(2):  # as editors save: a new file takes the place of the old one
            (home / "new.tmp").write_text(f"# Saved\n\nNumber {n}.\n")
            (home / "new.tmp").rename(home / "docs" / "intro.md")
            assert next_report(watcher, "ingested") == 1
        (home / "docs" / "new").mkdir()  # before the old one is gone: another folder, whatever the file system reuses
        (home / "docs" / "new" / "back.md").write_text("# Back\n\nAgain.\n")
        shutil.rmtree(home / "docs" / "module-1")
        (home / "docs" / "new").rename(home / "docs" / "module-1")
        assert next_report(watcher, "ingested") == 1
        (home / "docs" / "module-1" / "more.md").write_text("# More\n\nAnd again.\n")
        assert next_report(watcher, "ingested") == 1


def test_a_watch_waits_for_another_writer(home: Path) -> None:
    json_of("ingest", "docs", cwd=home)
    with watching(home, "docs") as watcher:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        watcher.stdout.readline()
        assert "watching" in watcher.stderr.readline()
        with (home / ".citewise" / "write.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (home / "docs" / "new.md").write_text("# New\n\nJust written.\n")
            assert "trying again" in watcher.stderr.readline()
        assert json.loads(watcher.stdout.readline())["ingested"] == 1


def test_the_command_explains_itself(home: Path) -> None:
    assert "ingest" in citewise("--help", cwd=home).stdout
    assert citewise("--version", cwd=home).stdout.startswith("citewise ")
    assert citewise("nonsense", cwd=home).returncode == 2
    assert os.listdir(home) == ["docs"]


def test_the_module_runs_as_the_command_does(tmp_path: Path) -> None:
    words = ("status", "--library", "nowhere")
    script, module = citewise(*words, cwd=tmp_path), citewise(*words, cwd=tmp_path, command=MODULE)
    assert (module.returncode, module.stdout, module.stderr) == (script.returncode, script.stdout, script.stderr)
    assert module.returncode == 2
    assert "nowhere" in module.stderr
    shown = citewise("--help", cwd=tmp_path, command=MODULE)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "ingest" in shown.stdout
