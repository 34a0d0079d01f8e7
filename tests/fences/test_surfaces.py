"""Every method and command that reads a library is asked by the leak suite, or is exempt with a reason."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from citewise import Library, LibraryView, Settings
from citewise.api import QueryOptions
from citewise.cli.main import app
from citewise.model.access import Scope
from tests.leaks.judge import Filter, Request
from tests.leaks.surfaces import (
    EXEMPT,
    EXEMPT_OPTIONS,
    SURFACES,
    OpenedLibrary,
    options_of,
    question_flags,
    words_of,
)
from tests.leaks.world import Reader

REQUEST = Request(Reader("ann", frozenset({"ops"})), Scope("acme", "book"), "What?", (Filter("tags", "=", "sea"),))
FLAGS = (  # that surfaces add to the words of a request
    *("--explain", "--json", "--selection-file", "--source-document", "--source-section"),
    *("--since", "--plot", "--report"),
)


def methods() -> set[str]:
    return {
        f"{kind.__name__}.{name}"
        for kind in (Library, LibraryView)
        for name, _ in inspect.getmembers(kind, lambda member: callable(member) or isinstance(member, property))
        if not name.startswith("_")
    }


def commands(command: click.Command = app, name: str = "citewise") -> Iterator[tuple[str, click.Command]]:
    """Every command that can be run, down to the last group's."""
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield name, command
    if isinstance(command, click.Group):
        for word, inner in command.commands.items():
            yield from commands(inner, f"{name} {word}")


def is_exempt(name: str) -> bool:
    return any(name == exempt or name.startswith(f"{exempt} ") for exempt in EXEMPT)


def test_every_public_method_and_command_is_asked_or_exempt() -> None:
    asked = {surface.covers for surface in SURFACES}
    there = methods() | {name for name, _ in commands()}
    assert {name for name in there if name not in asked and not is_exempt(name)} == set()


def test_what_is_asked_exists() -> None:
    there = methods() | {name for name, _ in commands()}
    assert {surface.covers for surface in SURFACES} <= there
    assert len({surface.name for surface in SURFACES}) == len(SURFACES)


def test_an_exemption_has_a_reason_and_something_to_exempt() -> None:
    there = methods() | {name for name, _ in commands()}
    for exempt, reason in EXEMPT.items():
        assert len(reason.split()) > 1
        assert any(name == exempt or name.startswith(f"{exempt} ") for name in there), exempt
    assert not {surface.covers for surface in SURFACES} & EXEMPT.keys()


def test_what_asks_who_you_are_is_not_exempt() -> None:
    """A command that takes a name answers to it. To `ingest` a name is only how a rule is spelled."""
    for name, command in commands():
        if is_exempt(name) and name != "citewise ingest":
            assert not {"user", "groups"} & {param.name for param in command.params}, name


def test_every_option_of_a_command_that_is_asked_is_said() -> None:
    opened = OpenedLibrary(Library(Path("nowhere")), Settings())
    said = {*words_of(opened, "search", REQUEST, *FLAGS), *question_flags(REQUEST), *EXEMPT_OPTIONS}
    asked = {surface.covers for surface in SURFACES}
    options = {
        option
        for name, command in commands()
        if name in asked
        for param in command.params
        if isinstance(param, click.Option)
        for option in param.opts
    }
    assert options == {word for word in said if word.startswith("--")}


def test_every_option_of_a_question_is_said() -> None:
    assert options_of(REQUEST).keys() == QueryOptions.__annotations__.keys()
