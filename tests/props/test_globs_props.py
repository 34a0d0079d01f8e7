"""Random patterns over random paths: ours and git's opinion."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from citewise.text.globs import Globs

ALPHABET = [
    *"aab/*?",
    "**",
    "/**/",
    "**/",
    "/",
    "a",
    "b",
    "[ab]",
    "[!a]",
    "[a-b]",
    "[[:alpha:]]",
    "[",
    "]",
    "-",
    "\\",
    " ",
]
PARTS = ["a", "b", "ab", "aab", "b-", "]", "a b", "[", "-"]


def a_line(rng: random.Random) -> str:
    line = "".join(rng.choices(ALPHABET, k=rng.randint(1, 7)))
    return rng.choice(["", "", "", "!", "/"]) + line + rng.choice(["", "", "", "/", " ", "\r", "**"])


def a_path(rng: random.Random) -> str:
    return "/".join(rng.choices(PARTS, k=rng.randint(1, 4)))


def is_ignored(rules: Globs, path: str, folders: set[str]) -> bool:
    """As git decides: what is in an ignored folder is ignored, and nothing in it is kept."""
    parts = path.split("/")
    places = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    verdicts = (rules.verdict(place, is_folder=place != path or place in folders) for place in places)
    return any(rule is not None and not rule.keeps for rule in verdicts)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_random_patterns_are_read_as_git_reads_them(tmp_path: Path) -> None:
    seed = int(os.environ.get("CITEWISE_SEED", random.randrange(10**9)))
    rng = random.Random(seed)
    cases = {f"case{number}": [a_line(rng) for _ in range(rng.randint(1, 3))] for number in range(400)}
    folders = {a_path(rng) for _ in range(8)}
    folders = {"/".join(path.split("/")[:depth]) for path in folders for depth in range(1, 5)}
    paths = sorted({*folders, *(a_path(rng) for _ in range(40))})
    for case, lines in cases.items():
        for folder in folders:
            (tmp_path / case / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / case / ".gitignore").write_bytes("\n".join(lines).encode())
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    git = ["git", "-C", str(tmp_path), "-c", "core.excludesFile=", "-c", "core.ignoreCase=false"]
    subprocess.run([*git, "init", "-q"], check=True, env=plain)
    asked = "\0".join(f"{case}/{path}" for case in cases for path in paths)
    told = subprocess.run(
        [*git, "check-ignore", "--no-index", "--stdin", "-z"], input=asked.encode(), capture_output=True, env=plain
    )
    ignored = set(told.stdout.decode().split("\0"))
    assert told.returncode == 0, told.stderr
    for case, lines in cases.items():
        rules = Globs.of(lines)
        for path in paths:
            ours = is_ignored(rules, path, folders)
            assert ours == (f"{case}/{path}" in ignored), f"{lines} {path!r} folder={path in folders} seed={seed}"
