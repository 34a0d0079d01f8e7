"""citewise: ask your own documents, and get answers that point at their sources.

Public names are resolved on first use: Python runs this file before any submodule, so an eager import here would
pull a store into every one of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewise.entry.api import Library as Library
    from citewise.model.answer import Answer as Answer
    from citewise.model.answer import Cited as Cited
    from citewise.model.answer import Done as Done
    from citewise.model.answer import Token as Token
    from citewise.model.context import Message as Message
    from citewise.model.context import Role as Role
    from citewise.model.errors import BadData as BadData
    from citewise.model.errors import BadRequest as BadRequest
    from citewise.model.errors import CitewiseError as CitewiseError
    from citewise.model.errors import Misconfigured as Misconfigured
    from citewise.model.errors import Unavailable as Unavailable
    from citewise.model.result import SearchResult as SearchResult
    from citewise.model.scope import Principal as Principal
    from citewise.model.scope import Scope as Scope
    from citewise.model.selection import Selection as Selection
    from citewise.settings import Settings as Settings

_HOMES = {
    "Answer": "citewise.model.answer",
    "BadData": "citewise.model.errors",
    "BadRequest": "citewise.model.errors",
    "Cited": "citewise.model.answer",
    "CitewiseError": "citewise.model.errors",
    "Done": "citewise.model.answer",
    "Library": "citewise.entry.api",
    "Message": "citewise.model.context",
    "Misconfigured": "citewise.model.errors",
    "Principal": "citewise.model.scope",
    "Role": "citewise.model.context",
    "Scope": "citewise.model.scope",
    "SearchResult": "citewise.model.result",
    "Selection": "citewise.model.selection",
    "Settings": "citewise.settings",
    "Token": "citewise.model.answer",
    "Unavailable": "citewise.model.errors",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("citewise")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'citewise' has no attribute {name!r}")
