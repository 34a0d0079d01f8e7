"""Scans: the best rows among those that a filter admits, over codes in memory or, for many rows, over their signs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import faiss
import numpy as np
import numpy.typing as npt

from citewise.adapters.local_index.segments import Codes, Floats, Quantizer, Segment
from citewise.model.chunk import Vector

Bits = npt.NDArray[np.uint8]
RowNumbers = npt.NDArray[np.int64]
Found = tuple[Floats, RowNumbers]  # scores and rows, best first

SIGNS_FROM = 150_000  # rows that are still scanned whole, in about 4 ms; 0: never exact; large: 28 ms at a million
MIN_DIMENSIONS = 256  # fewer signs tell too little
# Rows that are compared byte by byte for 60 hits. Of the 60 nearest of a million synthetic vectors, 4,000 find 0.997 to
# 0.999 over all filters, 6,000 no more than 0.002 better; of MiniLM's own vectors, repeated with noise to a million,
# 4,000 hold 0.992 to 0.997 of the 60 best by bytes (benchmarks/recall.py).
COMPARED = 4_000
COMPARED_A_HIT = 20  # the same for a caller who wants many more
EXACT_FROM_FILES = 20_000  # rows a filter may admit to be compared without looking at signs: about 2 ms
# A filter that admits at least this share is checked after the signs were compared, and so many more rows are taken: a
# filter inside that loop makes it twice as slow where it admits half of a million rows (10.8 instead of 6.1 ms), and
# changes none of 12,000 hits.
MIN_SHARE, SPARE = 0.25, 1.2
RESCORED = 2  # rows for each hit wanted that are compared again by more than a byte; 1: only their order changes
BLOCK = 2048  # rows whose signs are read at once: they fit into the processor's cache


@dataclass(frozen=True)
class Admitted:
    """The rows that a filter lets through: how many, and as one bit a row unless it is all of them."""

    count: int
    bits: Bits | None

    @property
    def rows(self) -> RowNumbers:
        assert self.bits is not None
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little"))

    @cached_property
    def parameters(self) -> faiss.SearchParameters | None:
        """The same as FAISS is told, made once: a filter is asked with again and again."""
        if self.bits is None:
            return None
        # FAISS's stubs describe the C++ constructors; in Python it takes the bits and keyword arguments.
        return faiss.SearchParameters(sel=faiss.IDSelectorBitmap(self.bits))  # type: ignore[call-arg, arg-type]

    def holds(self, rows: RowNumbers) -> npt.NDArray[np.bool_]:
        """Whether each of these rows is let through."""
        if self.bits is None:
            return np.ones(len(rows), dtype=bool)
        bits: Bits = self.bits[rows >> 3] >> (rows & 7).astype(np.uint8) & 1
        return bits.astype(bool)


class Scan:
    """The rows of some segments, ready to be compared with a query: byte by byte in memory, or, `by_signs`, first by
    their signs, then byte by byte among those that are nearest, and the best of these by 12 bits a component."""

    def __init__(self, segments: Sequence[Segment], dimensions: int, *, by_signs: bool | None = None) -> None:
        self._segments = segments
        self._starts = np.cumsum([0, *(segment.rows for segment in segments)])
        self._quantizer = Quantizer(dimensions)
        is_large = self._starts[-1] > SIGNS_FROM and dimensions >= MIN_DIMENSIONS
        codes = [segment.codes for segment in segments]
        self._signs, self._bytes = None, None
        if is_large if by_signs is None else by_signs:
            self._signs = _signs_index(dimensions, codes)
        else:
            self._bytes = _bytes_index(dimensions, codes)

    def nearest(self, vector: Vector, admitted: Admitted, wanted: int) -> tuple[RowNumbers, list[float]]:
        """At least the wanted rows and their equals, with their cosines, in no order.

        By signs, equals beyond the rows that are compared may be left out.
        """
        query, fine_query = self._quantizer.query(vector)
        if self._bytes is not None:
            scores, rows = _with_ties(self._bytes, query, wanted, admitted)
            return rows, self._quantizer.coarse_cosines(scores)
        wanted = min(RESCORED * wanted, admitted.count)
        near = self._near(query, admitted, wanted)
        codes = self._gathered([segment.codes for segment in self._segments], near)
        _, places = _with_ties(_bytes_index(codes.shape[1], [codes]), query, min(wanted, len(near)))
        places = np.sort(places)
        remainders = self._gathered([segment.remainders for segment in self._segments], near[places])
        return near[places], self._quantizer.cosines(fine_query, codes[places], remainders)

    def _near(self, query: Floats, admitted: Admitted, wanted: int) -> RowNumbers:
        """The rows worth comparing, in the order of the files."""
        assert self._signs is not None
        if admitted.bits is not None and admitted.count <= EXACT_FROM_FILES:
            return admitted.rows
        compared = min(admitted.count, max(COMPARED, COMPARED_A_HIT * wanted))
        signs, total = np.packbits(query >= 0, axis=1), int(self._starts[-1])
        if admitted.bits is not None and admitted.count >= MIN_SHARE * total:
            _, rows = _searched(self._signs, signs, min(total, int(SPARE * compared * total / admitted.count)))
            rows = rows[admitted.holds(rows)][:compared]
            if len(rows) == compared:
                return np.sort(rows)
        _, rows = _searched(self._signs, signs, compared, admitted)
        return np.sort(rows)

    def _gathered(self, parts: Sequence[Codes], rows: RowNumbers) -> Codes:
        """These rows, which are in order, of arrays that begin at the segments' first rows."""
        ends = np.searchsorted(rows, self._starts)
        bounds = zip(parts, self._starts, ends, ends[1:], strict=False)
        return np.concatenate([part[rows[begin:end] - start] for part, start, begin, end in bounds])


def _signs_index(dimensions: int, parts: Sequence[Codes]) -> faiss.IndexBinaryFlat:
    """One bit a component: whether it is at or above zero. A code's highest bit says so."""
    index = faiss.IndexBinaryFlat(8 * -(-dimensions // 8))
    # To count distances is quicker than a heap of thousands. FAISS's stubs leave the attribute out.
    index.use_heap = False  # type: ignore[attr-defined]
    for codes in parts:
        for start in range(0, len(codes), BLOCK):
            index.add(np.packbits(codes[start : start + BLOCK].view(np.int8) < 0, axis=1))
    return index


def _bytes_index(dimensions: int, parts: Sequence[Codes]) -> faiss.IndexScalarQuantizer:
    index = faiss.IndexScalarQuantizer(
        dimensions, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    )
    for codes in parts:
        index.add_sa_codes(codes)
    return index


def _with_ties(index: faiss.Index, query: Floats, wanted: int, admitted: Admitted | None = None) -> Found:
    """What is wanted and everything that scores as its last: FAISS would cut equal scores in an order of its own."""
    maximum = index.ntotal if admitted is None else admitted.count
    fetched = min(maximum, wanted + 1)
    while True:
        scores, rows = _searched(index, query, fetched, admitted)
        if fetched == maximum or scores[wanted - 1] > scores[-1]:
            return scores, rows
        fetched = min(maximum, fetched * 2)


def _searched(
    index: faiss.Index | faiss.IndexBinary, query: npt.NDArray[np.generic], limit: int, admitted: Admitted | None = None
) -> tuple[npt.NDArray[np.float32], RowNumbers]:
    # One query is one thread's work: FAISS would start a team of threads for it and wait for them all. The setting
    # holds for the calling thread alone, so it is made here.
    faiss.omp_set_num_threads(1)
    scores, rows = index.search(query, limit, params=admitted.parameters if admitted is not None else None)
    return scores[0], rows[0]
