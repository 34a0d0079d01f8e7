"""citewise: ask your own documents, and get answers that cite their sources.

The public names are listed once, in `__init__.pyi`, for type checkers and for this file. They are resolved on first
use: Python runs this file before any submodule, so an eager import here would pull a store into every one of them.
"""


def _modules() -> dict[str, str]:
    """The module of each public name: a line of the stub is `from MODULE import NAME as NAME`."""
    with open(f"{__file__}i", encoding="utf-8") as stub:
        imports = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in imports}


_MODULES = _modules()

__all__ = sorted(_MODULES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("citewise")
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'citewise' has no attribute {name!r}")
