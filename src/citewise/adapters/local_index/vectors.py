"""Search over the vectors of one shard, narrowed by bitmaps before it looks."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import prod
from typing import Protocol, Self, cast

import faiss
import numpy as np
import numpy.typing as npt
import tantivy
from pyroaring import BitMap
from tantivy import Index, Occur, Query, SchemaBuilder, Searcher

from citewise.adapters.local_index.files import Keys, Segment
from citewise.adapters.local_index.quantize import Codes, Floats, Quantizer
from citewise.model.chunk import Hit, TermField, Vector, best_first, hits_of
from citewise.model.filters import AnyOf, Between, Condition
from citewise.model.ids import ChunkId

Scored = tuple[float, tantivy.DocAddress]
Clause = tuple[Occur, Query]
Admits = Callable[
    [Keys], npt.NDArray[np.bool_] | None
]  # chunks -> whether the filter admits each; None: it cannot tell

LARGE = 50_000  # chunks from which the other way can pay; below, a filter costs a fraction of a millisecond
FEW = 32  # labels whose chunks are leapt through; of more, a set is made first: twice the time at 10,000 chunks
MOST = 0.4  # share of an index that a filter must admit for it; 1: never; at 0.1 the filter inside is twice as fast
MAX_FETCHED = 1_000  # hits at most that are fetched to be checked; more cost as much as the filter inside
SPARE = 1.3  # how many more are fetched than should be needed, since the best are not like the rest


def _schema() -> tantivy.Schema:
    builder = SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("key", fast=True)  # the same id as a number: read in bulk for the hits
    builder.add_text_field(TermField.WORDS.value, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(TermField.CODE.value, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("labels", tokenizer_name="raw", index_option="basic")
    builder.add_json_field("numbers", fast=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


SCHEMA = _schema()


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Some conditions as clauses that have to hold and do not count, and about which share of the index they admit."""

    clauses: tuple[Clause, ...]
    share: float

    @classmethod
    def by(cls, conditions: Sequence[Condition], index: Index, searcher: Searcher) -> Self:
        clauses: list[Query] = []
        share = 1.0
        for condition in conditions:
            if isinstance(condition, AnyOf):
                clause, admitted = _any_of(condition, searcher)
                clauses.append(clause)
                share *= min(1.0, admitted / max(1, searcher.num_docs))
            else:
                clauses += _between(condition, index)
                share = 0.0  # nobody knows
        return cls(tuple((Occur.Must, Query.const_score_query(clause, 0.0)) for clause in clauses), share)

    def within(self, wanted: Sequence[Clause]) -> Query:
        """What has at least one wanted term, with the same scores, of the admitted chunks alone."""
        return Query.boolean_query([*wanted, *self.clauses], minimum_number_should_match=1)


def checked_after(
    searcher: Searcher, query: Query, narrowing: Narrowing, admits: Admits, wanted: int
) -> list[Scored] | None:
    """The best admitted ones of those found without a filter; None where that does not pay, or finds too few."""
    if not narrowing.clauses or searcher.num_docs < LARGE or narrowing.share < MOST:
        return None
    fetched = int(SPARE * wanted / narrowing.share) + 1
    if fetched > MAX_FETCHED:
        return None
    found = searcher.search(query, limit=fetched, count=False).hits
    is_admitted = admits(_keys(searcher, found))
    if is_admitted is None:  # a writer has changed the words and not yet the vectors
        return None
    admitted = [one for one, is_in in zip(found, is_admitted.tolist(), strict=True) if is_in]
    is_all = len(found) < fetched
    # Equal scores may go on beyond what was fetched, and are settled by id: the last one wanted has to be better.
    is_enough = len(admitted) >= wanted and admitted[wanted - 1][0] > found[-1][0]
    return admitted if is_all or is_enough else None


def ids_of(searcher: Searcher, found: Sequence[Scored]) -> list[ChunkId]:
    """The chunks that were found."""
    return keys_to_ids(_keys(searcher, found))


def _keys(searcher: Searcher, found: Sequence[Scored]) -> Keys:
    keys = searcher.fast_field_values("key", [address for _, address in found])  # in bulk
    return np.array(keys, dtype=np.uint64)


def number_key(name: str) -> str:
    """A field name that needs no escaping in a query, whatever an author called his metadata."""
    return f"f{name.encode('utf-8', 'surrogatepass').hex()}"


def _any_of(condition: AnyOf, searcher: Searcher) -> tuple[Query, int]:
    """Only labels that some chunk has: of the readers one counts as, most are named nowhere."""
    counts = {name: searcher.doc_freq("labels", name) for name in sorted(condition.labels)}
    named = [name for name, count in counts.items() if count]
    if len(named) == 1:
        return _labeled(named[0]), counts[named[0]]
    if len(named) <= FEW:
        union = Query.boolean_query([(Occur.Should, _labeled(name)) for name in named])
    else:
        union = Query.term_set_query(SCHEMA, "labels", named)
    return union, _together([counts[name] for name in named], searcher.num_docs)


def _together(counts: Sequence[int], total: int) -> int:
    """About how many chunks have one of some labels, if these are strewn independently: many have several."""
    missed = prod(1 - min(1.0, count / max(1, total)) for count in counts)
    return round(total * (1 - missed))


def _labeled(name: str) -> Query:
    return Query.term_query(SCHEMA, "labels", name, "basic")


def _between(condition: Between, index: Index) -> list[Query]:
    """tantivy-py has no range query over a JSON path but the one that its parser makes.

    One clause a side: tantivy panics over a range whose bounds are numbers of two kinds, such as 1 and 2.5.
    """
    field = f"numbers.{number_key(condition.field)}"
    sides = [f"[{_bound(condition.low)} TO *]"] if condition.low is not None else []
    sides += [f"[* TO {_bound(condition.high)}]"] if condition.high is not None else []
    return [index.parse_query(f"{field}:{side}") for side in sides] or [Query.exists_query(field)]


