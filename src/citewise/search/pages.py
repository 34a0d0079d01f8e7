"""A search page by page. The first page searches and saves its ranking; later pages read on in what was saved.

The catalog decides for each page which of the saved ids this reader may see now. So nothing is shown twice, nothing
that stays in the library is left out, and every page costs the same, whatever is ingested or deleted meanwhile. The
first page saves what its search found anyway; only a reader who reaches the end of that has deeper rankings made, once.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citewise.errors import BadRequest, CitewiseError, part_failed
from citewise.model.ids import ChunkId, digest
from citewise.model.query import NOT_SHARED, SEARCH_TOP_K, START_AGAIN, UNKNOWN_CURSOR, PageRequest, Query
from citewise.model.ranking import Candidate, Dropped, Finding, SearchResult
from citewise.ports.stores import RankingStore, SavedRanking
from citewise.search.adjust import Deduplicate
from citewise.search.cache import key_parts
from citewise.search.pipeline import Search, Stopwatch


@dataclass(frozen=True, slots=True)
class PageBuilder:
    """Query and PageRequest -> one page of a SearchResult, with the cursor of the next page if there is one.

    A cursor is a random token for a saved ranking. It is accepted only for the search and the reader it was given to.
    """

    search: Search
    rankings: RankingStore
    depth: int  # hits that can be paged through at most
    ttl_seconds: float  # from one page to the next
    clock: Callable[[], float] = time.time

    def __call__(self, query: Query, request: PageRequest) -> SearchResult:
        stopwatch = Stopwatch()
        if request.cursor is None:
            result, ranking = self._begun(query, request)
            page = _Page(request.limit, read={finding.candidate.id: finding for finding in result.findings})
            stopwatch.lap(None)
        else:
            ranking = self._loaded(query, request, request.cursor)
            result = SearchResult(query, (), 0, {}, {"candidates": ranking.total_candidates})
            page = _Page(request.limit, shown=set(ranking.shown))
            stopwatch.lap("load")
        self._fill(page, query, ranking.candidates)
        stopwatch.lap("fill")
        if page.next_place is None and not ranking.is_complete:
            ranking = self._deepened(query, ranking)
            self._fill(page, query, ranking.candidates)
            stopwatch.lap("deepen")
        result = replace(
            result,
            query=query,
            findings=tuple(page.findings),
            total_candidates=ranking.total_candidates,
            counts={**result.counts, "hydrated": result.counts.get("hydrated", len(page.findings))},
            dropped=(*result.dropped, *page.dropped),
            degraded=tuple(dict.fromkeys((*ranking.degraded, *page.degraded))),
            notes=ranking.notes,
        )
        if query.principal.readers is not None:
            # Ranks run on from page to page: a gap in them would tell a reader of something that is hidden or deleted.
            findings = tuple(replace(hit, candidate=replace(hit.candidate, ranks={})) for hit in result.findings)
            dropped = tuple(replace(each, candidate=replace(each.candidate, ranks={})) for each in result.dropped)
            result = replace(result, findings=findings, dropped=dropped)
        if page.next_place is not None:
            rest = replace(ranking.after(page.next_place), shown=frozenset(page.shown))
            result = self._with_cursor(result, rest)
            stopwatch.lap("save")
        return replace(result, timings_ms={**result.timings_ms, **stopwatch.timings_ms()})

    def renewed(self, cursor: str) -> str | None:
        """The cursor, valid for as long as a new one; None if its ranking is no longer saved."""
        now = self.clock()
        return cursor if self.rankings.renew(cursor, now=now, expires_at=now + self.ttl_seconds) else None

    def _begun(self, query: Query, request: PageRequest) -> tuple[SearchResult, SavedRanking]:
        """With a top_k, its hits and no more; without, those of the usual search and everything behind them."""
        unread: tuple[Candidate, ...] = ()
        is_complete = True
        if request.is_open:
            result, unread, is_complete = self.search.continued(replace(query, top_k=SEARCH_TOP_K))
        else:
            result = self.search(replace(query, top_k=min(query.top_k, self.depth)))
        candidates = (*(finding.candidate for finding in result.findings), *unread)
        return result, SavedRanking(
            _purpose(query, request),
            candidates[: self.depth],
            result.total_candidates,
            is_complete=is_complete or len(candidates) >= self.depth,
            known=tuple(dropped.candidate.id for dropped in result.dropped),
            degraded=result.degraded,
            notes=(*result.notes, *self._bound(len(candidates))),
        )

    def _bound(self, found: int) -> tuple[str, ...]:
        if found <= self.depth:
            return ()
        return (f"paging: only the first {self.depth:,} hits can be paged through (paging.depth)",)

    def _loaded(self, query: Query, request: PageRequest, cursor: str) -> SavedRanking:
        ranking = self.rankings.load(cursor, now=self.clock())
        if ranking is None:
            raise BadRequest(UNKNOWN_CURSOR)
        if ranking.purpose != _purpose(query, request):
            raise BadRequest(
                "the cursor belongs to another search: repeat the question, filters, options and who asks as they "
                f"were, or {START_AGAIN}"
            )
        return ranking

    def _fill(self, page: "_Page", query: Query, candidates: Sequence[Candidate]) -> None:
        """Take candidates until the page is full and the first hit of the next one is known, or none are left."""
        count = page.limit + 1
        while page.next_place is None and page.place < len(candidates):
            part = candidates[page.place : page.place + count]
            met: dict[ChunkId, Finding | Dropped] = {**page.read}
            if unread := [candidate for candidate in part if candidate.id not in met]:
                read = self.search.passages(query, unread)
                met |= {finding.candidate.id: finding for finding in read.findings}
                met |= {dropped.candidate.id: dropped for dropped in read.dropped}
                page.degraded += read.degraded
            for candidate in part:
                page.take(met.get(candidate.id))
            count *= 2  # much is gone: fewer, larger reads

    def _deepened(self, query: Query, ranking: SavedRanking) -> SavedRanking:
        """The ranking, and behind it what deeper rankings find now that is not in it."""
        known = {*(candidate.id for candidate in ranking.candidates), *ranking.known}
        last = ranking.candidates[-1].score if ranking.candidates else 1.0
        usual = replace(query, top_k=SEARCH_TOP_K)
        try:
            others, degraded = self.search.deeper(usual, self.depth, known=known, highest=last)
        except CitewiseError as error:
            problem = part_failed("paging", error, "there may be more hits than these")
            return replace(ranking, degraded=(*ranking.degraded, problem))
        candidates = (*ranking.candidates, *others)
        return replace(
            ranking,
            candidates=candidates[: self.depth - ranking.place],
            total_candidates=ranking.total_candidates + len(others),
            is_complete=True,
            degraded=tuple(dict.fromkeys((*ranking.degraded, *degraded))),
            notes=(*ranking.notes, *self._bound(ranking.place + len(candidates))),
        )

    def _with_cursor(self, result: SearchResult, rest: SavedRanking) -> SearchResult:
        now, cursor = self.clock(), f"c{secrets.token_urlsafe(24)}"  # a dash in front would be an option of a command
        try:
            self.rankings.save(cursor, rest, now=now, expires_at=now + self.ttl_seconds)
        except CitewiseError as error:
            return result.with_degraded(part_failed("paging", error, "there is no page after this one"))
        notes = result.notes if self.rankings.is_shared else (*result.notes, NOT_SHARED)
        return replace(result, next_cursor=cursor, notes=notes)


@dataclass(slots=True)
class _Page:
    """A page that is being filled."""

    limit: int
    place: int = 0  # of the next candidate
    shown: set[str] = field(default_factory=set)  # digests of the texts that were shown, on earlier pages too
    read: Mapping[ChunkId, Finding] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    next_place: int | None = None  # where the next page begins, once this one is full

    def take(self, met: Finding | Dropped | None) -> None:
        """Show it if its text is new; once the page is full, the next one begins with it. None: it is gone."""
        if self.next_place is not None:
            return
        if isinstance(met, Dropped):
            self.dropped.append(met)
        elif met is None:
            pass
        elif (text := digest(met.passage.text)[:16]) in self.shown:
            reason = "says the same as one that was shown"
            self.dropped.append(Dropped(met.candidate, Deduplicate.name, reason, met.passage.place))
        elif len(self.findings) == self.limit:
            self.next_place = self.place
            return
        else:
            self.findings.append(met)
            self.shown.add(text)
        self.place += 1


def _purpose(query: Query, request: PageRequest) -> str:
    """Everything that decides which hits there are and in which order; the size of a page does not."""
    bounded = replace(query, top_k=SEARCH_TOP_K) if request.is_open else query
    return digest(query.text, str(request.is_open), *key_parts(bounded))
