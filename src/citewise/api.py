"""The Python API: `from citewise import Library`. Every other surface goes through it.

The parts of a library are imported where they are used: a question about selected text must not import a store.
"""

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, Unpack

from citewise.errors import BadRequest, shown
from citewise.model.access import OWNER, Principal, Scope, checked_text
from citewise.model.answer import Answer, AnswerEvents, Message, Role
from citewise.model.cancellation import Cancellation
from citewise.model.filters import Filters, Where, conditions_of
from citewise.model.ids import document_id
from citewise.model.query import (
    ANSWER_TOP_K,
    MAX_NAME_CHARACTERS,
    MAX_SELECTED_CHARACTERS,
    PAGE_LIMIT,
    SEARCH_TOP_K,
    PageRequest,
    Query,
    Selection,
    check_whole,
    is_number,
)
from citewise.model.ranking import SearchResult
from citewise.model.report import Check, Compaction, DocumentAccess, IngestEvent, IngestReport, Reindexed, Status
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring_models import LibraryParts, answer_pipeline, check_memory, embedding_of, generator_of

if TYPE_CHECKING:
    from citewise.answer.pipeline import AnswerPipeline
    from citewise.insights import Overview, ReadLog, SeenRow
    from citewise.library import StoredLibrary
    from citewise.model.chunk import Chunk
    from citewise.model.document import Document
    from citewise.ports.catalog import DocumentSummary
    from citewise.ports.sources import Source
    from citewise.service import Service

T = TypeVar("T")

_MAX_ROWS = 1_000  # of the log or of a list of documents, at once


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


class SourceOptions(TypedDict, total=False):
    """Options of an ingestion. What is left out is taken from the settings and the path."""

    scope: Scope | None
    access: str | Iterable[str]
    widen: bool
    name: str | None
    corpus_type: str | None
    prune: bool


