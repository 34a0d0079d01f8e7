"""The embedded index: a folder a scope, holding tantivy's files, vector segments and a manifest.

Readers look at the manifest before each search and take up what changed, so several processes may search while
one writes. Nothing here is the truth: what is missing or damaged stands at position 0 and is rebuilt by a replay.
"""

import shutil
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from citewise.adapters.local_index.shard import Shard
from citewise.errors import CitewiseError, Unavailable
from citewise.model.access import Scope
from citewise.model.chunk import Hit, Point, TermField, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId

LARGE = 50_000  # chunks from which searches side by side are quicker than in turn; 0: at once always


class LocalIndex:
    """Every scope's shard below one folder.

    Filters select rows before anything is looked at. Up to 150,000 chunks all of them are compared, so recall is that
    of one byte a component (0.99); above, those that a first pass over signs leaves (`scans.py`; 0.98 and more).
    """

    def __init__(self, root: Path, *, dimensions: int) -> None:
        self._root = root
        self._dimensions = dimensions
        self._shards: dict[Scope, Shard] = {}
        self._building: dict[Scope, Shard] = {}  # made anew beside those that answer
        self._lock = threading.Lock()

    def nearest(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        with _our_errors("search vectors", where.scope):
            return self._shard(where.scope).nearest(vector, where.all_conditions, limit)

    def matching(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        with _our_errors("search words", where.scope):
            return self._shard(where.scope).matching(terms, field, where.all_conditions, limit)

    def is_large(self, scope: Scope) -> bool:
        return self._shard(scope).rows >= LARGE

    def write(self, scope: Scope, *, puts: Sequence[Point], drops: Collection[ChunkId], position: int) -> None:
        with _our_errors("write the index", scope):
            (self._building.get(scope) or self._shard(scope)).write(puts, drops, position)

    def position(self, scope: Scope) -> int:
        with _our_errors("open the index", scope):
            return self._shard(scope).position

    def begin_anew(self, scope: Scope) -> None:
        with _our_errors("begin a new index", scope), self._lock:
            beside = self._beside(scope)
            if beside.exists():  # left by a run that was stopped
                shutil.rmtree(beside)
            self._building[scope] = Shard(beside, dimensions=self._dimensions)

    def finish_anew(self, scope: Scope) -> None:
        """Swap by renaming; a crash in between leaves no index at all, which the next opening rebuilds."""
        with _our_errors("put the new index in place", scope), self._lock:
            self._building.pop(scope)
            self._shards.pop(scope, None)
            folder, beside = self._folder(scope), self._beside(scope)
            old = folder.with_name(f"{folder.name}~old")
            shutil.rmtree(old, ignore_errors=True)
            if folder.exists():
                folder.rename(old)
            if beside.exists():
                beside.rename(folder)
            shutil.rmtree(old, ignore_errors=True)

    def _shard(self, scope: Scope) -> Shard:
        with self._lock:
            shard = self._shards.get(scope)
            if shard is None:
                shard = self._shards[scope] = Shard(self._folder(scope), dimensions=self._dimensions)
            return shard

    def _folder(self, scope: Scope) -> Path:
        return self._root / scope.tenant / scope.project  # names are checked where a Scope is made

    def _beside(self, scope: Scope) -> Path:
        return self._root / scope.tenant / f"{scope.project}~new"  # no project's name holds a tilde


@contextmanager
def _our_errors(action: str, scope: Scope) -> Iterator[None]:
    try:
        yield
    except CitewiseError:
        raise
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"could not {action} of {scope}: {error}; "
            "if the disk has room and this goes on, run `citewise reindex` to rebuild the index from the catalog"
        ) from error
