"""The public names are those in `citewise.__all__`, and they are enough to annotate every call of the API."""

import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import citewise
from citewise import Library, LibraryView, QueryOptions, SourceOptions
from tests.fences.processes import modules_after


def classes_in(annotation: Any) -> Iterator[type]:
    """The classes of citewise that an annotation names, however deep."""
    if isinstance(annotation, type) and annotation.__module__.startswith("citewise."):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from classes_in(inner)


def signatures() -> Iterator[tuple[str, Any]]:
    """Every annotation of a public method, with the names that are imported for a type checker alone."""
    names = {name: getattr(citewise, name) for name in citewise.__all__}
    for kind in (Library, LibraryView):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") or name == "__init__":
                hints = typing.get_type_hints(method, localns=names)
                yield from ((f"{kind.__name__}.{name}", hint) for hint in hints.values())
    for options in (QueryOptions, SourceOptions):
        yield from ((options.__name__, hint) for hint in typing.get_type_hints(options).values())


def test_every_type_in_a_public_signature_is_public() -> None:
    private = {
        f"{kind.__module__}.{kind.__name__} ({where})"
        for where, hint in signatures()
        for kind in classes_in(hint)
        if getattr(citewise, kind.__name__, None) is not kind
    }
    assert not private


def test_dir_shows_the_public_names_and_no_others() -> None:
    assert {name for name in dir(citewise) if not name.startswith("__")} == set(citewise.__all__)
    assert len(citewise.__all__) == len(set(citewise.__all__))


def test_every_public_name_can_be_imported_and_checked() -> None:
    """The stub is what type checkers read, so all of it has to be a public name."""
    stub = Path(citewise.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert sorted(re.findall(r"import (\w+) as \1$", stub, re.MULTILINE)) == citewise.__all__
    for name in citewise.__all__:
        assert getattr(citewise, name).__name__ == name


@pytest.mark.parametrize("kind", [Library, LibraryView])
def test_every_public_method_is_documented(kind: type) -> None:
    undocumented = [
        name
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if (not name.startswith("_") or name == "__init__") and not inspect.getdoc(method)
    ]
    assert not undocumented


def test_importing_citewise_imports_nothing_of_it() -> None:
    assert [name for name in modules_after("import citewise") if name.startswith("citewise.")] == []
