"""The Python API: `from citewise import Library`. Every other surface goes through it.

The parts of a library are imported where they are used: a question about selected text must not import a store.
"""

import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from citewise.errors import BadRequest
from citewise.model.access import OWNER, Principal, Scope, checked_principal, checked_scope
from citewise.model.answer import Answer, AnswerEvents, Message, Role, final_answer
from citewise.model.filters import Filters, Where, conditions_of
from citewise.model.ids import document_id
from citewise.model.logged import checked_log_limit
from citewise.model.paging import PAGE_LIMIT, PageRequest
from citewise.model.query import ANSWER_TOP_K, SEARCH_TOP_K, Query, Selection
from citewise.model.ranking import SearchResult
from citewise.model.report import Check, Compaction, IngestDone, IngestEvent, IngestReport, Status
from citewise.ports.models import Embedder, Generator, Reranker, TokenCounter, WordEmbedder
from citewise.settings import Settings

if TYPE_CHECKING:
    from citewise.answer.compress import Compress
    from citewise.insights import Overview, SeenRow
    from citewise.model.chunk import Chunk
    from citewise.model.document import Document
    from citewise.ports.catalog import Catalog, DocumentSummary
    from citewise.ports.indexes import TextIndex, VectorIndex
    from citewise.wiring.embedding import Embedding
    from citewise.wiring.serving import OpenService


class QueryOptions(TypedDict, total=False):
    """Options of a question. What is left out is taken from the settings."""

    top_k: int  # passages: 20 for a search, 5 for an answer
    filters: Filters | None  # {"module": "m-1"}, "module=m-1", or [{"field", "operator", "value"}]
    rerank: bool
    expand_graph: bool
    half_life_days: float | None  # of conversations
    freshness_weight: float | None
    budget_tokens: int | None  # of the sources of an answer
    compress: bool | None  # keep only the sentences relevant to the question


class LibraryView:
    """A library as one principal sees it: everything it returns, they may read.

    Made by `Library.as_owner` and `Library.as_principal`. Threads may share it. From async code, call it in a thread:
    `await asyncio.to_thread(view.ask, "…")`.
    """

    def __init__(self, library: "Library", principal: Principal, scope: Scope | None = None) -> None:
        self.principal = checked_principal(principal)
        self.scope = Scope() if scope is None else checked_scope(scope)
        self._library = library

    def search(
        self, question: str, *, limit: int | None = None, cursor: str | None = None, **options: Unpack[QueryOptions]
    ) -> SearchResult:
        """Find the passages nearest to a question, best first, with every score explained.

        With a limit (1 to 20) or a cursor, the result is a page: pass its `next_cursor` as `cursor`, with the same
        question and options, to get the next one. Pages continue through everything that was found, or up to `top_k`.
        """
        query = self._query(question, SEARCH_TOP_K, options)
        if limit is None and cursor is None:
            return self._library._opened().search(query)
        size = PAGE_LIMIT if limit is None else limit
        return self._library._opened().search(query, PageRequest(size, cursor, is_open="top_k" not in options))

    def ask(
        self,
        question: str,
        *,
        selection: str | Selection | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        **options: Unpack[QueryOptions],
    ) -> Answer:
        """Answer a question. Every statement of the answer cites its source.

        With a selection, the answer comes from that text alone and the library is not opened. `history` is the
        conversation so far, as Message objects or as `{"role", "content"}`.
        """
        events = self.stream(question, selection=selection, history=history, **options)
        return final_answer(events)

    def stream(
        self,
        question: str,
        *,
        selection: str | Selection | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        **options: Unpack[QueryOptions],
    ) -> AnswerEvents:
        """Answer a question as events: Sources, Token, Cited once for each source that is used, last Done or Failed.

        What goes wrong before the first event is raised.
        """
        query = self._query(question, ANSWER_TOP_K, options)
        messages = [_message(message) for message in history]
        if selection is not None:
            return self._library._ask_selected(selection, query, messages)
        return self._library._opened().ask(query, messages)

    def documents(self, *, after: str = "", limit: int = 100) -> "tuple[DocumentSummary, ...]":
        """List documents by path, a page at a time: pass the last path as `after` to get the next page."""
        with self._library._catalog() as catalog:
            return catalog.documents(Where(self.scope, self.principal.readers), after=after, limit=limit)

    def document(self, path: str) -> "Document | None":
        """The document at a path, with its text; None if there is none, or not for this principal."""
        with self._library._catalog() as catalog:
            return catalog.document(Where(self.scope, self.principal.readers), document_id(self.scope, path))

    def chunks(self, path: str) -> "tuple[Chunk, ...]":
        """The chunks of the document at a path, in order; empty if there is none, or not for this principal."""
        with self._library._catalog() as catalog:
            return catalog.chunks(Where(self.scope, self.principal.readers), document_id(self.scope, path))

    def log(self, *, since: float = 0.0, limit: int = 20) -> "tuple[SeenRow, ...]":
        """List what was asked, newest first: the owner sees every question of the scope, others see their own.

        `since` is in seconds since 1970.
        """
        from citewise.wiring.insights import opened_log

        checked_log_limit(limit)
        self._library._flush_log()
        with opened_log(self._library._settings) as (log, _):
            return log.rows(self.scope, self.principal, since=since, limit=limit)

    def stats(self, *, since: float = 0.0) -> "Overview":
        """Summarize the log: volume, latency, cache hits, questions without a good answer, documents shown most."""
        from citewise.wiring.insights import opened_log

        self._library._flush_log()
        with opened_log(self._library._settings) as (log, _):
            return log.overview(self.scope, self.principal, since=since, until=time.time())

    def topics(self, *, limit: int = 10) -> tuple[str, ...]:
        """List the topics that are asked about most, among those that the principal may read."""
        from citewise.wiring.insights import opened_log

        checked_log_limit(limit)
        self._library._flush_log()
        with opened_log(self._library._settings) as (_, popular):
            return popular.topics(Where(self.scope, self.principal.readers), limit)

    def _query(self, question: str, top_k: int, options: QueryOptions) -> Query:
        unknown = options.keys() - QueryOptions.__annotations__.keys()
        if unknown:
            raise TypeError(
                f"unknown options: {', '.join(sorted(unknown))}; known are {', '.join(QueryOptions.__annotations__)}"
            )
        return Query(
            question,
            request_id=uuid.uuid4().hex,
            asked_at=time.time(),
            scope=self.scope,
            principal=self.principal,
            conditions=conditions_of(options.get("filters")),
            top_k=options.get("top_k", top_k),
            rerank=options.get("rerank", True),
            expand_graph=options.get("expand_graph", False),
            half_life_days=options.get("half_life_days"),
            freshness_weight=options.get("freshness_weight"),
            budget_tokens=options.get("budget_tokens"),
            compress=options.get("compress"),
        )


