"""Search over the vectors of one shard, narrowed by bitmaps before it looks."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from citewise.adapters.index.quantize import Quantizer
from citewise.adapters.index.scans import Admitted, scan_of
from citewise.adapters.index.segments import Keys, Segment
from citewise.model.ids import ChunkId
from citewise.model.point import Hit, best_first, hits_of
from citewise.model.vector import Vector
from citewise.model.where import AnyOf, Between, Condition

MASKS_KEPT = 64  # filters whose row sets are remembered; people ask many questions with few filters


class VectorSet:
    """The rows of some segments in memory. Immutable: a newer state of the shard is another set."""

    def __init__(self, segments: Sequence[Segment], dead: BitMap, *, dimensions: int) -> None:
        self._segments = tuple(segments)
        self._quantizer = Quantizer(dimensions)
        self._scan = scan_of(self._segments, dimensions)
        keys: list[Keys] = [segment.keys for segment in self._segments]
        self._keys: Keys = np.concatenate(keys) if keys else np.empty(0, dtype=np.uint64)
        self._starts = np.cumsum([0, *(segment.rows for segment in self._segments)])
        self._alive = BitMap(range(len(self._keys))) - dead
        living = np.asarray(self._alive.to_array(), dtype=np.int64)
        self._by_key = living[np.argsort(self._keys[living])]
        self._sorted_keys = self._keys[self._by_key]
        self._lock = threading.Lock()  # of the masks: searches share this set
        self._masks: OrderedDict[tuple[Condition, ...], Admitted] = OrderedDict()

    def __len__(self) -> int:
        return len(self._alive)

    def nearest(self, vector: Vector, conditions: tuple[Condition, ...], limit: int) -> tuple[Hit, ...]:
        """The `limit` rows of highest cosine among those the conditions admit."""
        admitted = self._admitted_by(conditions)
        wanted = min(limit, admitted.count)
        if wanted <= 0:
            return ()
        scores, rows = self._scan.best(self._quantizer.query(vector), admitted, wanted)
        cosines = self._quantizer.cosines(scores).tolist()
        return tuple(best_first(hits_of(keys_to_ids(self._keys[rows]), cosines))[:wanted])

    def rows(self, conditions: Iterable[Condition]) -> BitMap:
        """The living rows that every condition admits."""
        found = self._alive
        for condition in conditions:
            found = found & self._rows_of(condition)
        return found

    def admits(self, keys: Keys, conditions: tuple[Condition, ...]) -> npt.NDArray[np.bool_] | None:
        """Which of these chunks the conditions admit; None if one of them is not here."""
        if not len(self._by_key):
            return None
        places = np.minimum(np.searchsorted(self._sorted_keys, keys), len(self._by_key) - 1)
        if (self._sorted_keys[places] != keys).any():
            return None
        return self._admitted_by(conditions).holds(self._by_key[places])

    def _admitted_by(self, conditions: tuple[Condition, ...]) -> Admitted:
        with self._lock:
            kept = self._masks.get(conditions)
            if kept is not None:
                self._masks.move_to_end(conditions)  # the one used longest ago is the first to go
                return kept
        made = _admitted(self.rows(conditions), len(self._keys))
        with self._lock:
            self._masks[conditions] = made
            if len(self._masks) > MASKS_KEPT:
                self._masks.popitem(last=False)
        return made

    def _rows_of(self, condition: Condition) -> BitMap:
        found = BitMap()
        for start, segment in zip(self._starts, self._segments, strict=False):
            found |= _segment_rows(segment, condition).shift(int(start))
        return found


def _admitted(rows: BitMap, total: int) -> Admitted:
    if len(rows) == total:
        return Admitted(total, None)
    bits = np.zeros(total, dtype=bool)
    bits[np.asarray(rows.to_array(), dtype=np.int64)] = True
    return Admitted(len(rows), np.packbits(bits, bitorder="little"))


def _segment_rows(segment: Segment, condition: Condition) -> BitMap:
    if isinstance(condition, AnyOf):
        return BitMap.union(BitMap(), *(segment.labeled(name) for name in condition.labels))
    return _rows_between(segment, condition)


def _rows_between(segment: Segment, condition: Between) -> BitMap:
    rows, values = segment.numbers(condition.field)
    low = -np.inf if condition.low is None else condition.low
    high = np.inf if condition.high is None else condition.high
    return BitMap(rows[(values >= low) & (values <= high)])


def keys_to_ids(keys: npt.ArrayLike) -> list[ChunkId]:
    """A chunk id is 16 hex digits, so it travels as 8 bytes."""
    return cast(list[ChunkId], np.asarray(keys, dtype=">u8").tobytes().hex(" ", 8).split())


def id_to_key(id_: ChunkId) -> int:
    return int(id_, 16)
