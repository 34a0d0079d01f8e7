"""BM25 over ready-made terms, by tantivy: two fields, narrowed without touching the score."""

import json
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

from tantivy import Document, Index, Occur, Query, Searcher

from citewise.adapters.local_index.files import crc_of
from citewise.adapters.local_index.vectors import (
    SCHEMA,
    Admits,
    Clause,
    Narrowing,
    Scored,
    checked_after,
    id_to_key,
    ids_of,
    number_key,
)
from citewise.model.chunk import Hit, Point, TermField, best_first, hits_of
from citewise.model.filters import Condition
from citewise.model.ids import ChunkId

HEAP_BYTES = 64_000_000  # tantivy's buffer before it starts a new segment
TRIES, PAUSE_SECONDS = 5, 0.05  # at finding the files of a folder whole while another process writes to it
HEAD, MANAGED = "meta.json", ".managed.json"
NARROWINGS_KEPT = 64  # filters that are remembered as clauses; people ask many questions with few filters
# Hits fetched beyond those wanted, to see that the last one wanted has no equal; 1: for any pair all is fetched twice.
TIES = 4
FOOTER_MAGIC = 1337  # ends every file of a tantivy segment, behind the footer's length


class WordIndex:
    """One tantivy folder, opened for reading; `write` opens a writer for as long as it takes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._mirror = None if os.access(folder, os.W_OK) else _Mirror(folder)
        self._index = Index(SCHEMA, path=str(self._mirror.folder if self._mirror else folder))
        # What others commit is taken up when the shard says so, with its vectors, and not when tantivy sees it.
        self._index.config_reader("Manual")
        self._searched = self._searching()

    def reload(self) -> None:
        """See what was committed since, by whichever process."""
        if self._mirror:
            self._mirror.renew()
        self._index.reload()
        self._searched = self._searching()

    def write(self, puts: Sequence[Point], drops: Collection[ChunkId]) -> None:
        """Delete, then add: doing it twice is doing it once. Committed and merged when this returns."""
        writer = self._index.writer(HEAP_BYTES, 1)
        for id_ in (*drops, *(point.id for point in puts)):
            writer.delete_documents_by_term("id", id_)
        for point in puts:
            writer.add_document(_document(point))
        writer.commit()
        writer.wait_merging_threads()
        self._open_to_readers()
        self.reload()

    def _open_to_readers(self) -> None:
        """tantivy makes these two for its own user alone; whoever may read the folder is to search it."""
        mode = self._folder.stat().st_mode & 0o666
        for name in (HEAD, MANAGED):
            with suppress(PermissionError):  # one that another user made, who has opened it then
                (self._folder / name).chmod(mode)

    def matching(
        self,
        terms: Sequence[str],
        field: TermField,
        conditions: tuple[Condition, ...],
        limit: int,
        *,
        admits: Admits = lambda keys: None,
    ) -> tuple[Hit, ...]:
        """The `limit` chunks of highest BM25 among those the conditions admit."""
        searcher, narrowed_by = self._searched
        wanted = min(limit, searcher.num_docs)
        if not terms or wanted <= 0:
            return ()
        found = _best(searcher, _any_term(dict.fromkeys(terms), field), narrowed_by(conditions), admits, wanted)
        return tuple(best_first(hits_of(ids_of(searcher, found), [score for score, _ in found]))[:wanted])

    def _searching(self) -> tuple[Searcher, Callable[[tuple[Condition, ...]], Narrowing]]:
        """What is committed now, and how it is narrowed: both word rankings of a question narrow alike, and the next
        question of the same reader does."""
        searcher = self._index.searcher()
        return searcher, lru_cache(maxsize=NARROWINGS_KEPT)(partial(Narrowing.by, index=self._index, searcher=searcher))


class _Mirror:
    """A folder of links to one that may not be written to: tantivy takes a lock in its folder even to read."""

    def __init__(self, original: Path) -> None:
        self._original = original
        self._temporary = tempfile.TemporaryDirectory(prefix="citewise-words-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        self.renew()

    def renew(self) -> None:
        """Link what is new; the head, which is replaced at each commit, comes last and as a copy."""
        for file in self._original.iterdir():
            link = self.folder / file.name
            if file.suffix != ".lock" and file.name != HEAD and not link.exists():
                link.symlink_to(file.resolve())
        shutil.copyfile(self._original / HEAD, self.folder / HEAD)


def _document(point: Point) -> Document:
    document = Document()
    document.add_text("id", point.id)
    document.add_unsigned("key", id_to_key(point.id))
    document.add_text(TermField.WORDS.value, " ".join(point.terms.words))
    document.add_text(TermField.CODE.value, " ".join(point.terms.code))
    for name in point.labels:
        document.add_text("labels", name)
    if point.numbers:
        document.add_json("numbers", {number_key(name): float(value) for name, value in point.numbers.items()})
    return document


def _any_term(terms: Iterable[str], field: TermField) -> list[Clause]:
    name = field.value
    return [(Occur.Should, Query.term_query(SCHEMA, name, term, "freq")) for term in terms]


def _best(
    searcher: Searcher, terms: Sequence[Clause], narrowing: Narrowing, admits: Admits, wanted: int
) -> list[Scored]:
    found = checked_after(searcher, Query.boolean_query(terms), narrowing, admits, wanted)
    return _with_ties(searcher, narrowing.within(terms), wanted) if found is None else found


def _with_ties(searcher: Searcher, query: Query, wanted: int) -> list[Scored]:
    """The best, and all that score as the last of them: tantivy would cut equal scores in an order of its own."""
    fetched = wanted + TIES
    while True:
        found = searcher.search(query, limit=fetched, count=False).hits
        if len(found) < fetched or found[wanted - 1][0] > found[-1][0]:
            return found
        fetched *= 2


def is_damaged(folder: Path) -> bool:
    """Whether a file fails its own checksum; asked again for a while, since a writer may be replacing files."""
    for _ in range(TRIES):
        if all(_has_true_footer(file) for file in _segment_files(folder)):
            return False
        time.sleep(PAUSE_SECONDS)
    return True


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


def _has_true_footer(file: Path) -> bool:
    """tantivy ends each file with a footer that holds the CRC-32 of what stands before it."""
    try:
        with file.open("rb") as opened:
            end = opened.seek(-8, 2)
            length, magic = struct.unpack("<II", opened.read(8))
            opened.seek(end - length)
            footer = json.loads(opened.read(length))
        return magic == FOOTER_MAGIC and bool(footer["crc"] == crc_of(file, size=end - length))
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False
