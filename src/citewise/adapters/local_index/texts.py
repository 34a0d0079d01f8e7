"""The embedded text index: BM25 by tantivy over ready-made terms in two fields, filtered without changing a score."""

import json
import os
import shutil
import struct
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
import tantivy
from tantivy import Document, Index, Occur, Query, SchemaBuilder, Searcher

from citewise.adapters.local_index.generations import FileMark, Generations, Manifest
from citewise.adapters.local_index.living import FIELDS, PADDING, Living, padding_of
from citewise.adapters.local_index.segments import Keys, Rows
from citewise.model.access import Scope
from citewise.model.chunk import Hit, Point, TermField
from citewise.model.filters import AnyOf, Between, Condition, Where
from citewise.ports.indexes import IndexBatch

if TYPE_CHECKING:  # a text index beside another engine of vectors does without faiss
    from citewise.adapters.local_index.vectors import LocalVectorIndex

Scored = tuple[float, tantivy.DocAddress]
Clause = tuple[Occur, Query]
Admits = Callable[[Keys], npt.NDArray[np.bool_] | None] | None  # whether a filter admits each chunk; None: unknown

HEAP_BYTES = 64_000_000  # tantivy's buffer before it starts a new segment
TRIES, PAUSE_SECONDS = 5, 0.05  # at finding the files of a folder whole while another process writes to it
COMMITS = 3  # of a write: what changed, what deletions did to the average length, and what a merge did to it then
HEAD, MANAGED = "meta.json", ".managed.json"
FOOTER_MAGIC = 1337  # ends every file of a tantivy segment, behind the footer's length
MAX_FILTERS = 64  # filters cached as clauses; people ask many questions with few filters
# Hits fetched beyond those wanted, to see that the last one wanted has no equal; 1: for any pair all is fetched twice;
# 40: every search takes a tenth longer. 10 saves a tenth over 4 where chunks are equally long, and costs the textbook
# nothing.
TIES = 10

# A filter is either a clause of the query, or checked after a search without it. The second way is faster for large
# indexes and filters that admit much.
LARGE = 50_000  # chunks from which checking after can pay; below, a clause costs a fraction of a millisecond
MIN_SHARE = 0.4  # of an index that a filter must admit for it; 1: never; at 0.1 the clause is twice as fast
MAX_FETCHED = 1_000  # hits that are fetched to be checked; more cost as much as the clause
# How many more are fetched than should be needed, since the best are not like the rest; twice as many if they do not
# suffice. 1.6 fetches twice for 2 questions in a hundred, 1.3 for 7; 2 makes all of them slower.
SPARE = 1.6
# Terms in more than this share of a large index are left out of a query that fills its list without them: in text they
# are function words, in code what every file has. 1: none are; 0: all are, and the query runs twice. Applied to small
# sets as well, 0.4 changes nDCG@10 by -0.0003 (runbooks), -0.002 (api_docs) and +0.002 (cosqa_dev); 0.3 costs api_docs
# 0.008.
MAX_TERM_SHARE = 0.4
FEW_LABELS = 32  # combined by "or"; for more, a set is faster: twice the time at 10,000 chunks


