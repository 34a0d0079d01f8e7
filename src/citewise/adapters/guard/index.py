"""An index behind guards, for searching."""

from collections.abc import Collection, Sequence

from citewise.adapters.guard.guard import Guard
from citewise.model.errors import Unavailable
from citewise.model.ids import ChunkId
from citewise.model.point import Hit, Point
from citewise.model.scope import Scope
from citewise.model.terms import TermField
from citewise.model.vector import Vector
from citewise.model.where import Where
from citewise.ports.index import Index
from citewise.ports.outbox import Outbox


class GuardedIndex:
    """The port `Index` around another. Vectors and words rest apart, so that each goes on without the other.

    A damaged shard answers nothing, as an empty one does. The log tells them apart: where it has changes and the index
    has none, "nothing found" would be untrue, and Unavailable is said. That is no failure to be counted: it costs
    nothing to ask, and ends the moment the index is made. Writing is not guarded: whoever writes must hear at once.
    """

    def __init__(self, index: Index, log: Outbox, *, vectors: Guard, words: Guard) -> None:
        self._index = index
        self._log = log
        self._vectors = vectors
        self._words = words

    def nearest(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        hits = self._vectors(lambda: self._index.nearest(vector, where=where, limit=limit))
        return hits or self._nothing(where.scope)

    def matching(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        hits = self._words(lambda: self._index.matching(terms, field=field, where=where, limit=limit))
        return hits or self._nothing(where.scope)

    def _nothing(self, scope: Scope) -> tuple[Hit, ...]:
        """No hits, if that is true."""
        if self._index.position(scope) == 0 and self._log.last_position(scope) > 0:
            raise Unavailable(
                f"the index of {scope} is missing, damaged or still being made: try again in a moment, "
                "and if this goes on, run `citewise reindex` to rebuild it from the catalog"
            )
        return ()

    def is_large(self, scope: Scope) -> bool:
        return self._index.is_large(scope)

    def write(self, scope: Scope, *, puts: Sequence[Point], drops: Collection[ChunkId], position: int) -> None:
        self._index.write(scope, puts=puts, drops=drops, position=position)

    def position(self, scope: Scope) -> int:
        return self._index.position(scope)

    def begin_anew(self, scope: Scope) -> None:
        self._index.begin_anew(scope)

    def finish_anew(self, scope: Scope) -> None:
        self._index.finish_anew(scope)
