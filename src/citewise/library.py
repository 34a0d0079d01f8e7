"""A library in its storage: open it for writing, reading or inspection, heal its indexes, lease it to threads, and swap
a rebuilt generation in."""

import gc
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from citewise.errors import BadRequest, CitewiseError, Locked, Misconfigured, Unavailable
from citewise.ingest.project import Project
from citewise.insights import ReadLog
from citewise.model.access import Scope
from citewise.model.filters import Where
from citewise.model.query import PageRequest, Query
from citewise.model.ranking import FoundSection, Passage, SearchResult
from citewise.model.report import IngestEvent, IngestReport, LibraryFacts, Reindexed
from citewise.ports.catalog import Catalog
from citewise.ports.models import Embedding
from citewise.ports.sources import Format, Source
from citewise.ports.storage import Generation, Storage, Stores
from citewise.ports.stores import LogStore
from citewise.settings import Settings
from citewise.text.analysis import ANALYZER_VERSION

if TYPE_CHECKING:  # what only writing needs is imported by those who write: a search starts sooner
    from citewise.ingest.pipeline import Ingest
    from citewise.ingest.prepare import Prepare
    from citewise.ingest.targets import AccessDefaults, IngestOptions, Target
    from citewise.search.pages import PageBuilder

_log = logging.getLogger(__name__)

MAX_THREADS = 32  # that run rankings side by side; a question holds one for milliseconds
MAX_TRIES = 5  # to use a generation that is replaced meanwhile

T = TypeVar("T")


class IngestParts(Protocol):
    """The parts of an ingestion that name adapters; `wiring` makes them."""

    def prepare(self, formats: tuple[Format, ...]) -> "Prepare": ...
    def source(self, target: "Target", formats: tuple[Format, ...]) -> Source: ...
    def changes(self, paths: Sequence[Path]) -> Iterator[dict[Path, list[Path]]]: ...


@dataclass(frozen=True, slots=True)
class OpenLibrary(Stores):
    """The stores of a library that is open, and what writes to them."""

    stored: "StoredLibrary"

    @property
    def project(self) -> Project:
        return Project(self.catalog, (self.vectors, self.texts))

    @property
    def prepare(self) -> "Prepare":
        return self.stored.parts.prepare(self.stored.formats)

    @property
    def ingestion(self) -> "Ingest":
        from citewise.ingest.pipeline import Ingest

        return Ingest(self.prepare, self.stored.embedding, self.catalog, self.project)

    def ingest(self, paths: Mapping[Path, Collection[Path] | None], options: "IngestOptions") -> Iterator[IngestEvent]:
        """Ingest paths one after the other (of each only the changed files that are named, if any are); the last event
        has the report of all, which is recorded."""
        report = IngestReport()
        for path, changed in paths.items():
            for event in self._ingest_path(path, changed, options):
                if isinstance(event, IngestReport):
                    report += event
                else:
                    yield event
        self._record(report)
        yield report

    def _ingest_path(
        self, path: Path, changed: Collection[Path] | None, options: "IngestOptions"
    ) -> Iterator[IngestEvent]:
        from citewise.ingest.targets import Target

        base, defaults = self.stored.settings.library.resolve(), self.stored.access_defaults
        target = Target.of(path, options, self.catalog, base=base, defaults=defaults, changed=changed)
        return self.ingestion(self.stored.parts.source(target, self.stored.formats), target)

    def ingest_source(self, source: Source, options: "IngestOptions") -> Iterator[IngestEvent]:
        """Ingest a source of the caller's own."""
        from citewise.ingest.targets import Target

        target = Target.of_source(options, self.catalog, self.stored.access_defaults)
        for event in self.ingestion(source, target):
            if isinstance(event, IngestReport):
                self._record(event)
            yield event

    def _record(self, report: IngestReport) -> None:
        self.catalog.record_ingest(report.summary(datetime.now(UTC).isoformat(timespec="seconds")))

    def lacks_words(self) -> bool:
        """Whether vectors of words are wanted, and some chunk has none."""
        return self.stored.embedding.words is not None and self.catalog.lacks_word_vectors()

    def needs_healing(self) -> bool:
        """Whether an index is not what the catalog and the analyzer would make of it."""
        return self._has_other_terms() or any(map(self.project.is_behind, self.catalog.scopes()))

    def heal(self) -> None:
        """Bring the indexes of every scope to where the catalog is: after a crash, a deletion or a new analyzer."""
        has_other_terms = self._has_other_terms()
        for scope in self.catalog.scopes():
            if has_other_terms:
                deque(self.project.rebuild(scope), maxlen=0)
            else:
                self.project(scope)
        if self.catalog.facts() != self.stored.facts:  # another analyzer, or a new kind of document
            self.catalog.record_facts(self.stored.facts)

    def refuse_mismatch(self) -> None:
        if problem := self.mismatch():
            raise Misconfigured(problem)

    def mismatch(self) -> str | None:
        """Why the library cannot be used with these settings; None if it can."""
        stored, root = self.catalog.facts(), self.stored.settings.library
        if stored is None:  # a new library gets its facts before it exists
            return emptied_message(root) if self.stored.storage.mark() else None
        differences = stored.differences(self.stored.facts)
        if not differences:
            return None
        return (
            f"the library at {root} does not fit these settings: {'; '.join(differences)}. Use the settings it was "
            f"built with, or rebuild it from its stored texts with `citewise reindex --library {root}`"
        )

    def _has_other_terms(self) -> bool:
        facts = self.catalog.facts()
        return facts is not None and facts.analyzer != ANALYZER_VERSION


