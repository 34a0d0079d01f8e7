"""citewise: ask your own documents, and get answers that point at their sources.

Public names are resolved on first use: Python runs this file before any submodule, so an eager import here would
pull a store into every one of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewise.api import Library as Library
    from citewise.errors import BadData as BadData
    from citewise.errors import BadRequest as BadRequest
    from citewise.errors import CitewiseError as CitewiseError
    from citewise.errors import Misconfigured as Misconfigured
    from citewise.errors import Unavailable as Unavailable
    from citewise.model.access import Principal as Principal
    from citewise.model.access import Scope as Scope
    from citewise.model.answer import Answer as Answer
    from citewise.model.answer import Cited as Cited
    from citewise.model.answer import Done as Done
    from citewise.model.answer import Message as Message
    from citewise.model.answer import Role as Role
    from citewise.model.answer import Token as Token
    from citewise.model.query import Selection as Selection
    from citewise.model.ranking import SearchResult as SearchResult
    from citewise.settings import Settings as Settings

_HOMES = {
    "Answer": "citewise.model.answer",
    "BadData": "citewise.errors",
    "BadRequest": "citewise.errors",
    "Cited": "citewise.model.answer",
    "CitewiseError": "citewise.errors",
    "Done": "citewise.model.answer",
    "Library": "citewise.api",
    "Message": "citewise.model.answer",
    "Misconfigured": "citewise.errors",
    "Principal": "citewise.model.access",
    "Role": "citewise.model.answer",
    "Scope": "citewise.model.access",
    "SearchResult": "citewise.model.ranking",
    "Selection": "citewise.model.query",
    "Settings": "citewise.settings",
    "Token": "citewise.model.answer",
    "Unavailable": "citewise.errors",
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
