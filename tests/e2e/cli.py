"""Running the installed command as a person or a program would."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("citewise"))
MODULE = (sys.executable, "-m", "citewise")


def written(home: Path, pages: Mapping[str, str]) -> Path:
    """The same folder with these files in it."""
    for path, text in pages.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    return home


def citewise(
    *words: str | Path, cwd: Path, env: dict[str, str] | None = None, command: Sequence[str] = (COMMAND,)
) -> subprocess.CompletedProcess[str]:
    """One run of the command."""
    return subprocess.run(
        [*command, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def json_of(*words: str | Path, cwd: Path, code: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
    """What a run with --json prints; its exit code must be the one expected."""
    done = citewise(*words, "--json", cwd=cwd, env=env)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def error_of(*words: str | Path, cwd: Path, code: int, env: dict[str, str] | None = None) -> str:
    """The message of a run that must fail with this code: one line, no stack trace, nothing on stdout."""
    done = citewise(*words, cwd=cwd, env=env)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


def answering_at(url: str) -> dict[str, str]:
    """The settings of a generator behind this address, as variables."""
    return {
        "CITEWISE_ANSWER__GENERATOR": "openai",
        "CITEWISE_ANSWER__MODEL": "tiny-chat",
        "CITEWISE_ANSWER__BASE_URL": url,
    }


def reranking_at(url: str) -> dict[str, str]:
    return {"CITEWISE_RERANK__PROVIDER": "http", "CITEWISE_RERANK__BASE_URL": url}


def embedding_at(url: str) -> dict[str, str]:
    return {
        "CITEWISE_EMBEDDING__PROVIDER": "openai",
        "CITEWISE_EMBEDDING__MODEL": "m",
        "CITEWISE_EMBEDDING__DIMENSIONS": "8",
        "CITEWISE_EMBEDDING__BASE_URL": url,
    }