def emptied_message(root: Path) -> str:
    return (
        f"the catalog of {root} has been emptied: restore the library from a backup, "
        "or move the folder away and ingest again"
    )


@dataclass(frozen=True, slots=True)
class StoredLibrary:
    """A library in its storage. Nothing is open until it is asked for."""

    settings: Settings
    storage: Storage
    embedding: Embedding
    formats: tuple[Format, ...]
    parts: IngestParts

    @property
    def facts(self) -> LibraryFacts:
        """What a library is built with under these settings."""
        model = self.embedding.embedder.model
        chunkers = {each.media_type: each.chunker.version for each in self.formats}
        return LibraryFacts(model.name, model.dimensions, model.window_tokens, chunkers, ANALYZER_VERSION)

    @property
    def access_defaults(self) -> "AccessDefaults":
        from citewise.ingest.targets import AccessDefaults

        return AccessDefaults(self.settings.ingest.access, self.settings.ingest.access_by_path)

    @contextmanager
    def writing(self) -> Iterator[OpenLibrary]:
        """Open it with its write lock held: created if it is new, and healed before anything is added."""
        facts = self.facts  # before a folder is made: where no model is set, this says so
        with self.storage.writing():
            is_new = self.storage.mark() is None
            generation = self.storage.build() if is_new else self.storage.current()
            with self._opened(generation, may_create=is_new) as library:
                if is_new:
                    library.catalog.record_facts(facts)
                library.refuse_mismatch()
                library.heal()
                if is_new:  # only now is there something that a reader could open
                    self.storage.activate(generation)
                yield library

    @contextmanager
    def reading(self, generation: Generation | None = None) -> Iterator[OpenLibrary]:
        """Open it as it is; what a crash left undone is done first, unless another process is writing."""
        with self._opened(generation or self.storage.current()) as library:
            library.refuse_mismatch()
            if library.needs_healing():
                try:
                    with self.storage.writing():
                        library.heal()
                except Locked:
                    _log.info("another process is writing; it brings the index up to date itself")
                except Unavailable as error:
                    _log.warning("the index is not up to date and cannot be updated now: %s", error)
            yield library

    @contextmanager
    def inspecting(self) -> Iterator[OpenLibrary]:
        """Open it whatever it was built with."""
        with self._opened(self.storage.current()) as library:
            yield library

    def read(self, look: Callable[[Catalog], T]) -> T:
        """What `look` finds in its catalog, which is opened alone: no model and no index is needed."""

        def looked(generation: Generation) -> T:
            with self.storage.catalog(generation) as catalog:
                if catalog.facts() is None:
                    raise Misconfigured(emptied_message(self.settings.library))
                return look(catalog)

        return self.latest(looked)

    def latest(self, use: Callable[[Generation], T]) -> T:
        """The result of using the current generation; if another took its place meanwhile, of using that one."""
        for left in reversed(range(MAX_TRIES)):
            generation = self.storage.current()
            try:
                return use(generation)
            except CitewiseError:
                if not left or self.storage.current() == generation:
                    raise  # nobody replaced it: it really cannot be used
        raise AssertionError("the last try returns or raises")

    def ingest(self, paths: Mapping[Path, Collection[Path] | None], options: "IngestOptions") -> Iterator[IngestEvent]:
        """Open the library and ingest. The write lock is held until the last event."""
        with self.writing() as library:
            yield from library.ingest(paths, options)

    def ingest_source(self, source: Source, options: "IngestOptions") -> Iterator[IngestEvent]:
        """Open the library and ingest; if it has all of the source already, nothing is locked or written."""
        from citewise.ingest.targets import Target

        if self.storage.mark() is not None:
            with self.reading() as library:
                target = Target.of_source(options, library.catalog, self.access_defaults)
                if report := library.ingestion.unchanged(source, target):
                    yield report
                    return
        with self.writing() as library:
            yield from library.ingest_source(source, options)

    def watch(self, paths: Sequence[Path], options: "IngestOptions") -> Iterator[IngestEvent]:
        """Ingest changes as they come; what cannot be ingested now is tried again, and reported once."""
        pending, problem = dict[Path, set[Path]](), ""
        for changed in self.parts.changes(paths):
            for path, files in changed.items():
                pending.setdefault(path, set()).update(files)
            due = {path: files for path, files in pending.items() if path.exists()}
            if due:
                try:
                    yield from self.ingest(due, options)
                except Misconfigured:
                    raise
                except (CitewiseError, OSError) as error:  # OSError: a folder that goes away just now
                    if str(error) != problem:
                        _log.warning("%s; trying again", error)
                    problem = str(error)
                    continue
            problem = ""
            pending.clear()

    def reembed(self) -> Iterator[Reindexed]:
        """Build the library again beside the old one, with the settings' model and chunk sizes, then swap."""
        with self.storage.writing():
            following = self.storage.build()
            with self._opened(following, may_create=True) as begun:  # what an interrupted run left
                is_same = begun.catalog.facts() in (None, self.facts)
            if not is_same:
                following = self.storage.build(is_empty=True)
            with self.inspecting() as old, self._opened(following, may_create=True) as new:
                _refuse_shared(old, new)
                new.catalog.record_facts(self.facts)
                if summary := old.catalog.last_ingest():
                    new.catalog.record_ingest(summary)
                yield from new.ingestion.reembed(old.catalog)
            self.storage.activate(following)

    @contextmanager
    def _opened(self, generation: Generation, *, may_create: bool = False) -> Iterator[OpenLibrary]:
        with self.storage.open(generation, self.embedding.embedder.model, may_create=may_create) as stores:
            yield OpenLibrary(stores.catalog, stores.vectors, stores.texts, self)


