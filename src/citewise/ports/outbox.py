"""Outbox: the change log that feeds the projections, written in the catalog's own transactions."""

from typing import Protocol

from citewise.model.change import Change
from citewise.model.scope import Scope


class Outbox(Protocol):
    """Tells what changed since a position.

    Promises: positions only grow; a chunk appears at its latest change only; reading from 0 gives every living
    chunk, so a rebuild is a replay; drops at or before `floor` may be forgotten, and a projection that stands
    before it must start again from 0.
    """

    def scopes(self) -> tuple[Scope, ...]: ...
    def floor(self, scope: Scope) -> int: ...
    def last_position(self, scope: Scope) -> int: ...
    def changes(self, scope: Scope, *, after: int, limit: int) -> tuple[Change, ...]: ...
    def forget_drops(self, scope: Scope, *, up_to: int) -> None: ...
