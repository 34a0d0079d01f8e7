"""citewise for programs: `from citewise import Library`. Translates in, calls a flow, translates nothing out.

Wiring is imported where it is used: a question about selected text must not bring a store along (Q13).
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from citewise.errors import BadRequest
from citewise.model.access import LOCAL_PRINCIPAL, Principal, Scope, checked_principal, checked_scope
from citewise.model.answer import Answer, AnswerEvents, Done, Message, Role
from citewise.model.filters import Filters, Where, conditions_of
from citewise.model.logged import checked_log_limit
from citewise.model.paging import PAGE_LIMIT, PageRequest
from citewise.model.query import ANSWER_TOP_K, SEARCH_TOP_K, Query, Selection
from citewise.model.ranking import SearchResult
from citewise.model.report import Check, Compaction, Event, IngestReport, Status
from citewise.ports.models import Generator, Reranker
from citewise.settings import Settings

if TYPE_CHECKING:
    from citewise.answer.compress import Compress
    from citewise.insights import Overview, SeenRow
    from citewise.wiring.answering import Answering
    from citewise.wiring.embedding import Embedding


class QueryOptions(TypedDict, total=False):
    """What may be said about a question besides its words (Q1). What is left out is as the settings have it."""

    top_k: int  # 20 for search, 5 for answers
    filters: Filters | None  # {"module": "m-1"}, "module=m-1", or [{"field", "operator", "value"}]
    scope: Scope | None
    principal: Principal
    rerank: bool
    expand_graph: bool
    half_life_days: float | None  # of conversations
    freshness_weight: float | None
    budget_tokens: int | None  # of the sources that an answer may rest on
    compress: bool | None  # sources, to what speaks of the question


class Library:
    """A library in a folder. It opens with the first question and stays open; threads may share one.

    From async code, call it in a thread: `await asyncio.to_thread(library.ask, "…")`.
    """

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,  # None: where the settings say, which is .citewise
        *,
        settings: Settings | None = None,
        embedding: "Embedding | None" = None,
        reranker: Reranker | None = None,
        generator: Generator | None = None,
    ) -> None:
        chosen = settings or Settings()
        self._settings = chosen if folder is None else replace(chosen, library=Path(folder))
        self._given_embedding = embedding
        self._reranker = reranker
        self._generator = generator
        self._compress: Compress | None = None
        self._answering: Answering | None = None
        self._lock = threading.Lock()

    def ingest(
        self,
        *paths: str | PathLike[str],
        scope: Scope | None = None,
        access: Iterable[str] = (),
        name: str | None = None,
        corpus_type: str | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> IngestReport:
        """Bring the library up to date with folders or files; it is made if there is none."""
        from citewise.wiring.full import opened_for_writing
        from citewise.wiring.sources import Wish, existing, ingest, remember_ingest

        wish = Wish(_scope(scope), tuple(access), corpus_type, name)
        targets = [existing(Path(path)) for path in paths]
        with opened_for_writing(self._settings, self._embedding()) as library:
            reports = [ingest(library, target, wish, on_event=on_event) for target in targets]
            report = sum(reports, IngestReport())
            remember_ingest(library, report)
            return report

    def search(
        self, question: str, *, limit: int | None = None, cursor: str | None = None, **options: Unpack[QueryOptions]
    ) -> SearchResult:
        """The passages nearest to a question, best first, with every score explained.

        With a limit (1 to 20) or a cursor, a page of them: `next_cursor` of the result is where the next one begins,
        for the same question, options and principal. Pages go on through all that was found, or up to `top_k`.
        """
        query = _query(question, SEARCH_TOP_K, options)
        if limit is None and cursor is None:
            return self._opened().search(query)
        size = PAGE_LIMIT if limit is None else limit
        return self._opened().search(query, PageRequest(size, cursor, is_open="top_k" not in options))

    def log(
        self,
        *,
        scope: Scope | None = None,
        principal: Principal = LOCAL_PRINCIPAL,
        since: float = 0.0,  # seconds since 1970
        limit: int = 20,
    ) -> "tuple[SeenRow, ...]":
        """What was asked, newest first: the library's owner sees all questions of a scope, others see their own."""
        from citewise.wiring.insights import opened_log

        checked_log_limit(limit)
        where, who = _scope(scope), checked_principal(principal)
        self._flush_log()
        with opened_log(self._settings) as (log, _):
            return log.rows(where, who, since=since, limit=limit)

    def stats(
        self, *, scope: Scope | None = None, principal: Principal = LOCAL_PRINCIPAL, since: float = 0.0
    ) -> "Overview":
        """What the log tells: volume, latency, cache hits, questions without a good answer, documents most shown."""
        from citewise.wiring.insights import opened_log

        where, who = _scope(scope), checked_principal(principal)
        self._flush_log()
        with opened_log(self._settings) as (log, _):
            return log.overview(where, who, since=since, until=time.time())

    def topics(
        self, *, scope: Scope | None = None, principal: Principal = LOCAL_PRINCIPAL, limit: int = 10
    ) -> tuple[str, ...]:
        """What is asked about most lately, among what the principal may see."""
        from citewise.wiring.insights import opened_log

        checked_log_limit(limit)
        where = Where(_scope(scope), checked_principal(principal).readers)
        self._flush_log()
        with opened_log(self._settings) as (_, popular):
            return popular.topics(where, limit)

    def ask(
        self,
        question: str,
        *,
        selection: str | Selection | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        **options: Unpack[QueryOptions],
    ) -> Answer:
        """An answer whose every statement points at its source; from the selection alone, if one is given."""
        events = self.stream(question, selection=selection, history=history, **options)
        return next(event.answer for event in events if isinstance(event, Done))

    def stream(
        self,
        question: str,
        *,
        selection: str | Selection | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        **options: Unpack[QueryOptions],
    ) -> AnswerEvents:
        """The same answer in pieces: Token, Cited once for each source used, then Done."""
        query = _query(question, ANSWER_TOP_K, options)
        messages = [_message(message) for message in history]
        if selection is not None:
            return self._about(selection, query, messages)
        return self._opened().ask(query, messages)

    def status(self) -> Status:
        """What the library holds."""
        from citewise.wiring.care import status

        return status(self._settings)

    def doctor(self) -> tuple[Check, ...]:
        """Whether all is well, and what to do where it is not."""
        from citewise.wiring.care import doctor

        answering = self._answering
        return (*doctor(self._settings), *(answering.checks() if answering else ()))

    def reindex(self) -> int:
        """Rebuild the index, or make the library anew where the settings ask for it; chunks it holds then."""
        from citewise.wiring.care import reindex

        made = reindex(self._settings, on_progress=lambda done: None, embedding=self._embedding())
        return made if isinstance(made, int) else made.chunks.total

    def compact(self) -> Compaction:
        """Give back the room of what was deleted or is no longer wanted: afterward no file of the library holds it."""
        from citewise.wiring.care import compact

        self._flush_log()  # a row that is written afterward would name what it showed, deleted or not
        return compact(self._settings, on_progress=lambda done: None, embedding=self._embedding())

    def close(self) -> None:
        """Let go of files and threads; the next question opens the library again."""
        with self._lock:
            answering, self._answering = self._answering, None
        if answering is not None:
            answering.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush_log(self) -> None:
        """What this process was asked is part of what it tells."""
        answering = self._answering
        if answering is not None:
            answering.flush_log()

    def _opened(self) -> "Answering":
        if (opened := self._answering) is not None:
            return opened
        embedding = self._embedding()
        threading.Thread(target=embedding.warm, name="citewise-warm").start()  # while the store is imported
        from citewise.wiring.answering import Answering

        with self._lock:
            if self._answering is None:
                self._answering = Answering(self._settings, embedding, self._writer, self._reranker)
            return self._answering

    def _about(self, selection: str | Selection, query: Query, history: Sequence[Message]) -> AnswerEvents:
        """Decided before anything of the store is imported; no line below this one may import any of it."""
        from citewise.wiring.selected import ask_selected

        selected = selection if isinstance(selection, Selection) else Selection(selection)
        flow = ask_selected(self._settings, self._embedding(), self._writer(), self._shortener())
        return flow(query, selected, history=history)

    def _writer(self) -> Generator:
        """The generator, made at the first answer and kept: it may hold a connection."""
        from citewise.wiring.generating import generator_of

        with self._lock:
            if self._generator is None:
                self._generator = generator_of(self._settings)
            return self._generator

    def _shortener(self) -> "Compress":
        """Compression of selected text, made once: it may hold a model."""
        from citewise.wiring.compressing import compress_of

        counter = self._embedding().counter
        with self._lock:
            if self._compress is None:
                self._compress = compress_of(self._settings, counter)
            return self._compress

    def _embedding(self) -> "Embedding":
        from citewise.wiring.embedding import embedding_of

        with self._lock:
            if self._given_embedding is None:
                self._given_embedding = embedding_of(self._settings)
            return self._given_embedding


