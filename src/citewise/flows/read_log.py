"""The query log as one principal may see it: which rows are theirs, and what they may still see of what was shown.

Every name comes out of the catalog, under its access rule, at the time it is shown; the log itself holds ids alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from citewise.flows.insights import Statistics, shown_chunks, statistics_of, times_shown
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.logged import Logged, Whose
from citewise.model.passage import Passage
from citewise.model.scope import Principal, Scope
from citewise.model.where import Where
from citewise.ports.log_store import LogStore
from citewise.ports.passages import Passages

MOST_ROWS = 50_000  # the newest, that statistics are made of: one or two seconds' work
MOST_DOCUMENTS = 10
CHUNKS_A_DOCUMENT = 5  # tried until one tells the document's name: of a document that changed, some are gone
IDS_A_READ = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SeenDocument:
    """A document that was shown and may still be seen."""

    id: DocumentId
    path: str
    title: str
    times: int  # questions it was shown for


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row whose reader may see all that it names, with the documents' names."""

    row: Logged
    documents: tuple[SeenDocument, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The statistics, and what goes with them."""

    statistics: Statistics
    documents: tuple[SeenDocument, ...]  # shown for most questions first
    lost: int | None  # rows that were dropped instead of written; None: only the owner counts everybody's
    is_cut: bool  # there are older rows than these


@dataclass(frozen=True, slots=True)
class ReadLog:
    """Rows and statistics for whoever asks."""

    store: LogStore
    passages: Passages
    most_rows: int = MOST_ROWS

    def rows(self, scope: Scope, principal: Principal, *, since: float, limit: int) -> tuple[SeenRow, ...]:
        """Newest first."""
        rows = self.store.rows(Whose.of(scope, principal), since=since, limit=limit)
        ids = dict.fromkeys(one.chunk for row in rows for one in row.shown)
        seen = self._seen(ids, Where(scope, principal.readers))
        return tuple(_seen_row(row, seen) for row in rows)

    def overview(self, scope: Scope, principal: Principal, *, since: float, until: float) -> Overview:
        found = self.store.rows(Whose.of(scope, principal), since=since, limit=self.most_rows + 1)
        rows = [row for row in found[: self.most_rows] if row.at <= until]
        documents = self._documents(rows, Where(scope, principal.readers))
        return Overview(
            statistics_of(rows, since=since, until=until),
            tuple(islice(documents, MOST_DOCUMENTS)),
            self.store.lost(scope, since=since) if principal.owns_library else None,
            is_cut=len(found) > self.most_rows,
        )

    def _documents(self, rows: Sequence[Logged], where: Where) -> Iterator[SeenDocument]:
        """Those that may be seen, shown for most questions first; read as far as somebody asks for more."""
        times, chunks = times_shown(rows), shown_chunks(rows)
        for group in _groups(times, IDS_A_READ // CHUNKS_A_DOCUMENT):
            ids = [id_ for document in group for id_ in chunks[document][:CHUNKS_A_DOCUMENT]]
            named = {one.document_id: one for one in self._seen(ids, where).values()}
            for document in group:
                if document in named:
                    yield _seen_document(named[document], times[document])

    def _seen(self, ids: Iterable[ChunkId], where: Where) -> Mapping[ChunkId, Passage]:
        read = (self.passages.passages(group, where=where).passages for group in _groups(ids, IDS_A_READ))
        return {one.chunk_id: one for passages in read for one in passages}


def _seen_row(row: Logged, seen: Mapping[ChunkId, Passage]) -> SeenRow:
    shown = tuple(one for one in row.shown if one.chunk in seen)
    documents = {one.document: seen[one.chunk] for one in shown}
    return SeenRow(replace(row, shown=shown), tuple(_seen_document(one, 1) for one in documents.values()))


def _seen_document(passage: Passage, times: int) -> SeenDocument:
    return SeenDocument(passage.document_id, passage.document, passage.title, times)


def _groups(things: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(things)
    while group := list(islice(left, size)):
        yield group
