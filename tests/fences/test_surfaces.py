"""Every way to look into a library is asked by the leak suite, or is exempt for a reason that somebody wrote down."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from citewise import Library, Settings
from citewise.api import QueryOptions
from citewise.cli.main import app
from citewise.evaluation.leak_commands import Desk, eval_words_of, log_words_of, words_of
from citewise.evaluation.leak_surfaces import EXEMPT, EXEMPT_OPTIONS, SURFACES, options_of
from citewise.evaluation.leak_world import Who
from citewise.evaluation.leaks import Asking, Filter

ASKING = Asking(Who("ann", frozenset({"ops"})), ("acme", "book"), "What?", (Filter("tags", "=", "sea"),))


def methods() -> set[str]:
    named = inspect.getmembers(Library, lambda member: callable(member) or isinstance(member, property))
    return {f"Library.{name}" for name, _ in named if not name.startswith("_")}


def commands(command: Any = None, name: str = "citewise") -> Iterator[tuple[str, Any]]:
    """Every command that can be run, down to the last group's. Not typed: click's types move with typer's version."""
    chosen = command or typer.main.get_command(app)
    if not isinstance(chosen, TyperGroup):
        yield name, chosen
        return
    for word, inner in chosen.commands.items():
        yield from commands(inner, f"{name} {word}")


def is_exempt(name: str) -> bool:
    return any(name == one or name.startswith(f"{one} ") for one in EXEMPT)


def test_every_public_method_and_command_is_asked_or_exempt() -> None:
    asked = {one.covers for one in SURFACES}
    there = methods() | {name for name, _ in commands()}
    assert {name for name in there if name not in asked and not is_exempt(name)} == set()


def test_what_is_asked_exists() -> None:
    there = methods() | {name for name, _ in commands()}
    assert {one.covers for one in SURFACES} <= there
    assert len({one.name for one in SURFACES}) == len(SURFACES)


def test_an_exemption_has_a_reason_and_something_to_exempt() -> None:
    there = methods() | {name for name, _ in commands()}
    for exempt, reason in EXEMPT.items():
        assert len(reason.split()) > 1
        assert any(name == exempt or name.startswith(f"{exempt} ") for name in there), exempt
    assert not {one.covers for one in SURFACES} & EXEMPT.keys()


def test_what_asks_who_you_are_is_not_exempt() -> None:
    """A command that takes a name answers to it. To `ingest` a name is only how a rule is spelled."""
    for name, command in commands():
        if is_exempt(name) and name != "citewise ingest":
            assert not {"user", "group"} & {one.name for one in command.params}, name


def test_every_option_of_a_command_that_is_asked_is_said() -> None:
    flags = ("--explain", "--json", "--selection-file", "--source-document", "--source-section")
    desk = Desk(Library(Path("nowhere")), Settings())
    said = {*words_of(desk, "search", ASKING, *flags), *EXEMPT_OPTIONS}
    said |= {
        *eval_words_of(desk, ASKING),
        *log_words_of(desk, "stats", ASKING, "--plot"),
    }
    asked = {one.covers for one in SURFACES}
    options = {
        option
        for name, command in commands()
        if name in asked
        for one in command.params
        if isinstance(one, TyperOption)
        for option in one.opts
    }
    assert options == {word for word in said if word.startswith("--")}


def test_every_option_of_a_question_is_said() -> None:
    assert options_of(ASKING).keys() == QueryOptions.__annotations__.keys()