def _refuse_shared(old: OpenLibrary, new: OpenLibrary) -> None:
    """What is handed in serves both builds of a library: writing to it would destroy the one that serves."""
    if new.catalog is old.catalog or new.vectors is old.vectors or new.texts is old.texts:
        raise Misconfigured(
            "this library uses a catalog or an index that was passed to Library() and cannot be rebuilt beside itself: "
            "ingest the sources into a new library"
        )


@dataclass(slots=True)
class _Lease:
    """One generation, open, and how many searches are using it."""

    library: OpenLibrary
    pages: "PageBuilder"  # and the search that it pages through
    generation: Generation
    mark: Hashable  # of the storage, before its current generation was looked up
    closing: ExitStack
    users: int = 0


class LibraryReader:
    """Keeps a library open for searches and lends it to any number of threads.

    It is opened by the first search, and again when another generation took its place; once closed, never again.
    """

    def __init__(
        self,
        library: StoredLibrary,
        *,
        make_pages: "Callable[[OpenLibrary, Executor], PageBuilder]",
        log_store: LogStore,
    ) -> None:
        self._stored = library
        self._make_pages = make_pages
        self._log_store = log_store
        self._opening = threading.RLock()  # one thread opens, the others wait for it
        # Never held for long. Reentrant, since an abandoned answer is closed by the garbage collector, anywhere.
        self._counting = threading.RLock()
        self._lease: _Lease | None = None
        self._is_closed = self.was_opened = False
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="citewise-ranking")

    def search(self, query: Query, page: PageRequest | None = None) -> SearchResult:
        """Search, or fetch a page of a search; once more if the library was replaced meanwhile."""
        with self.lease() as lease:
            try:
                return lease.pages.search(query) if page is None else lease.pages(query, page)
            except Unavailable:
                if lease is self._lease and self._stored.storage.current() == lease.generation:
                    raise
        return self.search(query, page)

    def sections(
        self, query: Query, found: SearchResult, *, depth: int
    ) -> tuple[SearchResult, tuple[FoundSection, ...]]:
        """What stands around the best findings, as far as this reader may see it, and how long it took to read."""
        with self.lease() as lease:
            return lease.pages.search.sections(query, found, depth=depth)

    def popular(self, where: Where, limit: int) -> tuple[Passage, ...]:
        """Popular passages that a reader may see."""
        with self.lease() as lease:
            return ReadLog(self._log_store, lease.library.catalog).popular(where, limit)

    def version(self, scope: Scope) -> str:
        """Changes with everything that a search in this scope could see."""
        with self.lease() as lease:
            return str(lease.library.catalog.version(scope))

    def renewed(self, cursor: str) -> str | None:
        """A cursor that lasts as long as a new one; None if the pages behind it are gone."""
        with self.lease() as lease:
            return lease.pages.renewed(cursor)

    @contextmanager
    def lease(self) -> Iterator[_Lease]:
        """The library as it is now; it stays open at least until the block ends."""
        lease = self._taken()
        try:
            yield lease
        finally:
            self._close_unused(lease, released=1)

    def close(self) -> None:
        """Close it once the last search in it has ended; a later one is refused."""
        with self._counting:
            lease, self._lease, self._is_closed = self._lease, None, True
        if lease is not None:
            self._close_unused(lease)

    def _taken(self) -> _Lease:
        mark = self._stored.storage.mark()
        return self._shared(mark) or self._stored.latest(lambda generation: self._opened(generation, mark))

    def _shared(self, mark: Hashable) -> _Lease | None:
        with self._counting:
            if self._is_closed:
                raise BadRequest("the library was closed before this question was served: ask again")
            if self._lease is None or mark is None or self._lease.mark != mark:
                return None
            self._lease.users += 1
            return self._lease

    def _opened(self, generation: Generation, mark: Hashable) -> _Lease:
        with self._opening:
            lease = self._shared(mark)  # another thread has opened it
            if lease is not None:
                return lease
            with ExitStack() as stack:
                library = stack.enter_context(self._stored.reading(generation))
                pages = self._make_pages(library, self._threads)
                stack.enter_context(_frozen())
                opened = _Lease(library, pages, generation, mark, stack.pop_all(), users=1)
            with self._counting:
                self.was_opened = True
                old, self._lease = self._lease, None if self._is_closed else opened
        if old is not None:
            self._close_unused(old)
        return opened

    def _close_unused(self, lease: _Lease, *, released: int = 0) -> None:
        with self._counting:
            lease.users -= released
            if lease is self._lease or lease.users:
                return
            closing = lease.closing.pop_all()  # for one of several last users
        closing.close()


_freezing, _frozen_for = threading.RLock(), set[object]()  # libraries; reentrant: the collector may close one


@contextmanager
def _frozen() -> Iterator[None]:
    """Exclude what is loaded by now from garbage collection, of which a full pass takes 50 ms.

    The freeze is the process's: it ends with the last library, and a program that has made one itself keeps it.
    """
    library = object()
    with _freezing:
        if _frozen_for or not gc.get_freeze_count():
            _frozen_for.add(library)
            gc.freeze()
    try:
        yield
    finally:
        with _freezing:
            if _frozen_for == {library}:
                gc.unfreeze()
            _frozen_for.discard(library)
