"""A search or an ask that leaves one row in the query log, however it ends. Nothing is written here."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Concatenate, Generic, ParamSpec

from citewise.errors import BadRequest, CitewiseError
from citewise.model.answer import Answer, AnswerEvents, Citation, Done, Failed
from citewise.model.ids import DocumentId
from citewise.model.logged import ABANDONED, MAX_SHOWN, Asker, Logged, ShownChunk, Way
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.ports.stores import QueryLog

MAX_LETTERS = 40  # of a part's name, in front of what went wrong with it

Rest = ParamSpec("Rest")  # whatever else the search or the ask takes: a page, a history


@dataclass(frozen=True, slots=True)
class LoggedSearch(Generic[Rest]):
    """The search it wraps, and a row for each of its results."""

    search: Callable[Concatenate[Query, Rest], SearchResult]
    log: QueryLog
    clock: Callable[[], float] = time.perf_counter
    count: Callable[[str], int] = lambda text: 0  # tokens of a question, as the embedding model counts them

    def __call__(self, query: Query, /, *args: Rest.args, **named: Rest.kwargs) -> SearchResult:
        started = self.clock()
        try:
            result = self.search(query, *args, **named)
        except BadRequest:
            raise  # what cannot be asked is no question
        except CitewiseError as error:
            self.log.add(_failed(query, Way.SEARCH, type(error).__name__, self.clock() - started))
            raise
        self.log.add(_with_tokens(_searched(query, result, self.clock() - started), self.count))
        return result


@dataclass(frozen=True, slots=True)
class LoggedAsk(Generic[Rest]):
    """The ask it wraps, and a row for each answer: when it is there, when it fails, or when nobody waits for it."""

    ask: Callable[Concatenate[Query, Rest], AnswerEvents]
    log: QueryLog
    clock: Callable[[], float] = time.perf_counter
    count: Callable[[str], int] = lambda text: 0  # tokens of a question, as the embedding model counts them

    def __call__(self, query: Query, /, *args: Rest.args, **named: Rest.kwargs) -> AnswerEvents:
        spent, resumed, is_logged = 0.0, self.clock(), False
        try:
            with closing(self.ask(query, *args, **named)) as events:
                for event in events:
                    spent += self.clock() - resumed
                    if isinstance(event, Done):
                        self.log.add(_with_tokens(_answered(query, event.answer, spent), self.count))
                    elif isinstance(event, Failed):
                        self.log.add(_failed(query, Way.ASK, type(event.error).__name__, spent))
                    is_logged = is_logged or isinstance(event, Done | Failed)
                    yield event
                    resumed = self.clock()  # how long a reader takes over each piece is not our time
        except BadRequest:
            raise
        except CitewiseError as error:
            self.log.add(_failed(query, Way.ASK, type(error).__name__, spent + self.clock() - resumed))
            raise
        except GeneratorExit:
            if not is_logged:
                self.log.add(_failed(query, Way.ASK, ABANDONED, spent))
            raise


def _searched(query: Query, result: SearchResult, seconds: float) -> Logged:
    return Logged(
        query.asked_at,
        query.request_id,
        query.scope,
        Way.SEARCH,
        Asker.of(query.principal),
        query.text,
        latency_ms=1000 * seconds,
        candidates=result.total_candidates,
        hits=len(result.findings),
        is_cache_hit=result.cache_hit,
        degraded=_parts(result),
        shown=_shown(result),
    )


def _with_tokens(row: Logged, count: Callable[[str], int]) -> Logged:
    if row.is_cache_hit or row.text is None:
        return row
    with suppress(CitewiseError):  # the tokenizer cannot be loaded, nor was anything embedded
        return replace(row, embedding_tokens=count(row.text))
    return row


def _shown(result: SearchResult) -> tuple[ShownChunk, ...]:
    """What the question found: what is popular must not make itself more so."""
    found = () if result.is_popular else result.findings[:MAX_SHOWN]
    return tuple(ShownChunk(one.passage.chunk_id, one.passage.document_id) for one in found)


def _answered(query: Query, answer: Answer, seconds: float) -> Logged:
    quality = answer.quality
    return replace(
        _searched(query, answer.result, seconds),
        way=Way.ASK,
        quality=quality.overall,
        confidence=quality.retrieval_confidence,
        has_warning=quality.warning is not None,
        sufficient_context=answer.sufficient_context,
        tokens_in=0 if answer.result.cache_hit else answer.usage.prompt_tokens,
        tokens_out=0 if answer.result.cache_hit else answer.usage.answer_tokens,
        shown=_cited(answer.citations),
    )


def _failed(query: Query, way: Way, error: str, seconds: float) -> Logged:
    asker = Asker.of(query.principal)
    return Logged(query.asked_at, query.request_id, query.scope, way, asker, query.text, 1000 * seconds, error=error)


def _parts(result: SearchResult) -> tuple[str, ...]:
    """Their names alone: a message may tell of paths and hosts."""
    return tuple(dict.fromkeys(what.partition(":")[0][:MAX_LETTERS] for what in result.degraded))


def _cited(citations: Sequence[Citation]) -> tuple[ShownChunk, ...]:
    known = [(one.chunk_id, one.document_id) for one in citations[:MAX_SHOWN]]
    return tuple(ShownChunk(chunk, DocumentId(document)) for chunk, document in known if document is not None)
