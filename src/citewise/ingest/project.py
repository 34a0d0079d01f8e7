"""The change log -> the indexes. A rebuild is the same replay, from position 0 into a new generation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewise.model.access import Scope
from citewise.model.chunk import Point
from citewise.ports.catalog import ChangeLog, ProjectionState
from citewise.ports.indexes import IndexBatch, KeepsPosition, Projection, Wears
from citewise.text.analysis import terms

CHANGES_PER_BATCH = 8192  # a replay's unit of memory and of durability

_Targets = Sequence[tuple[Projection, int]]  # indexes, and the generation of each that is written


@dataclass(frozen=True, slots=True)
class Project:
    """Brings the indexes to where the catalog is. Idempotent: interrupted anywhere, it continues from there."""

    log: ChangeLog
    indexes: tuple[Projection, ...]

    def __call__(self, scope: Scope) -> int:
        """Apply what is missing; returns how many changes that were."""
        last = self.log.last_position(scope)
        states = [(index, self._state(index, scope)) for index in self.indexes]
        behind = [(index, state) for index, state in states if state is not None and state.position < last]
        applied = 0
        if behind:
            targets = [(index, state.generation) for index, state in behind]
            for position, changes in self._replayed(scope, targets, min(state.position for _, state in behind)):
                self._record(scope, targets, position)
                applied += changes
        lost = [
            index for index, state in states if state is None or (isinstance(index, Wears) and index.is_worn(scope))
        ]
        applied += sum(self._rebuilt(scope, lost)) if lost else 0
        if applied:
            self.log.trim(scope, up_to=last)
        return applied

    def is_behind(self, scope: Scope) -> bool:
        """Whether a search of this scope could miss, or still find, what the catalog says."""
        last = self.log.last_position(scope)
        states = [self._state(index, scope) for index in self.indexes]
        return any((state.position if state else 0) != last for state in states)

    def rebuild(self, scope: Scope) -> Iterator[int]:
        """Rebuild every index of the scope beside the active one, then switch; nothing is embedded.

        Yields the number of changes that were applied since the last time.
        """
        yield from self._rebuilt(scope, self.indexes)
        self.log.trim(scope, up_to=self.log.last_position(scope))

    def _rebuilt(self, scope: Scope, indexes: Sequence[Projection]) -> Iterator[int]:
        targets = [(index, self._next_generation(index, scope)) for index in indexes]
        for index, generation in targets:
            index.drop(scope, generation)  # left by a run that was interrupted
        reached = 0
        for position, changes in self._replayed(scope, targets, 0):
            reached = position
            yield changes
        for index, generation in targets:
            index.activate(scope, generation)
        self._record(scope, targets, reached)

    def _replayed(self, scope: Scope, targets: _Targets, after: int) -> Iterator[tuple[int, int]]:
        """Write every change after a position; yields the position reached and the number of changes of each batch."""
        position, last = after, self.log.last_position(scope)
        while changes := self.log.changes(scope, after=position, limit=CHANGES_PER_BATCH):
            position = changes[-1].position
            puts = [
                Point(change.chunk_id, change.vector, terms(change.text), change.labels, change.numbers)
                for change in changes
                if change.text is not None
            ]
            drops = [change.chunk_id for change in changes if change.text is None]
            for index, generation in targets:
                index.write(scope, generation, IndexBatch(puts, drops, position))
            yield position, len(changes)
        if position < last:  # the log ended in drops that were forgotten
            for index, generation in targets:
                index.write(scope, generation, IndexBatch((), (), last))
            yield last, 0

    def _state(self, index: Projection, scope: Scope) -> ProjectionState | None:
        """Where the index continues; None if nothing of it can be trusted, or nothing is there."""
        recorded = self.log.projection(index.name, scope)
        own = index.state(scope) if isinstance(index, KeepsPosition) else recorded
        if recorded is None or own is None or recorded.generation != own.generation:
            return None
        position = min(recorded.position, own.position)  # one is behind after a crash, or after a restored backup
        is_known = max(1, self.log.floor(scope)) <= position and own.position <= self.log.last_position(scope)
        return ProjectionState(own.generation, position) if is_known else None

    def _next_generation(self, index: Projection, scope: Scope) -> int:
        known = [self.log.projection(index.name, scope)]
        if isinstance(index, KeepsPosition):
            known.append(index.state(scope))
        return 1 + max((state.generation for state in known if state), default=0)

    def _record(self, scope: Scope, targets: _Targets, position: int) -> None:
        for index, generation in targets:
            self.log.record_projection(index.name, scope, ProjectionState(generation, position))