class LibraryView:
    """A library as one principal sees it: it returns only what they may read.

    Made by `Library.as_owner` and `Library.as_principal`. Threads may share it. From async code, call it in a thread:
    `await asyncio.to_thread(view.ask, "…")`.
    """

    def __init__(self, library: "Library", principal: Principal, scope: Scope | None = None) -> None:
        self.principal = Principal.checked(principal)
        self.scope = Scope() if scope is None else Scope.checked(scope)
        self._library = library
        self._where = Where(self.scope, self.principal.readers)

    def search(
        self, question: str, *, limit: int | None = None, cursor: str | None = None, **options: Unpack[QueryOptions]
    ) -> SearchResult:
        """Find the passages nearest to a question, best first, with every score explained.

        Options: `top_k` (20), `filters` (`{"module": "m-1"}`, `"module=m-1"` or `[{"field", "operator", "value"}]`),
        `rerank`, `expand_graph`, and `half_life_days` and `freshness_weight` of conversations.

        With a limit (1 to 20) or a cursor, the result is a page: pass its `next_cursor` as `cursor`, with the same
        question and options, to get the next one. Pages continue through everything that was found, or up to `top_k`.
        """
        query = self._query(question, SEARCH_TOP_K, options)
        if limit is None and cursor is None:
            return self._library._service().search(query)
        size = PAGE_LIMIT if limit is None else limit
        return self._library._service().search(query, PageRequest(size, cursor, is_open="top_k" not in options))

    def ask(
        self,
        question: str,
        *,
        selection: str | Selection | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        cancellation: Cancellation | None = None,
        **options: Unpack[QueryOptions],
    ) -> Answer:
        """Answer a question. Every statement of the answer cites its source.

        With a selection, the answer comes from that text alone and the library is not opened. `history` is the
        conversation so far, as Message objects or as `{"role", "content"}`. Options are those of `search` (`top_k` is
        5), `budget_tokens` of the sources, and `compress`, to keep only their sentences relevant to the question.
        `cancellation.cancel()` from another thread ends it with Cancelled.
        """
        events = self.stream(question, selection=selection, history=history, cancellation=cancellation, **options)
        return Answer.of(events)

    def stream(
        self,
        question: str,
        *,
        selection: str | Selection | None = None,
        history: Sequence[Message | Mapping[str, str]] = (),
        cancellation: Cancellation | None = None,
        **options: Unpack[QueryOptions],
    ) -> AnswerEvents:
        """Answer a question as events: Sources, Token, Cited once for each source that is used, last Done or Failed.

        An error before the first event is raised. `cancellation.cancel()` from another thread ends the answer.
        """
        query = self._query(question, ANSWER_TOP_K, options)
        if not isinstance(history or (), Iterable):
            raise BadRequest(f"history is a list of messages, not {shown(history)}")
        messages = [_message(message) for message in history or ()]
        if selection is None:
            return self._library._service().ask(query, messages, cancellation)
        selected = selection if isinstance(selection, Selection) else Selection(selection)
        return self._library._pipeline().ask_selected(query, selected, history=messages, cancellation=cancellation)

    def documents(self, *, after: str = "", limit: int = 100) -> "tuple[DocumentSummary, ...]":
        """List documents by path, a page at a time: pass the last path as `after` to get the next page."""
        check_whole("limit", limit, 1, _MAX_ROWS)
        path = _checked_path(after)
        return self._library._stored().read(lambda catalog: catalog.documents(self._where, after=path, limit=limit))

    def document(self, path: str) -> "Document | None":
        """The document at a path, with its text; None if there is none, or not for this principal."""
        id_ = document_id(self.scope, _checked_path(path))
        return self._library._stored().read(lambda catalog: catalog.document(self._where, id_))

    def chunks(self, path: str) -> "tuple[Chunk, ...]":
        """The chunks of the document at a path, in order; empty if there is none, or not for this principal."""
        id_ = document_id(self.scope, _checked_path(path))
        return self._library._stored().read(lambda catalog: catalog.chunks(self._where, id_))

    def log(self, *, since: float = 0.0, limit: int = 20) -> "tuple[SeenRow, ...]":
        """List what was asked, newest first: the owner sees every question of the scope, others see their own.

        `since` is in seconds since 1970.
        """
        check_whole("limit", limit, 1, _MAX_ROWS)
        _check_since(since)
        return self._library._read_log(lambda log: log.rows(self.scope, self.principal, since=since, limit=limit))

    def stats(self, *, since: float = 0.0) -> "Overview":
        """Summarize the log: volume, latency, cache hits, questions without a good answer, documents shown most."""
        _check_since(since)
        return self._library._read_log(lambda log: log.overview(self.scope, self.principal, since=since))

    def _query(self, question: str, top_k: int, options: QueryOptions) -> Query:
        _refuse_unknown(options, QueryOptions, "options")
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
        **parts: Unpack[LibraryParts],
    ) -> None:
        """Name a folder, which need not exist yet; without one, the settings name it (.citewise by default).

        A part replaces one that the settings would choose (its type says what it promises) and stays yours to close:
        embedder, token_counter, word_embedder, reranker, generator, compressor, quality_evaluator, vector_index,
        text_index, catalog, cache or query_log. A catalog, an index or a log that is handed in must be the same
        whenever this folder is opened.
        """
        if not isinstance(settings, Settings | None):
            raise BadRequest(f"settings are a Settings object, not {type(settings).__name__}")
        _refuse_unknown(parts, LibraryParts, "parts")
        chosen = settings or Settings()
        name = getattr(parts.get("vector_index"), "name", "vectors")
        if name == getattr(parts.get("text_index"), "name", "texts"):
            raise BadRequest(f"both indexes have the name {name!r}, under which the catalog records their state")
        self._settings = chosen if folder is None else replace(chosen, library=_given_path(folder))
        self._parts = parts
        self._generator = parts.get("generator") or generator_of(self._settings)
        self._made_embedding: Embedding | None = None
        self._made_pipeline: AnswerPipeline | None = None
        self._opened_service: Service | None = None
        self._lock = threading.RLock()

    def as_owner(self, scope: Scope | None = None) -> LibraryView:
        """The library as its owner sees it: every document of a scope (default/default if none is named)."""
        return LibraryView(self, OWNER, scope)

    def as_principal(self, principal: Principal, scope: Scope | None = None) -> LibraryView:
        """The library as a principal sees it: the documents of a scope that they may read."""
        return LibraryView(self, principal, scope)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if not name.startswith("_") and hasattr(LibraryView, name):
                raise AttributeError(
                    f"say who asks: library.as_owner().{name}(…), or library.as_principal(principal).{name}(…)"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def ingest(self, *paths: str | PathLike[str], **options: Unpack[SourceOptions]) -> IngestReport:
        """Bring the library up to date with folders or files; it is created if it does not exist.

        Options: `access` says who may read them (`public`, `project`, `owner:USER`, `group:GROUP`); it can only narrow
        what they had, unless `widen` is true. `name` is what the paths of a source start with, `corpus_type` is a label
        such as DOC_TEXTBOOK, and `scope` is where they go. Settings and path decide the rest. Documents whose files are
        gone are removed; if they are more than half of a source, they are only counted (`report.kept`), unless `prune`
        is true.
        """
        return _report(self.ingest_events(*paths, **options))

    def ingest_events(self, *paths: str | PathLike[str], **options: Unpack[SourceOptions]) -> Iterator[IngestEvent]:
        """Ingest, and tell what happens to each file as it happens; the last event is the report.

        A file is announced when it is stored. The library is locked for other writers until the last event.
        """
        from citewise.ingest.targets import IngestOptions, Target

        if not paths:
            raise BadRequest("name a folder or a file to ingest")
        checked = IngestOptions.of(**options)
        targets = dict.fromkeys(Target.existing(_given_path(path)) for path in paths)
        return self._stored().ingest(targets, checked)

    def ingest_source(self, source: "Source", **options: Unpack[SourceOptions]) -> IngestReport:
        """Bring the library up to date with a source of your own; it needs a `name`, other options are `ingest`'s."""
        return _report(self.ingest_source_events(source, **options))

    def ingest_source_events(self, source: "Source", **options: Unpack[SourceOptions]) -> Iterator[IngestEvent]:
        """Ingest a source of your own, and tell what happens as `ingest_events` does; the last event is the report."""
        from citewise.ingest.targets import IngestOptions

        return self._stored().ingest_source(source, IngestOptions.of(**options))

    def watch(
        self,
        *paths: str | PathLike[str],
        scope: Scope | None = None,
        name: str | None = None,
        corpus_type: str | None = None,
    ) -> Iterator[IngestEvent]:
        """Ingest changed files as they change, until interrupted. The paths must have been ingested before."""
        from citewise.ingest.targets import IngestOptions, Target

        options = IngestOptions.of(scope=scope, name=name, corpus_type=corpus_type)
        return self._stored().watch([Target.existing(_given_path(path)).resolve() for path in paths], options)

    def access(self, document: str, scope: Scope | None = None) -> DocumentAccess:
        """Say who may read the document at a path, and why: for the library's owner. Raises PathNotFound."""
        from citewise.maintenance import access

        return access(self._stored(), Scope() if scope is None else Scope.checked(scope), _checked_path(document))

    def status(self) -> Status:
        """Report what the library holds."""
        from citewise.maintenance import status

        return status(self._stored())

    def doctor(self) -> tuple[Check, ...]:
        """Check everything that a library needs; a failed check has a remedy."""
        from citewise import maintenance, wiring

        return tuple(maintenance.doctor(self._stored(), wiring.upkeep_of(self._settings, self._parts)))

    def reindex(self) -> Reindexed:
        """Rebuild the indexes; re-embed where the settings name another model or other chunk sizes."""
        return deque(self.reindex_events(), maxlen=1).pop()

    def reindex_events(self) -> Iterator[Reindexed]:
        """Reindex, and give a running total; the last one says what was done."""
        from citewise.maintenance import reindex

        return reindex(self._stored())

    def compact(self) -> Compaction:
        """Reclaim space and erase deleted content from disk."""
        from citewise import maintenance, wiring

        self._flush_log()  # a row that is written afterward would name what it showed, deleted or not
        return maintenance.compact(self._stored(), wiring.upkeep_of(self._settings, self._parts))

    def close(self) -> None:
        """Close files and connections, and free models; the next question opens the library again."""
        with self._lock:
            service, self._opened_service = self._opened_service, None
            self._made_embedding = self._made_pipeline = None
            self._generator = self._parts.get("generator") or generator_of(self._settings)
        if service is not None:
            service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _service(self) -> "Service":
        """What serves searches and answers, with the library open."""
        if (opened := self._opened_service) is not None:
            return opened
        embedding = self._embedding()
        check_memory("search", self._parts)
        threading.Thread(target=embedding.warm, name="citewise-warm").start()  # while the store is imported
        from citewise.wiring import service_of

        with self._lock:
            if self._opened_service is None:
                self._opened_service = service_of(self._settings, embedding, self._generator, self._parts)
            return self._opened_service

    def _stored(self) -> "StoredLibrary":
        from citewise.wiring import stored_library

        return stored_library(self._settings, self._embedding(), self._parts)

    def _flush_log(self) -> None:
        """Questions that this process answered are part of the log."""
        if (opened := self._opened_service) is not None:
            opened.flush_log()

    def _read_log(self, look: Callable[["ReadLog"], T]) -> T:
        """What `look` finds in the log, beside the catalog that names what it shows; no model is loaded."""
        from citewise.insights import ReadLog
        from citewise.wiring import log_store_of

        self._flush_log()
        store = log_store_of(self._settings, self._parts)
        return self._stored().read(lambda catalog: look(ReadLog(store, catalog)))

    def _pipeline(self) -> "AnswerPipeline":
        """Answers from selected text. Nothing below this line may import a store."""
        embedding = self._embedding()
        with self._lock:
            if self._made_pipeline is None:  # kept: a compressor may hold a model
                self._made_pipeline = answer_pipeline(self._settings, embedding, self._generator, self._parts)
            return self._made_pipeline

    def _embedding(self) -> Embedding:
        with self._lock:
            if self._made_embedding is None:
                self._made_embedding = embedding_of(self._settings, self._parts)
            return self._made_embedding


def _report(events: Iterable[IngestEvent]) -> IngestReport:
    (report,) = (event for event in events if isinstance(event, IngestReport))
    return report


def _check_since(since: float) -> None:
    if not is_number(since):
        raise BadRequest(f"since is a time in seconds since 1970, not {shown(since)}")


def _refuse_unknown(given: Mapping[str, object], known: type, what: str) -> None:
    if unknown := given.keys() - known.__annotations__.keys():
        raise TypeError(f"unknown {what}: {', '.join(sorted(unknown))}; known are {', '.join(known.__annotations__)}")


def _given_path(path: str | PathLike[str]) -> Path:
    if not isinstance(path, str | PathLike) or "\0" in str(path):
        raise BadRequest(f"a folder or file is named by text or a Path, not {shown(path)}")
    return Path(path)


def _checked_path(path: str) -> str:
    text = str(path) if isinstance(path, PurePath) else path
    return checked_text("the path of a document", text, max_characters=MAX_NAME_CHARACTERS, has_controls=True)


def _message(message: Message | Mapping[str, str]) -> Message:
    """One turn of a conversation, as a Message or as `{"role", "content"}`."""
    try:
        given = message if isinstance(message, Message) else Message(Role(message["role"]), message["content"])
    except (KeyError, TypeError, ValueError) as error:
        what = '{"role": "user" or "assistant", "content": text}'
        raise BadRequest(f"a message is {what}, not {shown(message)}") from error
    if given.role is Role.SYSTEM or not isinstance(given.content, str):
        raise BadRequest(f"a message is text of the user or of the assistant, not {shown(given)}")
    is_answer = given.role is Role.ASSISTANT  # which may quote what stands in a document
    checked_text("a message", given.content, max_characters=MAX_SELECTED_CHARACTERS, has_controls=is_answer)
    return given
