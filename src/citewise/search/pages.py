"""A search, page by page: the first page searches and has the order held; later ones read on in it.

Reading on takes the next ids of the held order to the catalog, which decides what of them is there for this reader
now. So it costs the same at every depth, nothing comes twice, and nothing that stays where it is gets lost, whatever
is ingested or deleted meanwhile. Few read on for long: a first page holds what its search found anyway, and only who
comes to the end of that has the rankings searched as deep as the settings allow, once.
"""

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from citewise.errors import BadRequest, CitewiseError
from citewise.model.access import Scope
from citewise.model.ids import ChunkId, digest
from citewise.model.paging import Cursor, HeldId, PageRequest, Seal, checked_cursor, expired, purpose_of
from citewise.model.query import SEARCH_TOP_K, Query
from citewise.model.ranking import Candidate, Dropped, Finding, SearchResult
from citewise.ports.rankings import TEXT_BYTES, HeldOrder, HeldOrders, Seen
from citewise.search.adjust import Deduplicate
from citewise.search.hydrate import GONE, without_gaps
from citewise.search.pipeline import Continued, Search, Stopwatch, scaled

NOTHING = bytes(TEXT_BYTES)


class Filling:
    """Takes the candidates of an order one by one, until the page is full and the first of the next one is known."""

    def __init__(self, limit: int, first: int = 0, before: Seen | None = None) -> None:
        self.limit = limit
        self.findings: list[Finding] = []
        self.dropped: list[Dropped] = []
        self.next_place: int | None = None
        self._first = first
        self._before = before or Seen()
        self._texts: list[bytes] = []  # one a place
        self._gone: dict[int, Mapping[str, int]] = {}
        self._lost = list(self._before.gone.values())  # ranks of all that is gone, here and on the pages before
        self._closed_up = 0  # findings whose ranks are final

    @property
    def is_done(self) -> bool:
        return self.next_place is not None

    @property
    def seen(self) -> Seen:
        return Seen(self._first, b"".join(self._texts), dict(self._gone))

    def take(self, place: int, met: Finding | Dropped) -> None:
        """Show it if it is there, says something new and has room; once there is no room, the next page begins."""
        if self.is_done:
            return
        if isinstance(met, Dropped):
            self._miss(place, met)
        elif (text := _text_of(met)) in self._texts or self._before.shows(text):
            self._miss(place, Dropped(met.candidate, Deduplicate.name, "says the same as one that was shown"))
        elif len(self.findings) == self.limit:
            self.next_place = place
        else:
            self.findings.append(met)
            self._texts.append(text)

    def close_up(self) -> tuple[Finding, ...]:
        """The findings, with ranks that have no gaps where something is gone: that would tell of what it was."""
        if self._lost:
            self.findings[self._closed_up :] = [
                replace(one, candidate=without_gaps(one.candidate, self._lost))
                for one in self.findings[self._closed_up :]
            ]
        self._closed_up = len(self.findings)
        return tuple(self.findings)

    def begin_deeper(self) -> None:
        """What follows comes from rankings of another time: what was gone has no place in them."""
        self.close_up()
        self._lost.clear()
        self._gone.clear()

    def _miss(self, place: int, dropped: Dropped) -> None:
        """What is gone for this reader is not even named."""
        self._texts.append(NOTHING)
        if dropped.reason != GONE:
            self.dropped.append(dropped)
            return
        self._gone[place] = dropped.candidate.ranks
        self._lost.append(dropped.candidate.ranks)


def _text_of(finding: Finding) -> bytes:
    """Of the words alone, as deduplication sees them: the digest that a passage has covers its headings too."""
    return bytes.fromhex(digest(finding.passage.text)[: 2 * TEXT_BYTES])


_log = logging.getLogger(__name__)

MAX_DEPTH = 10_000  # hits that a ranking is asked for, however much was written meanwhile


def _new_id() -> HeldId:
    return HeldId(secrets.token_bytes(16))


