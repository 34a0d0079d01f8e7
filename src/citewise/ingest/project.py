"""The change log -> the index. A rebuild is nothing else: the same replay, from position 0."""

from collections.abc import Callable
from dataclasses import dataclass

from citewise.model.access import Scope
from citewise.model.chunk import Change, Point
from citewise.ports.catalog import ChangeLog
from citewise.ports.indexes import Index
from citewise.text.analysis import terms

CHANGES_AT_ONCE = 8192  # a replay's unit of memory and of durability


@dataclass(frozen=True, slots=True)
class Project:
    """Brings the index to where the catalog is. Idempotent: stopped anywhere, it goes on from there."""

    log: ChangeLog
    index: Index

    def __call__(self, scope: Scope) -> int:
        """Apply what is missing; returns how many changes that were."""
        position = self.index.position(scope)
        if position == 0 or not self.log.floor(scope) <= position <= self.log.last_position(scope):
            return self.rebuild(scope)  # nothing of it can be trusted, or nothing is there
        return self._replay(scope, position, on_progress=lambda done: None)

    def is_behind(self, scope: Scope) -> bool:
        """Whether a search of this scope could miss, or still find, what the catalog says."""
        return self.index.position(scope) != self.log.last_position(scope)

    def rebuild(self, scope: Scope, *, on_progress: Callable[[int], None] = lambda done: None) -> int:
        """Make the scope's index anew beside the one that answers, then swap; nothing is embedded."""
        self.index.begin_anew(scope)
        applied = self._replay(scope, 0, on_progress=on_progress)
        self.index.finish_anew(scope)
        return applied

    def _replay(self, scope: Scope, position: int, *, on_progress: Callable[[int], None]) -> int:
        last, applied = self.log.last_position(scope), 0
        while changes := self.log.changes(scope, after=position, limit=CHANGES_AT_ONCE):
            position = changes[-1].position
            self.index.write(
                scope,
                puts=[self._point(change) for change in changes if change.record],
                drops=[change.chunk_id for change in changes if not change.record],
                position=position,
            )
            applied += len(changes)
            on_progress(len(changes))
        if position < last:  # the log ended in drops that were forgotten: there is nothing to do but to say so
            position = last
            self.index.write(scope, puts=(), drops=(), position=position)
        if applied:
            self.log.trim(scope, up_to=position)
        return applied

    def _point(self, change: Change) -> Point:
        assert change.record is not None
        return Point(
            id=change.chunk_id,
            vector=change.record.vector,
            terms=terms(change.record.text),
            labels=change.record.labels,
            numbers=change.record.numbers,
        )
