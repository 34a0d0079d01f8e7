"""Rows of the query log -> how much, how fast, how well. Pure: who may see which rows is decided before."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from citewise.evaluate.summary import percentiles
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.logged import Logged, Way

HOURS = 24
MOST_DAYS = 400  # that are listed one by one, with those on which nobody asked: longer than any year
MOST_QUESTIONS = 10  # of each kind that are listed: a list to read, not an archive
NEAR_TOP = 5  # of what was shown for a question: what a person looks at, and an answer's default

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
class Statistics:
    """What the rows of a time tell together. Days and hours are UTC."""

    since: float
    until: float
    ways: Mapping[str, int]  # how many searches, how many asks
    per_day: Mapping[str, int]  # by date, from the first question to the last; days without any too
    per_hour: tuple[int, ...]  # of the day
    latency_ms: Mapping[str, float]  # p50, p95, p99; empty where nothing was asked
    latencies_ms: tuple[float, ...]  # of each question that got a result
    cache_hit_rate: float | None
    degraded_share: float | None
    degraded: Mapping[str, int]  # by part, most often first
    errors: Mapping[str, int]  # by kind, most often first
    unanswered: Group  # nothing was found, or it did not suffice
    poor: Group  # answered with a warning

    @property
    def queries(self) -> int:
        return sum(self.ways.values())


def statistics_of(rows: Sequence[Logged], *, since: float, until: float) -> Statistics:
    """Every figure over the same rows; order does not matter."""
    served = [row for row in rows if row.error is None]
    return Statistics(
        since=since,
        until=until,
        ways={way.value: sum(row.way is way for row in rows) for way in Way},
        per_day=_per_day(rows),
        per_hour=_per_hour(rows),
        latency_ms=percentiles([row.latency_ms for row in served]),
        latencies_ms=tuple(row.latency_ms for row in served),
        cache_hit_rate=_share(served, lambda row: row.is_cache_hit),
        degraded_share=_share(served, lambda row: bool(row.degraded)),
        degraded=_counted(part for row in served for part in row.degraded),
        errors=_counted(row.error for row in rows if row.error is not None),
        unanswered=_group(served, lambda row: row.is_unanswered),
        poor=_group([row for row in served if row.sufficient_context], lambda row: row.is_poor),
    )


def times_shown(rows: Iterable[Logged]) -> Mapping[DocumentId, int]:
    """How many questions each document was shown for, most first; equal ones in order of their ids."""
    return _counted(document for row in rows for document in dict.fromkeys(one.document for one in row.shown))


def shown_chunks(rows: Iterable[Logged]) -> Mapping[DocumentId, tuple[ChunkId, ...]]:
    """The chunks that were shown of each document, in the order of the rows."""
    chunks: dict[DocumentId, dict[ChunkId, None]] = {}
    for row in rows:
        for one in row.shown:
            chunks.setdefault(one.document, {})[one.chunk] = None
    return {document: tuple(found) for document, found in chunks.items()}


def most_shown(rows: Iterable[Logged]) -> tuple[ChunkId, ...]:
    """Chunks by the number of questions they stood near the top for, most first; equal ones in order of their ids.

    What was shown by a search that had lost a part does not count: it may have been shown for being popular.
    """
    whole = (row for row in rows if not row.degraded)
    return tuple(_counted(one.chunk for row in whole for one in row.shown[:NEAR_TOP]))


def _per_day(rows: Iterable[Logged]) -> Mapping[str, int]:
    asked = Counter(_moment(row.at).date() for row in rows)
    if not asked:
        return {}
    first, last = min(asked), max(asked)
    days = min((last - first).days, MOST_DAYS - 1)
    return {day.isoformat(): asked[day] for day in (last - timedelta(left) for left in range(days, -1, -1))}


def _per_hour(rows: Iterable[Logged]) -> tuple[int, ...]:
    asked = Counter(_moment(row.at).hour for row in rows)
    return tuple(asked[hour] for hour in range(HOURS))


def _group(rows: Sequence[Logged], belongs: Callable[[Logged], bool]) -> Group:
    found = [row for row in rows if belongs(row)]
    same: dict[str, list[Logged]] = {}
    for row in found:
        if row.text is not None:
            same.setdefault(" ".join(row.text.casefold().split()), []).append(row)
    questions = sorted(map(_question, same.values()), key=lambda one: (-one.times, -one.last_at, one.text))
    return Group(len(found), _share(rows, belongs), tuple(questions[:MOST_QUESTIONS]))


def _question(rows: Sequence[Logged]) -> AskedQuestion:
    last = max(rows, key=lambda row: row.at)
    worst = min((row.quality for row in rows if row.quality is not None), default=None)
    return AskedQuestion(last.text or "", len(rows), last.at, worst)


def _share(rows: Sequence[Logged], belongs: Callable[[Logged], bool]) -> float | None:
    return sum(map(belongs, rows)) / len(rows) if rows else None


def _counted(things: Iterable[Name]) -> Mapping[Name, int]:
    """Most often first, equal ones by name."""
    return dict(sorted(Counter(things).items(), key=lambda one: (-one[1], one[0])))


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
