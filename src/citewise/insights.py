"""The query log as one principal may see it: which rows are theirs, and what they may still see of what was shown.

Every name comes out of the catalog, under its access rule, at the time it is shown; the log itself holds ids alone.
"""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Self, TypeVar

from citewise.errors import CitewiseError
from citewise.model.access import Principal, Scope
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.logged import Logged, LogScope
from citewise.model.ranking import Passage
from citewise.ports.catalog import PassageReader
from citewise.ports.stores import LogStore

_log = logging.getLogger(__name__)

PERCENTILES = (50, 95, 99)
MAX_DAYS = 400  # that are listed one by one, with those on which nobody asked: longer than any year
MAX_QUESTIONS = 10  # of each kind that are listed: a list to read, not an archive
NEAR_TOP = 5  # of what was shown for a question: what a person looks at, and an answer's default

MAX_ROWS = 50_000  # the newest, that statistics are made of: one or two seconds' work
MAX_DOCUMENTS = 10
CHUNKS_A_DOCUMENT = 5  # tried until one tells the document's name: of a document that changed, some are gone
IDS_A_READ = 500
POPULAR_SECONDS = 30 * 86_400.0  # a month: less forgets over a holiday, more remembers what nobody asks any more
MAX_POPULAR_ROWS = 1_000  # the newest, that are counted: some 25 ms to read

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was asked, maybe several times, in the words of the last time."""

    text: str
    times: int
    last_at: float
    quality: float | None  # of the worst answer


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one kind: how many, which share of those that could be, and the most frequent."""

    count: int
    share: float | None  # None: nothing was asked that could be of this kind
    questions: tuple[AskedQuestion, ...]


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
    """What the rows of a time tell together. Days and hours are UTC."""

    since: float
    until: float
    kinds: Mapping[str, int]  # how many searches, how many asks
    per_day: Mapping[str, int]  # by date, from the first question to the last; days without any too
    per_hour: tuple[int, ...]  # of the day
    latencies_ms: tuple[float, ...]  # of each question that got a result
    cache_hit_rate: float | None
    degraded_share: float | None
    degraded: Mapping[str, int]  # by part, most often first
    errors: Mapping[str, int]  # by kind, most often first
    unanswered: Group  # nothing was found, or it did not suffice
    poor: Group  # answered with a warning
    documents: tuple[SeenDocument, ...] = ()  # shown for most questions first
    lost: int | None = None  # rows that were dropped instead of written; None: only the owner counts everybody's
    is_cut: bool = False  # there are older rows than these

    @classmethod
    def of(cls, rows: Sequence[Logged], *, since: float, until: float) -> Self:
        """Every figure over the same rows; order does not matter."""
        served = [row for row in rows if row.error is None]
        hours = Counter(_moment(row.at).hour for row in rows)
        return cls(
            since=since,
            until=until,
            kinds={kind: sum(row.kind == kind for row in rows) for kind in ("search", "ask")},
            per_day=_per_day(rows),
            per_hour=tuple(hours[hour] for hour in range(24)),
            latencies_ms=tuple(row.latency_ms for row in served),
            cache_hit_rate=_share(served, lambda row: row.is_cache_hit),
            degraded_share=_share(served, lambda row: bool(row.degraded)),
            degraded=_counted(part for row in served for part in row.degraded),
            errors=_counted(row.error for row in rows if row.error is not None),
            unanswered=_group(served, lambda row: row.is_unanswered),
            poor=_group([row for row in served if row.sufficient_context], lambda row: row.is_poor),
        )

    @property
    def queries(self) -> int:
        return sum(self.kinds.values())

    @property
    def latency_ms(self) -> Mapping[str, float]:
        """p50, p95 and p99; empty where nothing was asked."""
        return percentiles(self.latencies_ms)


