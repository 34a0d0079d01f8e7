"""A catalog behind a guard, as a search reads it."""

from collections.abc import Collection, Sequence

from citewise.adapters.guard.guard import Guard
from citewise.model.ids import ChunkId
from citewise.model.where import Where
from citewise.ports.passages import Hydrated, Passages


class GuardedPassages:
    """The port `Passages` around another. Only reading counts: a catalog that cannot be written to still answers."""

    def __init__(self, store: Passages, guard: Guard) -> None:
        self._store = store
        self._guard = guard

    def passages(self, ids: Sequence[ChunkId], *, where: Where) -> Hydrated:
        return self._guard(lambda: self._store.passages(ids, where=where))

    def make_anew(self, ids: Collection[ChunkId]) -> None:
        self._store.make_anew(ids)