def _schema() -> tantivy.Schema:
    builder = SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("key", fast=True)  # the same id as a number: read in bulk for the hits
    builder.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("code", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("labels", tokenizer_name="raw", index_option="basic")
    for length in FIELDS.values():
        builder.add_unsigned_field(length, fast=True)
    builder.add_json_field("numbers", fast=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


SCHEMA = _schema()


class LocalTextIndex(Generations["_Commit | None"]):
    """The port `TextIndex` over one folder.

    In a large index, filters that admit much are checked by the bitmaps of `vectors`, if given.
    """

    name = "texts"

    def __init__(self, root: Path, *, vectors: "LocalVectorIndex | None" = None) -> None:
        super().__init__(root)
        self._vectors = vectors

    def search(self, terms: Sequence[str], *, field: TermField, where: Where, limit: int) -> tuple[Hit, ...]:
        with self._unavailable("search", where.scope):
            current = self._current(where.scope)
            if current is None or current.opened is None:
                return ()
            position = current.manifest.position
            admits = partial(self._vectors.admits, where=where, position=position) if self._vectors else None
            return current.opened.search(terms, field, where.all_conditions, limit, admits)

    def is_worn(self, scope: Scope) -> bool:
        with self._unavailable("open", scope):
            current = self._current(scope)
            return current is not None and current.opened is not None and current.opened.living.is_worn

    def _open_files(self, folder: Path, manifest: Manifest, before: "_Commit | None") -> "_Commit | None":
        """None for a generation without any texts. Segments are checked when they are first opened."""
        if manifest.head and not _has_head(folder, *manifest.head):
            raise ValueError(f"{HEAD} in {folder} is damaged")
        if before is not None:
            return before.following()
        if not manifest.writes:
            return None
        for _ in range(TRIES):
            if all(map(_has_valid_footer, _segment_files(folder))):
                break
            time.sleep(PAUSE_SECONDS)  # a writer may be replacing files
        else:
            raise ValueError(f"a file in {folder} is damaged")
        mirror = None if os.access(folder, os.W_OK) else _Mirror(folder)
        index = Index(SCHEMA, path=str(mirror.folder if mirror else folder))
        index.config_reader("Manual")  # a commit is taken up when the manifest says so, not when tantivy sees it
        return _Commit(index, mirror)

    def _write_files(self, folder: Path, before: Manifest, batch: IndexBatch) -> Manifest:
        """Delete, then add: doing it twice is doing it once. Committed and merged when this returns."""
        named = set(_segment_files(folder))
        for file in folder.glob("*.del"):  # left by a killed writer: tantivy refuses to write the same file again
            if file not in named:
                file.unlink(missing_ok=True)
        index = Index(SCHEMA, path=str(folder))
        index.config_reader("Manual")
        puts = {point.id: point for point in batch.puts}
        gone: list[str] = [*batch.drops, *puts]
        documents = list(map(_document, puts.values()))
        living = Living(SCHEMA, index.searcher())
        if living.is_padded or living.has_any(gone):
            gone.append(PADDING)
            documents.append(padding_of(dict.fromkeys(FIELDS, 1)))
        for _ in range(COMMITS):
            _commit(index, gone, documents)
            gone, documents = [], Living(SCHEMA, index.searcher()).missing_padding()
            if not documents:
                break
        mode = folder.stat().st_mode & 0o666
        for name in (HEAD, MANAGED):  # tantivy writes these for its own user alone
            with suppress(PermissionError):  # written by another user, whose process changed its mode
                (folder / name).chmod(mode)
        head = (folder / HEAD).read_bytes()
        mark = int(json.loads(head)["opstamp"]), zlib.crc32(head)
        return Manifest(before.generation, batch.position, before.writes + 1, head=mark)


def _commit(index: Index, gone: Sequence[str], documents: Sequence[Document]) -> None:
    writer = index.writer(HEAP_BYTES, 1)
    for id_ in gone:
        writer.delete_documents_by_term("id", id_)
    for document in documents:
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()


def _document(point: Point) -> Document:
    document = Document()
    document.add_text("id", point.id)
    document.add_unsigned("key", int(point.id, 16))
    document.add_text("words", " ".join(point.terms.words))
    document.add_text("code", " ".join(point.terms.code))
    for field, length in FIELDS.items():
        document.add_unsigned(length, len(getattr(point.terms, field)))
    for name in point.labels:
        document.add_text("labels", name)
    if point.numbers:
        document.add_json("numbers", {_number_key(name): float(value) for name, value in point.numbers.items()})
    return document


class _Commit:
    """What was committed to a tantivy folder when it was opened, or opened again."""

    def __init__(self, index: Index, mirror: "_Mirror | None") -> None:
        self._index = index
        self._mirror = mirror
        self._searcher = index.searcher()
        self.living = Living(SCHEMA, self._searcher)
        # Both rankings of a question have the same filter, and so has the next question of the same reader.
        self._filter = lru_cache(maxsize=MAX_FILTERS)(partial(_Filter.of, index=index, searcher=self._searcher))

    def following(self) -> "_Commit":
        """What any process has committed since."""
        if self._mirror:
            self._mirror.renew()
        self._index.reload()
        return _Commit(self._index, self._mirror)

    def search(
        self, terms: Sequence[str], field: TermField, conditions: tuple[Condition, ...], limit: int, admits: Admits
    ) -> tuple[Hit, ...]:
        """The `limit` chunks of highest BM25 among those the conditions admit."""
        wanted = min(limit, self.living.count)
        if not terms or wanted <= 0:
            return ()
        narrowing, counts = self._filter(conditions), Counter(terms)
        chosen = self._without_common(field, counts)
        found = self._best(field, chosen, narrowing, admits, wanted)
        if len(found) < wanted and len(chosen) < len(counts):
            found = self._best(field, counts, narrowing, admits, wanted)
        return Hit.best(Rows.ids_of(self._keys(found)), [score for score, _ in found], wanted)

    def _without_common(self, field: TermField, counts: Mapping[str, int]) -> Mapping[str, int]:
        """The terms of a query without those that stand nearly everywhere, which cost most and tell least."""
        if self.living.count < LARGE:
            return counts
        most = MAX_TERM_SHARE * self.living.count
        return {term: count for term, count in counts.items() if self.living.frequency(field, term) <= most}

    def _best(
        self, field: TermField, counts: Mapping[str, int], narrowing: "_Filter", admits: Admits, wanted: int
    ) -> list[Scored]:
        clauses = [
            (Occur.Should, _term_query(field, term, count * self.living.weight(field, term)))
            for term, count in counts.items()
        ]
        if not clauses:
            return []
        found = self._checked_after(Query.boolean_query(clauses), narrowing, admits, wanted)
        return self._with_ties(narrowing.within(clauses), wanted) if found is None else found

    def _checked_after(self, query: Query, narrowing: "_Filter", admits: Admits, wanted: int) -> list[Scored] | None:
        """The best admitted ones of those found without a filter; None where that does not pay, or finds too few."""
        is_small = self._searcher.num_docs < LARGE
        if admits is None or not narrowing.clauses or is_small or narrowing.share < MIN_SHARE:
            return None
        fetched = int(SPARE * wanted / narrowing.share) + 1
        while fetched <= MAX_FETCHED:
            found = self._searcher.search(query, limit=fetched, count=False).hits
            is_admitted = admits(self._keys(found))
            if is_admitted is None:  # a writer has changed the texts and not yet the vectors
                return None
            admitted = [hit for hit, is_in in zip(found, is_admitted.tolist(), strict=True) if is_in]
            # Equal scores may go on beyond what was fetched, and are ordered by id: the last one wanted must be better.
            is_enough = len(admitted) >= wanted and admitted[wanted - 1][0] > found[-1][0]
            if is_enough or len(found) < fetched:
                return admitted
            fetched *= 2
        return None

    def _with_ties(self, query: Query, wanted: int) -> list[Scored]:
        """The best, and all that score as the last of them: tantivy would cut equal scores in an order of its own."""
        fetched = wanted + TIES
        while True:
            found = self._searcher.search(query, limit=fetched, count=False).hits
            if len(found) < fetched or found[wanted - 1][0] > found[-1][0]:
                return found
            fetched *= 2

    def _keys(self, found: Sequence[Scored]) -> Keys:
        keys = self._searcher.fast_field_values("key", [address for _, address in found])  # in bulk
        return np.array(keys, dtype=np.uint64)


def _term_query(field: TermField, term: str, weight: float) -> Query:
    query = Query.term_query(SCHEMA, field, term, "freq")
    return query if weight == 1 else Query.boost_query(query, float(weight))


class _Mirror:
    """A folder of links to one that may not be written to: tantivy takes a lock in its folder even to read."""

    def __init__(self, original: Path) -> None:
        self._original = original
        self._temporary = tempfile.TemporaryDirectory(prefix="citewise-texts-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        self.renew()

    def renew(self) -> None:
        """Link what is new; the head, which is replaced at each commit, comes last and as a copy."""
        for file in self._original.iterdir():
            link = self.folder / file.name
            if file.suffix != ".lock" and file.name != HEAD and not link.exists():
                link.symlink_to(file.resolve())
        shutil.copyfile(self._original / HEAD, self.folder / HEAD)


@dataclass(frozen=True, slots=True)
class _Filter:
    """Conditions as clauses that must hold and do not score, and about which share of the index they admit."""

    clauses: tuple[Clause, ...]
    share: float

    @classmethod
    def of(cls, conditions: Sequence[Condition], index: Index, searcher: Searcher) -> Self:
        clauses: list[Query] = []
        share = 1.0
        for condition in conditions:
            if isinstance(condition, AnyOf):
                clause, admitted = _any_of(condition, searcher)
                clauses.append(clause)
                share *= min(1.0, admitted / max(1, searcher.num_docs))
            else:
                clauses += _between(condition, index)
                share = 0.0  # unknown
        return cls(tuple((Occur.Must, Query.const_score_query(clause, 0.0)) for clause in clauses), share)

    def within(self, terms: Sequence[Clause]) -> Query:
        """What has at least one of the terms, with the same scores, among the admitted chunks."""
        return Query.boolean_query([*terms, *self.clauses], minimum_number_should_match=1)


def _any_of(condition: AnyOf, searcher: Searcher) -> tuple[Query, int]:
    """Only labels that some chunk has: of the readers that a person counts as, most are named nowhere."""
    counts = {name: searcher.doc_freq("labels", name) for name in sorted(condition.labels)}
    named = [name for name, count in counts.items() if count]
    if len(named) == 1:
        return _labeled(named[0]), counts[named[0]]
    if len(named) <= FEW_LABELS:
        union = Query.boolean_query([(Occur.Should, _labeled(name)) for name in named])
    else:
        union = Query.term_set_query(SCHEMA, "labels", named)
    # How many have one of these labels, if labels are independent of each other: many chunks have several.
    missed = prod(1 - min(1.0, counts[name] / max(1, searcher.num_docs)) for name in named)
    return union, round(searcher.num_docs * (1 - missed))


def _labeled(name: str) -> Query:
    return Query.term_query(SCHEMA, "labels", name, "basic")


def _between(condition: Between, index: Index) -> list[Query]:
    """tantivy-py has no range query over a JSON path but the one that its parser makes.

    One clause a side: tantivy panics over a range whose bounds are numbers of two kinds, such as 1 and 2.5.
    """
    field = f"numbers.{_number_key(condition.field)}"
    # As the parser takes numbers: exact, and without an exponent.
    sides = [f"[{Decimal(condition.low):f} TO *]"] if condition.low is not None else []
    sides += [f"[* TO {Decimal(condition.high):f}]"] if condition.high is not None else []
    return [index.parse_query(f"{field}:{side}") for side in sides] or [Query.exists_query(field)]


def _number_key(name: str) -> str:
    """A field name that needs no escaping in a query, whatever an author called it."""
    return f"f{name.encode('utf-8', 'surrogatepass').hex()}"


def _segment_files(folder: Path) -> Iterator[Path]:
    """The files that the index's head names; the head itself, which has no footer, if it cannot be read."""
    head = folder / HEAD
    try:
        segments = [
            (segment["segment_id"].replace("-", ""), (segment["deletes"] or {}).get("opstamp"))
            for segment in json.loads(head.read_text())["segments"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        yield head
        return
    for name, deletes in segments:
        # Other deletions than the ones it names were never committed, or are about to be.
        files = [file for file in folder.glob(f"{name}.*") if file.suffix != ".del"]
        yield from files or [folder / name]
        if deletes is not None:
            yield folder / f"{name}.{deletes}.del"


def _has_head(folder: Path, stamp: int, crc: int) -> bool:
    """Whether the head is the one with this stamp, as it was written, or that of another commit, which a manifest will
    name or a killed writer left: its stamp is another."""
    head = (folder / HEAD).read_bytes()
    try:
        return zlib.crc32(head) == crc or int(json.loads(head)["opstamp"]) != stamp
    except (ValueError, KeyError, TypeError):
        return False


def _has_valid_footer(file: Path) -> bool:
    """tantivy ends each file with a footer that holds the CRC-32 of what stands before it."""
    try:
        with file.open("rb") as opened:
            end = opened.seek(-8, 2)
            length, magic = struct.unpack("<II", opened.read(8))
            opened.seek(end - length)
            footer = json.loads(opened.read(length))
        return magic == FOOTER_MAGIC and bool(footer["crc"] == FileMark.crc_of(file, end - length))
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False
