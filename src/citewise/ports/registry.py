"""Registry: what a library knows about itself."""

from collections.abc import Mapping
from typing import Protocol

from citewise.model.scope import Scope
from citewise.model.source import SourceRef


class Registry(Protocol):
    """Remembers sources and facts.

    Promises: registering a mount again replaces its root; what is remembered is durable when the call returns.
    """

    def sources(self, scope: Scope) -> tuple[SourceRef, ...]: ...
    def register(self, scope: Scope, source: SourceRef) -> None: ...
    def facts(self) -> Mapping[str, str]: ...
    def remember(self, facts: Mapping[str, str]) -> None: ...
