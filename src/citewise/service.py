"""The life of a request: log(cache(fallback(search))), for a search and for an answer."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from citewise.errors import BadRequest, CitewiseError, Unavailable, part_failed
from citewise.library import LibraryReader
from citewise.model.answer import Answer, AnswerEvents, Cited, Done, Failed, Message, Sources, Token
from citewise.model.cancellation import Cancellation
from citewise.model.ids import DocumentId
from citewise.model.logged import Logged, RequestKind
from citewise.model.query import GROUNDING_TOP_K, SECTIONS_PER_SOURCE, PageRequest, Query
from citewise.model.ranking import POPULAR, Candidate, Finding, Passage, SearchResult
from citewise.ports.stores import QueryLog
from citewise.search.cache import ResultCache
from citewise.text.urls import Addresses

if TYPE_CHECKING:  # a search starts sooner without what answers
    from citewise.answer.pipeline import AnswerPipeline

MAX_SHOWN = 20  # ids that the log keeps of one question: a default search, or the largest page
ABANDONED = "abandoned"  # instead of an error's name: the caller disconnected before the answer was complete
MAX_PART_CHARACTERS = 40  # of the name of a degraded part, in the log
CACHE = "cache"  # the only stage of a cached result
NOTE_POPULAR = "popular: passages that are often read, not results for this question"
REMEDY = "try again in a moment; if it keeps failing, `citewise doctor` says what to repair"


class Service:
    """Serves searches and answers over a library that is held open. Threads may share it.

    `pipeline` makes what answers; it is called for the first answer.
    """

    def __init__(
        self,
        library: LibraryReader,
        pipeline: "Callable[[], AnswerPipeline]",
        *,
        log: QueryLog,
        cache: ResultCache | None = None,
        addresses: Addresses | None = None,
        count_tokens: Callable[[str], int] = lambda text: 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.library = library
        self._make_pipeline = pipeline
        self._pipeline: AnswerPipeline | None = None
        self._log = log
        self._cache = cache
        self._addresses = addresses or Addresses()
        self._count_tokens = count_tokens
        self._clock = clock

    def search(self, query: Query, page: PageRequest | None = None) -> SearchResult:
        """Search, or fetch a page of a search. Later pages are neither logged nor cached: the first one was."""
        if page is not None and page.cursor is not None:
            return self.library.search(query, page)
        started = self._clock()
        key = self._cache.key(query, "search", page) if self._cache else None
        try:
            cached = self._cache.found(key) if self._cache else None
            if isinstance(cached, SearchResult):
                result = self._served_again(cached, query, started)
            else:
                result = _without_cache(self._search_or_popular(query, page), cached)
                if self._cache is not None:
                    self._cache.keep(key, result)
        except BadRequest:
            raise  # a request that cannot be served is not part of the log
        except Exception as error:
            self._log_failure(query, "search", type(error).__name__, self._clock() - started)
            raise
        self._log.add(self._with_tokens(_search_row(query, result, self._clock() - started)))
        return result

    def ask(
        self, query: Query, history: Sequence[Message] = (), cancellation: Cancellation | None = None
    ) -> AnswerEvents:
        """Answer, event by event. The library is needed for the search alone: a slow generator keeps nothing open."""
        started = resumed = self._clock()
        spent, is_logged = 0.0, False
        try:
            pipeline = self._pipeline = self._pipeline or self._make_pipeline()
            key = self._cache.key(query, "ask", pipeline.generator.name, *history) if self._cache else None
            cached = self._cache.found(key) if self._cache else None
            if isinstance(cached, Answer):
                events = _replayed(replace(cached, result=self._served_again(cached.result, query, started)))
            else:
                stop = cancellation or Cancellation()
                stop.raise_if_cancelled()
                found = self._search_or_popular(replace(query, top_k=max(GROUNDING_TOP_K, query.top_k)))
                depth = SECTIONS_PER_SOURCE * query.top_k if pipeline.only_quotes else 0
                found, sections = self.library.sections(query, found, depth=depth) if depth else (found, ())
                found = _without_cache(found, cached)
                events = pipeline.ask(query, found, sections, history=history, cancellation=stop)
            with closing(events):
                for event in events:
                    spent += self._clock() - resumed
                    if isinstance(event, Done):
                        if self._cache is not None and not isinstance(cached, Answer):
                            self._cache.keep(key, event.answer)
                        self._log.add(self._with_tokens(_answer_row(query, event.answer, spent)))
                    elif isinstance(event, Failed):
                        self._log_failure(query, "ask", type(event.error).__name__, spent)
                    is_logged = is_logged or isinstance(event, Done | Failed)
                    yield event
                    resumed = self._clock()  # the time that the consumer takes is not ours
        except BadRequest:
            raise
        except Exception as error:
            self._log_failure(query, "ask", type(error).__name__, spent + self._clock() - resumed)
            raise
        except GeneratorExit:
            if not is_logged:
                self._log_failure(query, "ask", ABANDONED, spent)
            raise

    def flush_log(self) -> None:
        """Write every row that was added until now."""
        self._log.flush()

    def close(self) -> None:
        """Write the log and close the library."""
        self._log.flush()
        self.library.close()

    def _search_or_popular(self, query: Query, page: PageRequest | None = None) -> SearchResult:
        """Search; if no ranking answers or the catalog does not, show popular passages that the reader may see."""
        started = time.perf_counter()
        try:
            return self.library.search(query, page)
        except Unavailable as error:
            passages = self._popular(query, error, limit=query.top_k if page is None else min(query.top_k, page.limit))
            return SearchResult(
                query,
                findings=tuple(
                    Finding(
                        passage, Candidate(passage.chunk_id, 0.0, scores={}, ranks={}), self._addresses.url(passage)
                    )
                    for passage in passages
                ),
                total_candidates=0,
                timings_ms={"total": 1000 * (time.perf_counter() - started)},
                counts={POPULAR: len(passages)},
                degraded=(part_failed("search", error, "popular passages are shown instead"),),
                notes=(NOTE_POPULAR,),
            )

    def _popular(self, query: Query, failure: Unavailable, *, limit: int) -> tuple[Passage, ...]:
        """Popular passages, or the failure of the search with a remedy if there are none."""
        try:
            passages = self.library.popular(query.where, limit)
        except CitewiseError as error:
            also = "" if str(error) in str(failure) else f" ({error})"
            raise Unavailable(f"{failure}; popular passages cannot be shown either{also}: {REMEDY}") from failure
        if not passages:
            raise Unavailable(f"{failure}; there are no popular passages to show instead: {REMEDY}") from failure
        return passages

    def _served_again(self, cached: SearchResult, query: Query, started: float) -> SearchResult:
        took_ms = 1000 * (self._clock() - started)
        return replace(cached, query=query, cache_hit=True, timings_ms={CACHE: took_ms, "total": took_ms})

    def _log_failure(self, query: Query, kind: RequestKind, error: str, seconds: float) -> None:
        if self.library.was_opened:  # else the log would be written to what may be no library of ours
            self._log.add(replace(Logged.of(query, kind, seconds), error=error))

    def _with_tokens(self, row: Logged) -> Logged:
        if row.is_cache_hit or row.text is None:
            return row
        with suppress(Exception):  # the tokenizer cannot be loaded: then nothing was embedded either
            return replace(row, embedding_tokens=self._count_tokens(row.text))
        return row


def _without_cache(found: SearchResult, cached: object) -> SearchResult:
    """What was found where the cache had nothing, or could not be used."""
    return found.with_degraded(part_failed(CACHE, cached)) if isinstance(cached, CitewiseError) else found


def _replayed(answer: Answer) -> AnswerEvents:
    yield Sources(tuple(replace(citation, n=None) for citation in answer.citations))
    yield Token(answer.text)
    for citation in answer.citations:
        yield Cited(citation)
    yield Done(answer)


def _search_row(query: Query, result: SearchResult, seconds: float) -> Logged:
    # Popular passages are not counted as shown: they would make themselves more popular.
    found = () if result.is_popular else result.findings[:MAX_SHOWN]
    return replace(
        Logged.of(query, "search", seconds),
        candidates=result.total_candidates,
        hits=len(result.findings),
        is_cache_hit=result.cache_hit,
        # The names of parts alone: a message may hold paths and hosts.
        degraded=tuple(dict.fromkeys(text.partition(":")[0][:MAX_PART_CHARACTERS] for text in result.degraded)),
        shown=tuple((finding.passage.chunk_id, finding.passage.document_id) for finding in found),
    )


def _answer_row(query: Query, answer: Answer, seconds: float) -> Logged:
    quality, is_cached = answer.quality, answer.result.cache_hit
    return replace(
        _search_row(query, answer.result, seconds),
        kind="ask",
        quality=quality.overall,
        confidence=quality.retrieval_confidence,
        has_warning=quality.warning is not None,
        sufficient_context=answer.sufficient_context,
        tokens_in=0 if is_cached else answer.usage.prompt_tokens,
        tokens_out=0 if is_cached else answer.usage.answer_tokens,
        shown=tuple(
            (citation.chunk_id, DocumentId(citation.document_id))
            for citation in answer.citations[:MAX_SHOWN]
            if citation.document_id is not None
        ),
    )
