"""citewise: ask your own documents, and get answers that point at their sources.

Public names are resolved on first use: Python runs this file before any submodule, so an eager import here would
pull a store into every one of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewise.entry.api import Library as Library
    from citewise.model.scope import Scope as Scope
    from citewise.settings import Settings as Settings

__all__ = ["Library", "Scope", "Settings"]

_HOMES = {"Library": "citewise.entry.api", "Scope": "citewise.model.scope", "Settings": "citewise.settings"}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("citewise")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'citewise' has no attribute {name!r}")