@dataclass(frozen=True, slots=True)
class Pages:
    """Query and PageRequest -> one page of a SearchResult, and the cursor of the next if there is one."""

    search: Search
    held: HeldOrders
    seal: Seal
    position: Callable[[Scope], int]  # how far the library's log goes
    changed: Callable[[Scope, int], Set[ChunkId]]  # the chunks that were written since a position
    depth: int  # hits that can be leafed through at most
    ttl_seconds: float  # from one page to the next
    notes: tuple[str, ...] = ()  # what is to be said with every cursor
    clock: Callable[[], float] = time.time
    new_id: Callable[[], HeldId] = _new_id

    def __call__(self, query: Query, request: PageRequest) -> SearchResult:
        watch = Stopwatch()
        if request.cursor is None:
            result = self._first(query, request, watch)
        else:
            result = self._next(query, request, self._checked(query, request, request.cursor), watch)
        return replace(result, query=query, timings_ms={**result.timings_ms, **watch.timings_ms()})

    def renewed(self, text: str) -> str | None:
        """A cursor that was given before, with a new life before it; None if what it goes on in is no longer held."""
        cursor = self.seal.read(text)
        if self.held.read(cursor.held, before=0) is None:
            return None
        later = replace(cursor, expires_at=self.clock() + self.ttl_seconds)
        self.held.note(cursor.held, Seen(cursor.place), expires_at=later.expires_at)
        return self.seal.written(later)

    def _first(self, query: Query, request: PageRequest, watch: Stopwatch) -> SearchResult:
        """The head of the ordinary search; what is behind it is held."""
        position = self.position(query.scope)  # before the search: what it finds is at least as new
        found = self._found(query, request)
        findings = found.result.findings[: self.depth]
        page = Filling(request.limit)
        for place, finding in enumerate(findings):
            page.take(place, finding)
        order = self._filled(page, query, self._order(found), first=len(findings), since=position, watch=watch)
        cursor = Cursor(self.new_id(), 0, position, 0.0, purpose_of(query, request))
        keep = partial(watch.timed, "held", partial(self._kept, order, page))
        return self._completed(_with_page(found.result, order, page), cursor, page, keep)

    def _next(self, query: Query, request: PageRequest, cursor: Cursor, watch: Stopwatch) -> SearchResult:
        """What is still there of the ids from the cursor's place on, in the order that is held."""
        order = watch.timed("held", lambda before: self.held.read(cursor.held, before=before), cursor.place)
        if order is None:
            raise BadRequest(expired())
        page = Filling(request.limit, cursor.place, order.seen)
        filled = self._filled(page, query, order, first=cursor.place, since=cursor.position, watch=watch)
        counts = {"candidates": filled.total_candidates, "hydrated": len(page.findings)}
        result = _with_page(SearchResult(query, (), 0, {}, counts), filled, page)
        if filled is order:
            return self._completed(result, cursor, page, partial(self._noted, page))
        return self._completed(result, replace(cursor, held=self.new_id()), page, partial(self._kept, filled, page))

    def _checked(self, query: Query, request: PageRequest, text: str) -> Cursor:
        return checked_cursor(
            self.seal.read(text),
            purpose=purpose_of(query, request),
            position=self.position(query.scope),
            now=self.clock(),
        )

    def _found(self, query: Query, request: PageRequest) -> Continued:
        """With a top_k, its hits and no more; without, those of the usual search and all that stands behind them."""
        if request.is_open:
            return self.search.continued(replace(query, top_k=SEARCH_TOP_K))
        return Continued(self.search(replace(query, top_k=min(query.top_k, self.depth))))

    def _order(self, found: Continued) -> HeldOrder:
        result = found.result
        candidates = (*(one.candidate for one in result.findings), *found.unread)
        return HeldOrder(
            candidates[: self.depth],
            result.total_candidates,
            is_whole=found.is_complete or len(candidates) >= self.depth,
            left_out=tuple(one.candidate.id for one in result.dropped),
            degraded=result.degraded,
            notes=(*result.notes, *self._bound(len(candidates))),
        )

    def _bound(self, found: int) -> tuple[str, ...]:
        """What to say where there is more than can be leafed through."""
        if found <= self.depth:
            return ()
        return (f"paging: only the first {self.depth:,} hits can be leafed through (paging.depth)",)

    def _filled(
        self, page: Filling, query: Query, order: HeldOrder, *, first: int, since: int, watch: Stopwatch
    ) -> HeldOrder:
        """Fill the page from the order, or from a deeper one where that ends too soon; whichever it was in the end."""
        watch.timed("fill", partial(self._fill, page, query, order.candidates), first)
        if page.is_done or order.is_whole:
            return order
        deeper = watch.timed("deepen", partial(self._deepened, page, query, since), order)
        self._fill(page, query, deeper.candidates, len(order.candidates))
        return deeper

    def _fill(self, page: Filling, query: Query, order: Sequence[Candidate], first: int) -> None:
        """Take candidates until the page is full and the first one of the next is known, or until none are left."""
        count = page.limit + 1
        while not page.is_done and first < len(order):
            part = order[first : first + count]
            read = self.search.passages(query, part)
            met: dict[ChunkId, Finding | Dropped] = {one.candidate.id: one for one in read.findings}
            met.update((one.candidate.id, one) for one in read.dropped)
            for place, candidate in enumerate(part, start=first):
                page.take(place, met[candidate.id])
            first += len(part)
            count *= 2  # much is gone: fewer, larger reads

    def _deepened(self, page: Filling, query: Query, since: int, order: HeldOrder) -> HeldOrder:
        """The order, and behind it what deeper rankings find now: nothing that is in it comes again.

        What was written since the first page stands last, and takes no place from what was there before.
        """
        held = tuple(order.candidates)
        gone = {held[place].id for place in (*order.seen.gone, *page.seen.gone)}
        known = {*(one.id for one in held), *order.left_out}
        try:
            newer = self.changed(query.scope, since)
            depth = min(MAX_DEPTH, self.depth + len(newer))
            others, degraded = self.search.deeper(replace(query, top_k=SEARCH_TOP_K), depth, known=known, gone=gone)
        except CitewiseError as error:
            return replace(order, degraded=(*order.degraded, f"paging: {error}; there may be more hits than these"))
        page.begin_deeper()
        behind = held
        for is_newer in (False, True):
            part = [one for one in others if (one.id in newer) is is_newer]
            behind = (*behind, *scaled(part, behind[-1].score if behind else 1.0))
        return HeldOrder(
            behind[: self.depth],
            order.total_candidates + len(others),
            degraded=tuple(dict.fromkeys((*order.degraded, *degraded))),
            notes=(*order.notes, *self._bound(len(behind))),
            seen=replace(order.seen, gone={}),  # deeper rankings are of their own time: they have other ranks
        )

    def _completed(
        self, result: SearchResult, cursor: Cursor, page: Filling, keep: Callable[[Cursor], None]
    ) -> SearchResult:
        """With the cursor of the next page, once it is sure that there will be one."""
        if page.next_place is None:
            return result
        following = replace(cursor, place=page.next_place, expires_at=self.clock() + self.ttl_seconds)
        try:
            keep(following)
        except CitewiseError as error:
            return replace(result, degraded=(*result.degraded, f"paging: {error}; there is no page after this one"))
        return replace(result, next_cursor=self.seal.written(following), notes=(*result.notes, *self.notes))

    def _kept(self, order: HeldOrder, page: Filling, cursor: Cursor) -> None:
        held = replace(order, seen=order.seen.then(page.seen))
        self.held.keep(cursor.held, held, now=self.clock(), expires_at=cursor.expires_at)

    def _noted(self, page: Filling, cursor: Cursor) -> None:
        try:
            self.held.note(cursor.held, page.seen, expires_at=cursor.expires_at)
        except CitewiseError as error:  # what says the same may be shown again: better than no page at all
            _log.warning("could not note what was shown: %s", error)


def _with_page(result: SearchResult, order: HeldOrder, page: Filling) -> SearchResult:
    """The result of the search with what is on this page of it."""
    return replace(
        result,
        findings=page.close_up(),
        total_candidates=order.total_candidates,
        dropped=(*result.dropped, *page.dropped),
        degraded=order.degraded,
        notes=order.notes,
    )