def _scope(scope: Scope | None) -> Scope:
    return Scope() if scope is None else checked_scope(scope)


def _message(message: Message | Mapping[str, str]) -> Message:
    """One turn of a conversation, as a Message or as `{"role", "content"}`."""
    if isinstance(message, Message):
        return message
    try:
        role, content = Role(message["role"]), message["content"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadRequest(f'a message is {{"role": "user" or "assistant", "content": text}}, not {message!r}') from error
    if not isinstance(content, str):
        raise BadRequest(f"the content of a message is text, not {type(content).__name__}")
    return Message(role, content)


def _query(question: str, top_k: int, options: QueryOptions) -> Query:
    """A query of its own. A misspelled name must not pass: left out, `principal` is the owner, who sees all."""
    unknown = options.keys() - QueryOptions.__annotations__.keys()
    if unknown:
        raise TypeError(
            f"unknown options: {', '.join(sorted(unknown))}; known are {', '.join(QueryOptions.__annotations__)}"
        )
    return Query(
        question,
        request_id=uuid.uuid4().hex,
        asked_at=time.time(),
        scope=_scope(options.get("scope")),
        principal=options.get("principal", LOCAL_PRINCIPAL),
        conditions=conditions_of(options.get("filters")),
        top_k=options.get("top_k", top_k),
        rerank=options.get("rerank", True),
        expand_graph=options.get("expand_graph", False),
        half_life_days=options.get("half_life_days"),
        freshness_weight=options.get("freshness_weight"),
        budget_tokens=options.get("budget_tokens"),
        compress=options.get("compress"),
    )
