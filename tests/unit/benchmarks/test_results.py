"""What benchmark programs write can be read again, and says nothing of whose machine it was."""

import json
import platform
import subprocess
from pathlib import Path

import pytest
from benchmarks.results import Results, Table, commit_now, read_results, results_now, this_machine, write_results

from citewise.errors import BadData, BadRequest
from tests.unit.benchmarks.samples import sample


def test_what_was_written_is_read(tmp_path: Path) -> None:
    results = sample()
    assert read_results(write_results(results, tmp_path)) == results


def test_the_file_has_the_keys_that_the_page_is_promised(tmp_path: Path) -> None:
    found = json.loads(write_results(sample(), tmp_path).read_text())
    assert {"name", "commit", "made_at", "machine", "tables"} <= set(found)
    assert {"title", "note", "columns", "rows", "wanted"} <= set(found["tables"][0])


def test_the_machine_is_described_without_its_name() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.memory_gb > 0
    assert machine.cpu
    assert platform.node() not in str(machine).split()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("name", None, "Input should be a valid string"),
        ("name", "other", "rename"),
        ("name", "../up", "no name for results"),
        ("machine", {}, r"cores\n  Field required"),
        ("tables", {}, "valid array"),
        ("tables", [{"title": "t", "columns": ["a"], "rows": [[1, 2]]}], "2 cells for 1 columns"),
    ],
)
def test_a_file_that_is_not_right_is_refused_with_what_is_wrong(
    tmp_path: Path, key: str, value: object, said: str
) -> None:
    path = write_results(sample(), tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(BadData, match=said):
        read_results(path)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(BadData, match=r"broken\.json"):
        read_results(path)


def test_a_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(BadRequest, match="inf"):
        Table("t", ("a",), ((float("inf"),),))


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_the_commit_says_whether_the_code_differs_from_it(tmp_path: Path) -> None:
    assert commit_now(tmp_path) == "unknown"
    git(tmp_path, "init")
    (tmp_path / "code.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    clean = commit_now(tmp_path)
    assert len(clean) == 12
    write_results(sample(), tmp_path / "benchmarks" / "results")
    assert commit_now(tmp_path) == clean  # results of the program before are no change of the code
    (tmp_path / "code.py").write_text("2")
    assert commit_now(tmp_path) == f"{clean}+changes"


def test_results_of_now_are_of_this_machine() -> None:
    made = results_now("speed", tables=[Table("t", ("a",), ((1,),))])
    assert isinstance(made, Results)
    assert made.machine == this_machine()
    assert made.made_at.endswith("Z")
