"""Index: finds chunk ids by meaning and by words, filtered inside the search."""

from collections.abc import Collection, Sequence
from typing import Protocol

from citewise.model.access import Scope
from citewise.model.chunk import Hit, Point, TermField, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId


class Index(Protocol):
    """Finds chunk ids by meaning and by words. A projection of the catalog: it may be dropped at any time.

    Promises: best first, equal scores by id; never more than `limit`; `where` narrows before the cut, not
    after, so `limit` hits come back whenever that many are visible (and match, for words); exactly what
    `Where.admits` is found; an empty index answers (); recall@60 of the exact answer is at least 0.95 at every
    filter selectivity. `write` is idempotent and durable, with the position, when it returns; readers in other
    processes see it at their next search. `position` is 0 for a scope that is missing or damaged when it is opened.
    After `begin_anew`, writes go to an empty index beside the one that answers; `finish_anew` puts it in its place.
    An unreachable index raises Unavailable. `is_large` tells, without looking at any file, whether searches take so
    long that several of one question are better asked at once; it never raises.
    """

    def nearest(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]: ...
    def matching(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]: ...
    def is_large(self, scope: Scope) -> bool: ...
    def write(self, scope: Scope, *, puts: Sequence[Point], drops: Collection[ChunkId], position: int) -> None: ...
    def position(self, scope: Scope) -> int: ...
    def begin_anew(self, scope: Scope) -> None: ...
    def finish_anew(self, scope: Scope) -> None: ...
