"""What BM25 counts: the chunks that are there, and none that were deleted or replaced.

tantivy counts a deleted chunk until it merges it away, and from then on only estimates the average length of the
others. Two corrections give the scores of an index that never had the deleted ones: a term weighs what it weighs among
the living, and padding, which is documents that nobody finds, keeps the average length that of the living.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from math import ceil, log
from typing import Any

from tantivy import Document, Query, Schema, Searcher

from citewise.model.chunk import TermField

FIELDS: Mapping[TermField, str] = {"words": "words_length", "code": "code_length"}  # and where the length is stored
PADDING = "padding"  # the id of every document of it; those of chunks are hexadecimal
TOKEN = "."  # the only one that padding has; no term is a punctuation mark
# How far the average length may be off, as a share of it: a score is then off by less than half of that. 0: never
# reached, since padding has a whole number of tokens; at 1e-2 several questions in a hundred have another top 10.
TOLERANCE = 1e-5
TRIED = 256  # amounts of padding, of which the one is taken whose number of tokens is nearest to a whole one
MAX_STORED = 2.0  # documents for each living chunk, deleted ones and padding included; beyond, a rebuild pays
MAX_TERMS = 10_000  # whose frequency is cached

_Lengths = dict[TermField, float]


class Living:
    """The chunks of an index as it was committed, beside all that tantivy counts."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._searcher = searcher
        padding = _count(searcher, Query.term_query(schema, "id", PADDING, "basic"))
        self.is_padded = padding > 0  # from the first deletion on
        self.count = searcher.num_docs - padding
        self._stored, self._stored_averages = self._counted() if padding else (self.count, {})
        frequency = partial(_living_frequency, schema, searcher) if padding else searcher.doc_freq
        self.frequency = lru_cache(maxsize=MAX_TERMS)(frequency)

    def weight(self, field: TermField, term: str) -> float:
        """What tantivy's score for a term must be multiplied by."""
        living = self.frequency(field, term) if self.is_padded else 0
        if not living:
            return 1.0
        return _idf(self.count, living) / _idf(self._stored, self._searcher.doc_freq(field, term))

    def has_any(self, ids: Sequence[str]) -> bool:
        return bool(ids and self.count) and _count(self._searcher, Query.term_set_query(self._schema, "id", ids)) > 0

    @property
    def is_worn(self) -> bool:
        """Whether a rebuild pays: scores still depend on deleted chunks, or most of what is stored is no chunk."""
        return self._stored > MAX_STORED * self.count or bool(self._excess(self._averages()))

    def missing_padding(self) -> list[Document]:
        """What gives the average length of the living; nothing where a rebuild pays."""
        averages = self._averages()
        excess = self._excess(averages)
        fewest = max([1, *(ceil((tokens + 1) / averages[field]) for field, tokens in excess.items())])
        if not excess or self._stored + fewest > MAX_STORED * self.count:
            return []

        def lengths(documents: int) -> _Lengths:
            return {field: documents * averages[field] - tokens for field, tokens in excess.items()}

        def misfit(documents: int) -> float:
            return max(abs(length - round(length)) / averages[field] for field, length in lengths(documents).items())

        documents = min(range(fewest, fewest + TRIED), key=misfit)
        filled = padding_of({field: round(length) for field, length in lengths(documents).items()})
        return [filled, *(padding_of({}) for _ in range(documents - 1))]

    def _excess(self, averages: _Lengths) -> _Lengths:
        """The tokens of each field beyond what the average length of the living gives; empty where that fits."""
        excess = {field: self._stored * (self._stored_averages[field] - averages[field]) for field in averages}
        is_off = any(abs(excess[field]) > TOLERANCE * self._stored * averages[field] for field in averages)
        return excess if is_off else {}

    def _averages(self) -> _Lengths:
        """The average lengths of the living, of fields in which one has a token; none where nothing was deleted."""
        if not self.is_padded:
            return {}
        sums = {field: {"sum": {"field": length}} for field, length in FIELDS.items()}
        found = self._searcher.aggregate(Query.all_query(), sums)
        return {field: found[field]["value"] / self.count for field in FIELDS if found[field]["value"]}

    def _counted(self) -> tuple[int, _Lengths]:
        """Documents and average lengths as tantivy counts them, which it tells where it explains a score."""
        stored, averages = 0, _Lengths()
        for field in FIELDS:
            query = Query.term_query(self._schema, field, TOKEN, "freq")
            ((_, address),) = self._searcher.search(query, limit=1).hits
            numbers = dict(_numbers(json.loads(query.explain(self._searcher, address).to_json())))
            stored, averages[field] = round(numbers["N"]), numbers["avgdl"]
        return stored, averages


def padding_of(lengths: Mapping[TermField, int]) -> Document:
    """A document of so many tokens in each field."""
    document = Document()
    document.add_text("id", PADDING)
    for field, length in lengths.items():
        document.add_text(field, " ".join([TOKEN] * length))
    return document


def _living_frequency(schema: Schema, searcher: Searcher, field: TermField, term: str) -> int:
    return _count(searcher, Query.term_query(schema, field, term, "freq"))


def _count(searcher: Searcher, query: Query) -> int:
    found: Any = searcher.search(query, limit=1)  # whose type has no count
    return int(found.count)


def _idf(documents: int, having: int) -> float:
    return log(1 + (documents - having + 0.5) / (having + 0.5))


def _numbers(explanation: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of an explanation by their symbols, which descriptions begin with."""
    yield explanation["description"].split(",")[0], explanation["value"]
    for detail in explanation.get("details", ()):
        yield from _numbers(detail)
