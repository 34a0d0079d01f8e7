"""Exact search over the vectors of one shard, narrowed by bitmaps before it looks."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import faiss
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from citewise.adapters.index.quantize import Quantizer
from citewise.adapters.index.segments import Keys, Segment
from citewise.model.ids import ChunkId
from citewise.model.point import Hit, best_first
from citewise.model.vector import Vector
from citewise.model.where import AnyOf, Between, Condition

MASKS_KEPT = 64  # filters whose row sets are remembered; people ask many questions with few filters


class VectorSet:
    """The rows of some segments in memory. Immutable: a newer state of the shard is another set."""

    def __init__(self, segments: Sequence[Segment], dead: BitMap, *, dimensions: int) -> None:
        self._segments = tuple(segments)
        self._quantizer = Quantizer(dimensions)
        self._index = faiss.IndexScalarQuantizer(
            dimensions, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
        )
        for segment in self._segments:
            self._index.add_sa_codes(segment.codes)
        keys: list[Keys] = [segment.keys for segment in self._segments]
        self._keys: Keys = np.concatenate(keys) if keys else np.empty(0, dtype=np.uint64)
        self._starts = np.cumsum([0, *(segment.rows for segment in self._segments)])
        self._alive = BitMap(range(len(self._keys))) - dead
        self._lock = threading.Lock()  # of the masks: searches share this set
        self._masks: OrderedDict[tuple[Condition, ...], tuple[int, npt.NDArray[np.uint8]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._alive)

    def nearest(self, vector: Vector, conditions: tuple[Condition, ...], limit: int) -> tuple[Hit, ...]:
        """The `limit` rows of highest cosine among those the conditions admit."""
        count, mask = self._mask(conditions)
        wanted = min(limit, count)
        if wanted <= 0:
            return ()
        query = self._quantizer.query(vector)
        fetched = min(count, wanted + 1)
        while True:
            scores, rows = self._scan(query, mask, fetched)
            # Equal scores at the cut would come in an order of FAISS's own: take all of them, then choose by id.
            if fetched == count or scores[wanted - 1] > scores[-1]:
                break
            fetched = min(count, fetched * 2)
        cosines = self._quantizer.cosines(scores).tolist()
        hits = [Hit(id_, cosine) for id_, cosine in zip(keys_to_ids(self._keys[rows]), cosines, strict=True)]
        return tuple(best_first(hits)[:wanted])

    def rows(self, conditions: Iterable[Condition]) -> BitMap:
        """The living rows that every condition admits."""
        found = self._alive
        for condition in conditions:
            found = found & self._rows_of(condition)
        return found

    def _scan(
        self, query: npt.NDArray[np.float32], mask: npt.NDArray[np.uint8], limit: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        # One query is one thread's work: FAISS would start a team of threads for it and wait for them all. The setting
        # holds for the calling thread alone, so it is made here.
        faiss.omp_set_num_threads(1)
        # FAISS's stubs describe the C++ constructors; in Python it takes the bits and keyword arguments.
        parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(mask))  # type: ignore[call-arg, arg-type]
        scores, rows = self._index.search(query, limit, params=parameters)
        return scores[0], rows[0]

    def _mask(self, conditions: tuple[Condition, ...]) -> tuple[int, npt.NDArray[np.uint8]]:
        with self._lock:
            kept = self._masks.get(conditions)
        if kept is None:
            rows = self.rows(conditions)
            bits = np.zeros(len(self._keys), dtype=bool)
            bits[np.asarray(rows.to_array(), dtype=np.int64)] = True
            kept = (len(rows), np.packbits(bits, bitorder="little"))
        with self._lock:
            self._masks[conditions] = kept
            self._masks.move_to_end(conditions)  # the one used longest ago is the first to go
            if len(self._masks) > MASKS_KEPT:
                self._masks.popitem(last=False)
        return kept

    def _rows_of(self, condition: Condition) -> BitMap:
        found = BitMap()
        for start, segment in zip(self._starts, self._segments, strict=False):
            found |= _segment_rows(segment, condition).shift(int(start))
        return found


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
    digits = np.asarray(keys, dtype=np.uint64).astype(">u8").tobytes().hex()
    return [ChunkId(digits[at : at + 16]) for at in range(0, len(digits), 16)]


def id_to_key(id_: ChunkId) -> int:
    return int(id_, 16)
