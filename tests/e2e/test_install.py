"""`pip install .` and a built wheel put the same files into a clean environment, and they work there."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CITEWISE_"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def pip(python: Path, *words: str | Path, cwd: Path) -> str:
    return run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words, cwd=cwd)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def installed_files(python: Path, cwd: Path) -> set[str]:
    code = (
        "import json; from importlib.metadata import files; "
        "print(json.dumps([str(f) for f in files('citewise') if str(f).startswith('citewise/')]))"
    )
    return {name for name in json.loads(run(python, "-c", code, cwd=cwd)) if "__pycache__" not in name}


def test_a_wheel_and_the_source_install_alike_and_run_the_demo(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "clean", cwd=tmp_path)
    python = tmp_path / "clean" / "bin" / "python"
    pip(python, "install", "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)
    from_wheel = installed_files(python, tmp_path)
    report = json.loads(run(python.with_name("citewise"), "demo", "--json", cwd=tmp_path))
    assert report["failed"] == []
    assert report["ingested"] >= 12
    assert json.loads(run(python.with_name("citewise"), "doctor", "--library", ".demo", "--json", cwd=tmp_path))["ok"]
    pip(python, "install", "--no-deps", "--force-reinstall", ROOT, cwd=tmp_path)
    assert installed_files(python, tmp_path) == from_wheel
    again = json.loads(run(python.with_name("citewise"), "demo", "--json", cwd=tmp_path))
    assert again["embedded"] == 0


def test_the_wheel_carries_its_data_and_licenses(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "citewise/data/bert-uncased-vocab.txt" in names
    assert "citewise/data/minilm.onnx" in names
    assert "citewise/py.typed" in names
    assert sum(name.startswith("citewise/data/handbook/") for name in names) >= 12
    assert {name.rpartition("/")[2] for name in names} >= {"LICENSE", "NOTICE"}
    assert not any(name.startswith("tests/") for name in names)
