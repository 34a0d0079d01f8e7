"""tantivy's fields, and a filter over them: clauses inside the search, or a check of what it found.

A filter clause makes tantivy leap from one admitted chunk to the next. Where it admits most of a large index, that
costs more than it saves: there the best are fetched without it, and those kept that the bitmaps beside the vectors
admit, which decide for the ranking by meaning as well. Both give the same hits once words and vectors are in step; the
second gives way to the first where too few are left, or where the bitmaps do not know a chunk yet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import Self

import numpy as np
import numpy.typing as npt
import tantivy
from tantivy import Index, Occur, Query, SchemaBuilder, Searcher

from citewise.adapters.index.segments import Keys
from citewise.adapters.index.vectors import keys_to_ids
from citewise.model.ids import ChunkId
from citewise.model.terms import TermField
from citewise.model.where import AnyOf, Between, Condition

Scored = tuple[float, tantivy.DocAddress]
Clause = tuple[Occur, Query]
Admits = Callable[
    [Keys], npt.NDArray[np.bool_] | None
]  # chunks -> whether the filter admits each; None: it cannot tell

LARGE = 50_000  # chunks from which the other way can pay; below, a filter costs a fraction of a millisecond
FEW = 32  # labels whose chunks are leapt through; of more, a set is made first: twice the time at 10,000 chunks
MOST = 0.4  # share of an index that a filter must admit for it; 1: never; at 0.1 the filter inside is twice as fast
MOST_FETCHED = 1_000  # hits at most that are fetched to be checked; more cost as much as the filter inside
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
    if fetched > MOST_FETCHED:
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
