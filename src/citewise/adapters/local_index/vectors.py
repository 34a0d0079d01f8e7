"""The embedded vector index: every scope's vectors in files and in memory, filtered by bitmaps before a search looks.

Up to 150,000 chunks are all compared, by one byte a component; of more, those that a first pass over their signs
leaves, and the best of those again by 12 bits a component: recall@60 is 0.997 or more at a million, with every filter.
Small collections do not gain by the second comparison (api_docs -0.004 nDCG@10, cranfield -0.002, runbooks 0).
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from citewise.adapters.lazy import lazily
from citewise.adapters.local_index.generations import FileMark, Generations, Manifest
from citewise.adapters.local_index.scan import Admitted, Scan
from citewise.adapters.local_index.segments import Keys, Rows, Segment
from citewise.model.chunk import Hit, Vector
from citewise.model.filters import AnyOf, Condition, Where
from citewise.model.ids import ChunkId
from citewise.ports.indexes import IndexBatch

MAX_DELETED = 0.3  # share of deleted rows at which all segments are rewritten; 0: always, 1: never
MAX_MASKS = 64  # filters whose row sets are cached; people ask many questions with few filters


class LocalVectorIndex(Generations["_VectorSet"]):
    """The port `VectorIndex` over one folder."""

    name = "vectors"

    def __init__(self, root: Path, *, dimensions: int) -> None:
        super().__init__(root)
        self._dimensions = dimensions

    def search(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        with self._unavailable("search", where.scope):
            current = self._current(where.scope)
            return current.opened.nearest(vector, where.all_conditions, limit) if current else ()

    def admits(self, keys: Keys, *, where: Where, position: int) -> npt.NDArray[np.bool_] | None:
        """Which of these chunks the filter admits; None unless all of them are here, as of this position."""
        current = self._current(where.scope)
        if current is None or current.manifest.position != position:
            return None
        return current.opened.admits(keys, where.all_conditions)

    def _open_files(self, folder: Path, manifest: Manifest, before: "_VectorSet | None") -> "_VectorSet":
        """Their rows are loaded when somebody searches: a writer does not need them."""
        segments = [Segment(folder / mark.name) for mark in manifest.segments]
        deleted = _deleted(folder, manifest)
        return lazily("the vector index", lambda: _VectorSet(segments, deleted, self._dimensions))

    def _write_files(self, folder: Path, before: Manifest, batch: IndexBatch) -> Manifest:
        """The new rows as a segment of their own, merged with others while those are not much larger."""
        puts = list({point.id: point for point in batch.puts}.values())
        writes = before.writes + 1
        marks = list(before.segments)
        segments = [Segment(folder / mark.name) for mark in marks]
        deleted = _deleted(folder, before) | _rows_of(segments, [*batch.drops, *(point.id for point in puts)])
        if puts:
            marks.append(Rows.of(puts, self._dimensions).write(folder / f"{writes}.rows"))
            segments.append(Segment(folder / marks[-1].name))
        first = _first_to_merge(segments, deleted)
        if first is not None:
            rows, deleted = Rows.merged(segments, deleted, first)
            marks = marks[:first]
            if len(rows.keys):
                marks.append(rows.write(folder / f"{writes}m.rows"))
        mark = FileMark.write(folder / f"{writes}.deleted", [deleted.serialize()]) if deleted else None
        return Manifest(before.generation, batch.position, writes, tuple(marks), mark)


def _deleted(folder: Path, manifest: Manifest) -> BitMap:
    return BitMap.deserialize((folder / manifest.deleted.name).read_bytes()) if manifest.deleted else BitMap()


def _rows_of(segments: Sequence[Segment], ids: Sequence[ChunkId]) -> BitMap:
    wanted = Rows.keys_of(ids)
    found, start = BitMap(), 0
    for segment in segments:
        found |= BitMap(np.flatnonzero(np.isin(segment.keys, wanted)).astype(np.uint32)).shift(start)
        start += segment.rows
    return found


def _first_to_merge(segments: Sequence[Segment], deleted: BitMap) -> int | None:
    """Where merging begins: everything once much is deleted, else the tail while it is not smaller by half."""
    total = sum(segment.rows for segment in segments)
    if total and len(deleted) > MAX_DELETED * total:
        return 0
    first, rows = len(segments) - 1, segments[-1].rows if segments else 0
    while first > 0 and segments[first - 1].rows <= 2 * rows:
        first -= 1
        rows += segments[first].rows
    return first if first < len(segments) - 1 else None


class _VectorSet:
    """The rows of some segments in memory. Immutable: a newer manifest has another set."""

    def __init__(self, segments: Sequence[Segment], deleted: BitMap, dimensions: int) -> None:
        self._scan = Scan(segments, dimensions)
        self._keys: Keys = np.concatenate([np.empty(0, dtype=np.uint64), *(segment.keys for segment in segments)])
        alive = BitMap(range(len(self._keys))) - deleted
        living = np.asarray(alive.to_array(), dtype=np.int64)
        self._by_key = living[np.argsort(self._keys[living])]
        self._sorted_keys = self._keys[self._by_key]
        self._admitted = lru_cache(maxsize=MAX_MASKS)(partial(_admitted, segments, alive))

    def nearest(self, vector: Vector, conditions: tuple[Condition, ...], limit: int) -> tuple[Hit, ...]:
        """The `limit` rows of highest cosine among those the conditions admit."""
        admitted = self._admitted(conditions)
        wanted = min(limit, admitted.count)
        if wanted <= 0:
            return ()
        rows, cosines = self._scan.nearest(vector, admitted, wanted)
        return Hit.best(Rows.ids_of(self._keys[rows]), cosines, wanted)

    def admits(self, keys: Keys, conditions: tuple[Condition, ...]) -> npt.NDArray[np.bool_] | None:
        """Which of these chunks the conditions admit; None if one of them is not here."""
        if not len(self._by_key):
            return None
        places = np.minimum(np.searchsorted(self._sorted_keys, keys), len(self._by_key) - 1)
        if (self._sorted_keys[places] != keys).any():
            return None
        return self._admitted(conditions).holds(self._by_key[places])


def _admitted(segments: Sequence[Segment], alive: BitMap, conditions: tuple[Condition, ...]) -> Admitted:
    rows, total = alive, sum(segment.rows for segment in segments)
    for condition in conditions:
        found, start = BitMap(), 0
        for segment in segments:
            found |= _segment_rows(segment, condition).shift(start)
            start += segment.rows
        rows = rows & found
    if len(rows) == total:
        return Admitted(total, None)
    is_in = np.zeros(total, dtype=bool)
    is_in[np.asarray(rows.to_array(), dtype=np.int64)] = True
    return Admitted(len(rows), np.packbits(is_in, bitorder="little"))


def _segment_rows(segment: Segment, condition: Condition) -> BitMap:
    if isinstance(condition, AnyOf):
        return BitMap.union(BitMap(), *(segment.labeled(name) for name in condition.labels))
    rows, values = segment.numbers(condition.field)
    low = -np.inf if condition.low is None else condition.low
    high = np.inf if condition.high is None else condition.high
    return BitMap(rows[(values >= low) & (values <= high)])
