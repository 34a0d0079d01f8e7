"""Rules that people give with `citewise ingest --access`, what becomes of them, and `citewise access`."""

import shutil
from pathlib import Path

import pytest

from tests.e2e.cli import citewise, error_of, json_of, written

SALARIES = "# Salaries\n\nThe salary of the harbor master is a secret.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return written(tmp_path, {"s/hr/salaries.md": SALARIES, "s/open.md": "# Open\n\nThe gate opens at noon.\n"})


def seen_by_zed(home: Path) -> set[str]:
    found = json_of("search", "salary", "--user", "zed", cwd=home)
    return {hit["document"] for hit in found["hits"]}


def test_the_command_that_the_warning_advises_keeps_the_rule(home: Path) -> None:
    citewise("ingest", "s/hr", "--access", "group:hr", cwd=home)
    shutil.move(home / "s/hr", home / "people")
    advised = citewise("ingest", "people", "--name", ".", cwd=home)
    assert advised.returncode == 0, advised.stderr
    assert seen_by_zed(home) == set()
    assert json_of("access", "salaries.md", cwd=home)["access"] == ["group:hr"]


def test_a_page_that_stays_closed_is_named_and_explained(home: Path) -> None:
    citewise("ingest", "s", cwd=home)
    citewise("ingest", "s/hr", "--access", "group:hr", cwd=home)
    shutil.move(home / "s/hr", home / "s/people")
    done = citewise("ingest", "s", cwd=home)
    line = "people/salaries.md: for group:hr, not project: moved here from hr, which was for group:hr"
    assert line in done.stdout
    assert done.returncode == 0
    explained = citewise("access", "people/salaries.md", cwd=home).stdout
    assert "readable by  group:hr" in explained
    assert f"citewise ingest {home}/s/people/salaries.md --access RULE --widen" in explained
    assert seen_by_zed(home) == {"open.md"}
    widened = json_of("ingest", "s/people", "--access", "project", "--widen", cwd=home)
    assert widened["access"] == []
    assert "people/salaries.md" in seen_by_zed(home)


def test_a_tightening_reaches_a_page_that_became_binary(home: Path) -> None:
    citewise("ingest", "s", cwd=home)
    (home / "s/hr/salaries.md").write_bytes(b"a\0b")
    report = json_of("ingest", "s", "--access", "group:hr", cwd=home)
    assert len(report["skipped"]) == 1
    assert seen_by_zed(home) == set()


def test_a_tightening_that_does_not_reach_a_page_fails(home: Path) -> None:
    citewise("ingest", "s", cwd=home)
    catalog = home / ".citewise" / "gen-1" / "catalog.db"
    data = catalog.read_bytes()
    assert b"a secret" in data
    catalog.write_bytes(data.replace(b"a secret", b"no secret"[:8]))  # it cannot be verified, so not rewritten
    (home / "s/hr/salaries.md").write_bytes(b"a\0b")
    report = json_of("ingest", "s", "--access", "group:hr", cwd=home, code=1)
    assert [note["path"] for note in report["access"] if not note["is_reached"]] == ["hr/salaries.md"]


def test_what_is_no_document_and_widening_nothing_are_refused(home: Path) -> None:
    citewise("ingest", "s", cwd=home)
    assert "there is no document nope.md" in error_of("access", "nope.md", cwd=home, code=2)
    assert "--access RULE --widen" in error_of("ingest", "s", "--widen", cwd=home, code=2)