@dataclass(frozen=True, slots=True)
class ReadLog:
    """Rows, statistics and popular passages, as a principal may see them."""

    store: LogStore
    catalog: PassageReader
    max_rows: int = MAX_ROWS
    now: Callable[[], float] = time.time

    def rows(self, scope: Scope, principal: Principal, *, since: float, limit: int) -> tuple[SeenRow, ...]:
        """Newest first."""
        rows = self.store.rows(LogScope.of(scope, principal), since=since, limit=limit)
        ids = dict.fromkeys(chunk for row in rows for chunk, _ in row.shown)
        seen = {passage.chunk_id: passage for passage in self._passages(ids, Where(scope, principal.readers))}
        return tuple(_seen_row(row, seen) for row in rows)

    def overview(self, scope: Scope, principal: Principal, *, since: float) -> Overview:
        until = self.now()
        found = self.store.rows(LogScope.of(scope, principal), since=since, limit=self.max_rows + 1)
        rows = [row for row in found[: self.max_rows] if row.at <= until]
        documents = self._documents(rows, Where(scope, principal.readers))
        return replace(
            Overview.of(rows, since=since, until=until),
            documents=tuple(islice(documents, MAX_DOCUMENTS)),
            lost=self.store.lost(scope, since=since) if principal.owns_library else None,
            is_cut=len(found) > self.max_rows,
        )

    def popular(self, where: Where, limit: int) -> tuple[Passage, ...]:
        """Passages shown most of late; none if a filter is set, or if the log or the catalog cannot be read.

        Everybody's questions count, but only for passages that this reader may see: their order says nothing about
        how often others asked about anything else.
        """
        if where.conditions:
            return ()
        try:
            rows = self.store.rows(LogScope(where.scope), since=self.now() - POPULAR_SECONDS, limit=MAX_POPULAR_ROWS)
            return tuple(islice(self._passages(_most_shown(rows), where), limit))
        except CitewiseError as error:
            _log.info("popular passages cannot be shown: %s", error)
            return ()

    def _documents(self, rows: Sequence[Logged], where: Where) -> Iterator[SeenDocument]:
        """Those that may be seen, shown for most questions first; read as far as somebody asks for more."""
        times, chunks = _times_shown(rows), _shown_chunks(rows)
        for group in _groups(times, IDS_A_READ // CHUNKS_A_DOCUMENT):
            ids = [id_ for document in group for id_ in chunks[document][:CHUNKS_A_DOCUMENT]]
            named = {passage.document_id: passage for passage in self._passages(ids, where)}
            for document in group:
                if document in named:
                    yield _seen_document(named[document], times[document])

    def _passages(self, ids: Iterable[ChunkId], where: Where) -> Iterator[Passage]:
        for group in _groups(ids, IDS_A_READ):
            found = self.catalog.passages(group, where=where).values()
            yield from (each for each in found if isinstance(each, Passage))


def _seen_row(row: Logged, seen: Mapping[ChunkId, Passage]) -> SeenRow:
    shown = tuple((chunk, document) for chunk, document in row.shown if chunk in seen)
    documents = {document: seen[chunk] for chunk, document in shown}
    return SeenRow(replace(row, shown=shown), tuple(_seen_document(passage, 1) for passage in documents.values()))


def _seen_document(passage: Passage, times: int) -> SeenDocument:
    return SeenDocument(passage.document_id, passage.document, passage.title, times)


def _groups(things: Iterable[Name], size: int) -> Iterator[list[Name]]:
    left = iter(things)
    while group := list(islice(left, size)):
        yield group


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99, interpolated between neighbors; empty where there is nothing to say."""
    if not values:
        return {}
    ordered, last = sorted(values), len(values) - 1
    found = {}
    for percent in PERCENTILES:
        at = percent / 100 * last
        low = math.floor(at)
        found[f"p{percent}"] = ordered[low] + (at - low) * (ordered[min(low + 1, last)] - ordered[low])
    return found


def _times_shown(rows: Iterable[Logged]) -> Mapping[DocumentId, int]:
    """How many questions each document was shown for, most first; equal ones in order of their ids."""
    return _counted(document for row in rows for document in {document for _, document in row.shown})


def _shown_chunks(rows: Iterable[Logged]) -> Mapping[DocumentId, tuple[ChunkId, ...]]:
    """The chunks that were shown of each document, in the order of the rows."""
    chunks: dict[DocumentId, dict[ChunkId, None]] = {}
    for row in rows:
        for chunk, document in row.shown:
            chunks.setdefault(document, {})[chunk] = None
    return {document: tuple(found) for document, found in chunks.items()}


def _most_shown(rows: Iterable[Logged]) -> tuple[ChunkId, ...]:
    """Chunks by the number of questions they stood near the top for, most first; equal ones in order of their ids.

    What was shown by a search that had lost a part does not count: it may have been shown for being popular.
    """
    whole = (row for row in rows if not row.degraded)
    return tuple(_counted(chunk for row in whole for chunk, _ in row.shown[:NEAR_TOP]))


def _per_day(rows: Iterable[Logged]) -> Mapping[str, int]:
    asked = Counter(_moment(row.at).date() for row in rows)
    if not asked:
        return {}
    first, last = min(asked), max(asked)
    days = min((last - first).days, MAX_DAYS - 1)
    return {day.isoformat(): asked[day] for day in (last - timedelta(left) for left in range(days, -1, -1))}


def _group(rows: Sequence[Logged], belongs: Callable[[Logged], bool]) -> Group:
    found = [row for row in rows if belongs(row)]
    same: dict[str, list[Logged]] = {}
    for row in found:
        if row.text is not None:
            same.setdefault(" ".join(row.text.casefold().split()), []).append(row)
    questions = sorted(map(_question, same.values()), key=lambda asked: (-asked.times, -asked.last_at, asked.text))
    return Group(len(found), _share(rows, belongs), tuple(questions[:MAX_QUESTIONS]))


def _question(rows: Sequence[Logged]) -> AskedQuestion:
    last = max(rows, key=lambda row: row.at)
    worst = min((row.quality for row in rows if row.quality is not None), default=None)
    return AskedQuestion(last.text or "", len(rows), last.at, worst)


def _share(rows: Sequence[Logged], belongs: Callable[[Logged], bool]) -> float | None:
    return sum(map(belongs, rows)) / len(rows) if rows else None


def _counted(things: Iterable[Name]) -> Mapping[Name, int]:
    """Most often first, equal ones by name."""
    return dict(sorted(Counter(things).items(), key=lambda pair: (-pair[1], pair[0])))


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