def _bound(value: float) -> str:
    """A number as the parser takes it: exact, and without an exponent."""
    return format(Decimal(value), "f")


Bits = npt.NDArray[np.uint8]
RowNumbers = npt.NDArray[np.int64]
Found = tuple[Floats, RowNumbers]  # scores and rows, best first

SIGNS_FROM = 150_000  # rows that are still scanned whole, in about 4 ms; 0: never exact; large: 28 ms at a million
MIN_DIMENSIONS = 256  # fewer signs tell too little
# Rows that are compared byte by byte for want of 60 hits. Of the 60 best by bytes among a million synthetic vectors,
# 1,000 hold 0.85 to 1.0 and 4,000 hold 0.99 to 1.0, over all filters; of the 60 best of MiniLM's own vectors, repeated
# with noise to a million, 4,000 hold 0.992 to 0.997 (benchmarks/recall.py).
COMPARED = 4_000
COMPARED_A_HIT = 20  # the same for a caller who wants many more
EXACT_FROM_FILES = 20_000  # rows a filter may admit to be compared without looking at signs: about 2 ms
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


class Scan(Protocol):
    """Promises: best first; at least `wanted` rows if as many are admitted, with what was compared of equal scores."""

    def best(self, query: Floats, admitted: Admitted, wanted: int) -> Found: ...


def scan_of(segments: Sequence[Segment], dimensions: int) -> Scan:
    """The way to look through these rows that suits their number."""
    is_large = sum(segment.rows for segment in segments) > SIGNS_FROM
    return (
        SignsFirst(segments, dimensions) if is_large and dimensions >= MIN_DIMENSIONS else Whole(segments, dimensions)
    )


class Whole:
    """Every admitted row, byte by byte, in memory."""

    def __init__(self, segments: Sequence[Segment], dimensions: int) -> None:
        self._index = _bytes_index(dimensions, [segment.codes for segment in segments])

    def best(self, query: Floats, admitted: Admitted, wanted: int) -> Found:
        return _with_ties(
            lambda limit: _searched(self._index, query, limit, admitted), most=admitted.count, wanted=wanted
        )


class SignsFirst:
    """The rows whose signs are nearest, then byte by byte among them. Equal scores beyond those may be left out."""

    def __init__(self, segments: Sequence[Segment], dimensions: int) -> None:
        self._dimensions = dimensions
        self._codes = [segment.codes for segment in segments]
        self._starts = np.cumsum([0, *(len(codes) for codes in self._codes)])
        self._signs = faiss.IndexBinaryFlat(8 * -(-dimensions // 8))
        # To count distances is quicker than a heap of thousands. FAISS's stubs leave the attribute out.
        self._signs.use_heap = False  # type: ignore[attr-defined]
        for codes in self._codes:
            self._signs.add(signs_of(codes))

    def best(self, query: Floats, admitted: Admitted, wanted: int) -> Found:
        rows = self._near(query, admitted, wanted)
        index = _bytes_index(self._dimensions, self._gathered(rows))
        scores, places = _with_ties(
            lambda limit: _searched(index, query, limit), most=len(rows), wanted=min(wanted, len(rows))
        )
        return scores, rows[places]

    def _near(self, query: Floats, admitted: Admitted, wanted: int) -> RowNumbers:
        """The rows worth comparing, in the order of the files."""
        if admitted.bits is not None and admitted.count <= EXACT_FROM_FILES:
            return admitted.rows
        compared = min(admitted.count, max(COMPARED, COMPARED_A_HIT * wanted))
        _, rows = _searched(self._signs, np.packbits(query >= 0, axis=1), compared, admitted)
        return np.sort(rows)

    def _gathered(self, rows: RowNumbers) -> list[Codes]:
        ends = np.searchsorted(rows, self._starts)
        return [
            codes[rows[begin:end] - start]
            for codes, start, begin, end in zip(self._codes, self._starts, ends, ends[1:], strict=False)
        ]


def signs_of(codes: Codes) -> Bits:
    """One bit a component: whether it is at or above zero. A code's highest bit says so."""
    signs = np.empty((len(codes), -(-codes.shape[1] // 8)), dtype=np.uint8)
    for start in range(0, len(codes), BLOCK):
        signs[start : start + BLOCK] = np.packbits(codes[start : start + BLOCK].view(np.int8) < 0, axis=1)
    return signs


def _bytes_index(dimensions: int, parts: Sequence[Codes]) -> faiss.IndexScalarQuantizer:
    index = faiss.IndexScalarQuantizer(
        dimensions, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
    )
    for codes in parts:
        index.add_sa_codes(codes)
    return index


def _with_ties(search: Callable[[int], Found], *, most: int, wanted: int) -> Found:
    """What is wanted and everything that scores as its last: FAISS would cut equal scores in an order of its own."""
    fetched = min(most, wanted + 1)
    while True:
        scores, rows = search(fetched)
        if fetched == most or scores[wanted - 1] > scores[-1]:
            return scores, rows
        fetched = min(most, fetched * 2)


def _searched(
    index: faiss.Index | faiss.IndexBinary, query: npt.NDArray[np.generic], limit: int, admitted: Admitted | None = None
) -> tuple[npt.NDArray[np.float32], RowNumbers]:
    # One query is one thread's work: FAISS would start a team of threads for it and wait for them all. The setting
    # holds for the calling thread alone, so it is made here.
    faiss.omp_set_num_threads(1)
    scores, rows = index.search(query, limit, params=admitted.parameters if admitted is not None else None)
    return scores[0], rows[0]


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