class Library:
    """A library of documents in a folder.

    `ingest` fills it. To search it, name who asks: `library.as_owner().ask("…")` sees everything, and
    `library.as_principal(Principal("ann")).ask("…")` sees what Ann may read. The folder is opened by the first question
    and stays open until `close`; a library is also a context manager, and threads may share one.
    """

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        token_counter: TokenCounter | None = None,
        word_embedder: WordEmbedder | None = None,
        reranker: Reranker | None = None,
        generator: Generator | None = None,
        vector_index: "VectorIndex | None" = None,
        text_index: "TextIndex | None" = None,
    ) -> None:
        """Name a folder, which need not exist yet; without one, the settings name it (.citewise by default).

        Every other argument replaces a part that the settings would choose.
        """
        chosen = settings or Settings()
        self._settings = chosen if folder is None else replace(chosen, library=Path(folder))
        self._embedder, self._counter, self._words = embedder, token_counter, word_embedder
        self._made_embedding: Embedding | None = None
        self._reranker = reranker
        self._given_indexes = (vector_index, text_index)
        self._generator = generator
        self._compress: Compress | None = None
        self._service: OpenService | None = None
        self._lock = threading.Lock()

    def as_owner(self, scope: Scope | None = None) -> LibraryView:
        """The library as its owner sees it: every document of a scope (default/default if none is named)."""
        return LibraryView(self, OWNER, scope)

    def as_principal(self, principal: Principal, scope: Scope | None = None) -> LibraryView:
        """The library as a principal sees it: the documents of a scope that they may read."""
        return LibraryView(self, principal, scope)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name in {"search", "ask", "stream", "documents", "document", "chunks", "log", "stats", "topics"}:
                raise AttributeError(
                    f"say who asks: library.as_owner().{name}(…), or library.as_principal(principal).{name}(…)"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def ingest(
        self,
        *paths: str | PathLike[str],
        scope: Scope | None = None,
        access: Iterable[str] = (),
        name: str | None = None,
        corpus_type: str | None = None,
    ) -> IngestReport:
        """Bring the library up to date with folders or files; it is created if it does not exist."""
        events = self.ingest_events(*paths, scope=scope, access=access, name=name, corpus_type=corpus_type)
        (report,) = (event.report for event in events if isinstance(event, IngestDone))
        return report

    def ingest_events(
        self,
        *paths: str | PathLike[str],
        scope: Scope | None = None,
        access: Iterable[str] = (),
        name: str | None = None,
        corpus_type: str | None = None,
    ) -> Iterator[IngestEvent]:
        """Ingest, and tell what happens to each file as it happens; the last event has the report.

        A file is announced when it is stored. The library is locked for other writers until the last event.
        """
        from citewise.ingest.targets import IngestOptions, existing
        from citewise.wiring.full import GivenIndexes, ingest_events

        options = IngestOptions(Scope() if scope is None else checked_scope(scope), tuple(access), corpus_type, name)
        targets = dict.fromkeys(existing(Path(path)) for path in paths)
        return ingest_events(self._settings, self._embedding(), targets, options, GivenIndexes(*self._given_indexes))

    def watch(
        self,
        *paths: str | PathLike[str],
        scope: Scope | None = None,
        name: str | None = None,
        corpus_type: str | None = None,
    ) -> Iterator[IngestEvent]:
        """Ingest changed files as they change, until interrupted. The paths must have been ingested before."""
        from citewise.ingest.targets import IngestOptions, existing
        from citewise.wiring.full import GivenIndexes, watch_events

        options = IngestOptions(Scope() if scope is None else checked_scope(scope), (), corpus_type, name)
        targets = [existing(Path(path)) for path in paths]
        return watch_events(self._settings, self._embedding(), targets, options, GivenIndexes(*self._given_indexes))

    def status(self) -> Status:
        """Report what the library holds."""
        from citewise.wiring.care import status

        return status(self._settings)

    def doctor(self) -> tuple[Check, ...]:
        """Check everything that a library needs; a failed check has a remedy."""
        from citewise.wiring.care import doctor

        return doctor(self._settings)

    def reindex(self) -> int:
        """Rebuild the index, and the vectors where the settings name another model; returns the number of chunks."""
        from citewise.wiring.care import reindex

        made = reindex(self._settings, on_progress=lambda done: None, embedding=self._embedding())
        return made if isinstance(made, int) else made.chunks.total

    def compact(self) -> Compaction:
        """Reclaim space and erase deleted content from disk."""
        from citewise.wiring.care import compact

        self._flush_log()  # a row that is written afterward would name what it showed, deleted or not
        return compact(self._settings, on_progress=lambda done: None, embedding=self._embedding())

    def close(self) -> None:
        """Close files and threads; the next question opens the library again."""
        with self._lock:
            service, self._service = self._service, None
        if service is not None:
            service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _catalog(self) -> "Iterator[Catalog]":
        from citewise.wiring.full import opened_for_reading

        with opened_for_reading(self._settings, self._embedding()) as library:
            yield library.catalog

    def _flush_log(self) -> None:
        """Questions that this process answered are part of the log."""
        service = self._service
        if service is not None:
            service.flush_log()

    def _opened(self) -> "OpenService":
        if (opened := self._service) is not None:
            return opened
        embedding = self._embedding()
        threading.Thread(target=embedding.warm, name="citewise-warm").start()  # while the store is imported
        from citewise.wiring.full import GivenIndexes
        from citewise.wiring.serving import OpenService

        with self._lock:
            if self._service is None:
                self._service = OpenService(
                    self._settings, embedding, self._writer, self._reranker, GivenIndexes(*self._given_indexes)
                )
            return self._service

    def _ask_selected(self, selection: str | Selection, query: Query, history: Sequence[Message]) -> AnswerEvents:
        """Nothing below this line may import a store."""
        from citewise.wiring.selected import answer_pipeline

        selected = selection if isinstance(selection, Selection) else Selection(selection)
        pipeline = answer_pipeline(self._settings, self._embedding(), self._writer(), self._shortener())
        return pipeline.ask_selected(query, selected, history=history)

    def _writer(self) -> Generator:
        """The generator, made for the first answer and kept: it may hold a connection."""
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
        from citewise.wiring.embedding import Embedding, embedding_of

        with self._lock:
            if self._made_embedding is None and self._embedder is not None and self._counter is not None:
                self._made_embedding = Embedding(self._embedder, self._counter, words=self._words)
            elif self._made_embedding is None:
                chosen = embedding_of(self._settings)
                if self._embedder is not None:
                    chosen = Embedding(self._embedder, chosen.counter, words=self._words)
                self._made_embedding = replace(
                    chosen, counter=self._counter or chosen.counter, words=self._words or chosen.words
                )
            return self._made_embedding


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
