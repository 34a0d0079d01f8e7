"""Documents say what is true: settings, commands and links."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from citewise.cli.main import app
from citewise.settings import Settings
from tests.fences.processes import ROOT, printed_by

TABLES = {"path_rules": "model/document.py", "boosts": "model/query.py"}  # defaults too long for a cell
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])


def settings_rows(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    for each in fields(value):
        inner = getattr(value, each.name)
        if is_dataclass(inner):
            yield from settings_rows(inner, f"{prefix}{each.name}.")
        elif each.name in TABLES:
            yield f"{prefix}{each.name}", f"see `{TABLES[each.name]}`"
        elif each.name == "cache":
            yield f"{prefix}{each.name}", "`citewise` in the user's cache folder"
        else:
            yield f"{prefix}{each.name}", f"`{inner!s}`" if inner not in ("", (), {}) else "empty"


def comments() -> dict[str, str]:
    """What settings.py says beside each setting; the same name may stand in several sections."""
    source = (ROOT / "src/citewise/settings.py").read_text()
    lines = source.splitlines()
    prefixes = {"Settings": "", **{type(inner).__name__: f"{name}." for name, inner in sections()}}
    return {
        f"{prefixes[each.name]}{ast.unparse(line.target)}": lines[(line.end_lineno or 1) - 1].partition("  # ")[2]
        for each in ast.parse(source).body
        if isinstance(each, ast.ClassDef) and each.name in prefixes
        for line in each.body
        if isinstance(line, ast.AnnAssign)
    }


def sections() -> Iterator[tuple[str, Any]]:
    settings = Settings()
    for each in fields(settings):
        inner = getattr(settings, each.name)
        if is_dataclass(inner):
            yield each.name, inner


def settings_table() -> str:
    remarks = comments()
    rows = [f"| `{name}` | {default} | {remarks[name]} |" for name, default in settings_rows(Settings())]
    return "\n".join(["| setting | default | |", "| --- | --- | --- |", *rows])


def test_every_setting_is_documented() -> None:
    page = ROOT / "docs" / "configuration.md"
    text = page.read_text()
    fresh = re.sub(
        r"(<!-- settings:[^>]*-->\n).*?(<!-- /settings -->)",
        lambda match: f"{match[1]}{settings_table()}\n{match[2]}",
        text,
        flags=re.DOTALL,
    )
    if os.environ.get("CITEWISE_WRITE_DOCS"):
        page.write_text(fresh)
    assert page.read_text() == fresh


def commands_below(command: click.Command, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of a command, then of each below it."""
    yield words
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands_below(command.commands[name], *words, name)


def test_the_help_of_every_command_is_documented() -> None:
    page = ROOT / "docs" / "commands.md"
    fresh = "# Commands\n\nGenerated from `--help` by tests/fences/test_docs.py (CITEWISE_WRITE_DOCS=1 renews it).\n"
    for words in commands_below(app):
        printed = printed_by(Path(sys.executable).with_name("citewise"), *words, "--help", COLUMNS="100")
        fresh += f"\n## {' '.join(['citewise', *words])}\n\n```text\n{printed.strip()}\n```\n"
    if os.environ.get("CITEWISE_WRITE_DOCS"):
        page.write_text(fresh)
    assert page.read_text() == fresh


def test_the_code_in_the_readme_gives_a_cited_answer(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len([line for line in blocks[0].splitlines() if line.strip()]) == 5
    (tmp_path / "website" / "docs").mkdir(parents=True)
    (tmp_path / "website" / "docs" / "tides.md").write_text(
        "# Tides\n\n## Readings\n\nThe tide gauge is read at noon.\n"
    )
    lines = printed_by(sys.executable, "-c", "\n".join(blocks), cwd=tmp_path).splitlines()
    assert lines[:3] == ["**Tides \u203a Readings** [1]  ", "The tide gauge is read at noon.", "[1] tides.md"]
    assert [line.split()[0] for line in lines[3:]] == ["tides.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_make_words_in_the_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for word in re.findall(r"`make ([a-z-]+)", page.read_text()):
            assert word in targets, (page.name, word)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_that_the_documents_name_exists(page: Path) -> None:
    """Such as `search/pipeline.py`, or `search/pipeline.py:Search` for what that file defines."""
    for name, symbol in re.findall(r"`([\w/]+\.py)(?::(\w+))?`", page.read_text()):
        found = [path for path in code_files(name) if path.is_file()]
        assert found, name
        defined = rf"^ *(?:def|class) {symbol}\b|^{symbol}\b.* = "
        assert not symbol or re.search(defined, found[0].read_text(), re.MULTILINE), f"{name}:{symbol}"


def code_files(name: str) -> list[Path]:
    """A file named from the root or from the package; a test by its name alone."""
    return [ROOT / name, ROOT / "src" / "citewise" / name, *(ROOT / "tests").rglob(name)]
