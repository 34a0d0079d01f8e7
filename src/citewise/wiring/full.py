"""Settings -> a library that can be written, read and looked after. The only room that names the store's adapters."""

import logging
import shutil
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from citewise.adapters.folder.storage import LibraryFolder
from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.errors import Locked, Misconfigured, Unavailable
from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
from citewise.ingest.project import Project
from citewise.model.access import Access, Scope
from citewise.model.document import SourceRef
from citewise.model.report import IngestDone, IngestEvent, IngestReport, LibraryFacts
from citewise.ports.catalog import Catalog
from citewise.ports.indexes import TextIndex, VectorIndex
from citewise.settings import Settings
from citewise.text.analysis import ANALYZER_VERSION
from citewise.wiring.embedding import Embedding, embedding_of

if TYPE_CHECKING:  # what only writing needs is imported by those who write: a search starts a twentieth sooner
    from citewise.ingest.policy import AccessPolicy
    from citewise.ingest.prepare import Prepare
    from citewise.ingest.reembed import Reembedded
    from citewise.ingest.targets import IngestOptions
    from citewise.ingest.write import DocumentWriter

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GivenIndexes:
    """Indexes that the caller of `Library` handed in; None: the embedded one."""

    vectors: VectorIndex | None = None
    texts: TextIndex | None = None


@dataclass(frozen=True, slots=True)
class OpenLibrary:
    """A library, opened: its parts, ready for flows."""

    settings: Settings
    folder: LibraryFolder
    embedding: Embedding
    catalog: Catalog
    vectors: VectorIndex
    texts: TextIndex
    chunker: HeadingChunker
    project: Project

    @property
    def prepare(self) -> "Prepare":
        """The table of formats: which kind of item is read by which parser and cut by which chunker."""
        from citewise.adapters.markdown.parser import MarkdownParser
        from citewise.ingest.prepare import Format, Prepare

        formats = (Format("text/markdown", (".md", ".mdx"), MarkdownParser(), self.chunker),)
        return Prepare(formats, self.settings.ingest.path_rules)

    @property
    def writer(self) -> "DocumentWriter":
        from citewise.ingest.write import DocumentWriter

        embedding = self.embedding
        return DocumentWriter(embedding.embedder, self.catalog, (self.catalog,), self.project, embedding.words)

    def policy(self, source: SourceRef) -> "AccessPolicy":
        """Who may read the documents of a source."""
        from citewise.adapters.folder.source import Rules
        from citewise.ingest.policy import AccessPolicy

        by_path = []
        for pattern, names in self.settings.ingest.access_by_path.items():
            rules = Rules.of([pattern]).rules
            if not rules:
                raise Misconfigured(f"ingest.access_by_path: {pattern!r} is no pattern that could match a path")
            by_path.append((rules[0], Access.of(names)))
        return AccessPolicy(source, self.settings.ingest.access, tuple(by_path))

    def ingest(self, paths: Mapping[Path, Collection[Path] | None], options: "IngestOptions") -> Iterator[IngestEvent]:
        """Ingest paths one after the other (of each only the changed files that are named, if any are); the last event
        has the report of all, which is recorded."""
        report = IngestReport()
        for path, changed in paths.items():
            for event in self._ingest_path(path, changed, options):
                if isinstance(event, IngestDone):
                    report += event.report
                else:
                    yield event
        self.catalog.record_ingest(report.summary(datetime.now(UTC).isoformat(timespec="seconds")))
        yield IngestDone(report)

    def _ingest_path(
        self, path: Path, changed: Collection[Path] | None, options: "IngestOptions"
    ) -> Iterator[IngestEvent]:
        from citewise.adapters.folder.source import FolderSource
        from citewise.ingest.pipeline import Ingest
        from citewise.ingest.prepare import IngestRequest
        from citewise.ingest.targets import target_of, warn_if_emptied

        rules, prepare, library = self.settings.ingest, self.prepare, self.folder.root.resolve()
        target = target_of(path, options, self.catalog, base=library)
        target = target.with_rule(options.access) if changed is None else target.narrowed(changed)
        warn_if_emptied(target, options.scope, self.catalog)
        source = FolderSource(
            target.root,
            media_types={suffix: each.media_type for each in prepare.formats for suffix in each.suffixes},
            include=rules.include,
            exclude=rules.exclude,
            max_file_bytes=round(rules.max_file_mb * 1_000_000),
            own_folders=(library,),
            only=target.only,
        )
        self.catalog.register(options.scope, target.source)
        request = IngestRequest(options.scope, self.policy(target.source), options.corpus_type, target.only)
        return Ingest(prepare, self.writer)(source, request)

    def lacks_words(self) -> bool:
        """Whether vectors of words are wanted, and some chunk has none."""
        return self.embedding.words is not None and self.catalog.lacks_word_vectors()

    def needs_healing(self) -> bool:
        """Whether the index is not what the catalog and the analyzer would make of it."""
        return self._has_other_terms() or any(map(self.project.is_behind, self.catalog.scopes()))

    def heal(self) -> None:
        """Bring every scope's index to where the catalog is: after a crash, a deletion, a new analyzer."""
        has_other_terms = self._has_other_terms()
        for scope in self.catalog.scopes():
            if has_other_terms:
                deque(self.project.rebuild(scope), maxlen=0)
            else:
                self.project(scope)
        if has_other_terms:
            self.catalog.record_facts(_facts(self))

    def _has_other_terms(self) -> bool:
        facts = self.catalog.facts()
        return facts is not None and facts.analyzer != ANALYZER_VERSION


@contextmanager
def opened_for_writing(
    settings: Settings, embedding: Embedding | None = None, indexes: GivenIndexes | None = None
) -> Iterator[OpenLibrary]:
    """The library with its write lock held, made if it is new, and healed before anything is added."""
    folder = LibraryFolder(settings.library)
    folder.refuse_foreign()
    with folder.writing():
        generation = folder.current() if folder.exists else folder.first()
        with _opened(settings, folder, generation, embedding, indexes, may_create=not folder.exists) as library:
            if not folder.exists:
                library.catalog.record_facts(_facts(library))
            _refuse_unfit(library)
            library.heal()
            if not folder.exists:  # only now is there something that a reader could open
                folder.swap_to(generation)
            yield library


@contextmanager
def opened_for_reading(
    settings: Settings,
    embedding: Embedding | None = None,
    generation: Path | None = None,
    indexes: GivenIndexes | None = None,
) -> Iterator[OpenLibrary]:
    """The library as it is; what a crash left undone is done first, unless another process is writing."""
    folder = LibraryFolder(settings.library)
    with _opened(settings, folder, generation or folder.current(), embedding, indexes) as library:
        _refuse_unfit(library)
        if library.needs_healing():
            _heal_if_possible(library)
        yield library


def _heal_if_possible(library: OpenLibrary) -> None:
    try:
        with library.folder.writing():
            library.heal()
    except Locked:
        _log.info("another process is writing; it brings the index up to date itself")
    except Unavailable as error:
        _log.warning("the index is not up to date, and cannot be brought so now: %s", error)


@contextmanager
def opened_unchecked(settings: Settings, embedding: Embedding | None = None) -> Iterator[OpenLibrary]:
    """The library whatever it was made with, to look at it."""
    folder = LibraryFolder(settings.library)
    with _opened(settings, folder, folder.current(), embedding) as library:
        yield library


def ingest_events(
    settings: Settings,
    embedding: Embedding,
    paths: Mapping[Path, Collection[Path] | None],
    options: "IngestOptions",
    indexes: GivenIndexes | None = None,
) -> Iterator[IngestEvent]:
    """Open the library and ingest. The write lock is held until the last event."""
    with opened_for_writing(settings, embedding, indexes) as library:
        yield from library.ingest(paths, options)


def watch_events(
    settings: Settings,
    embedding: Embedding,
    paths: Sequence[Path],
    options: "IngestOptions",
    indexes: GivenIndexes | None = None,
) -> Iterator[IngestEvent]:
    """Ingest changes as they come; while another process is writing, they are tried again."""
    from citewise.adapters.folder.watch import changes_below

    pending: dict[Path, set[Path]] = {}
    for changed in changes_below(paths, own=settings.library):
        for path, files in changed.items():
            pending.setdefault(path, set()).update(files)
        due = {path: files for path, files in pending.items() if path.exists()}
        if due:
            try:
                yield from ingest_events(settings, embedding, due, options, indexes)
            except Unavailable as error:
                _log.warning("%s; trying again", error)
                continue
        pending.clear()


def reembed(settings: Settings, embedding: Embedding | None = None) -> "Iterator[Reembedded]":
    """Build the library again beside the old one, with the settings' model and sizes, then swap."""
    from citewise.ingest.reembed import Reembed
    from citewise.ingest.write import DocumentWriter

    folder = LibraryFolder(settings.library)
    chosen = embedding or embedding_of(settings)
    with folder.writing():
        following = folder.next()
        with (
            _opened(settings, folder, folder.current(), chosen) as old,
            _opened_next(settings, folder, following, chosen) as new,
        ):
            new.catalog.record_facts(_facts(new))
            if summary := old.catalog.last_ingest():
                new.catalog.record_ingest(summary)
            caches = (new.catalog, old.catalog)
            writer = DocumentWriter(chosen.embedder, new.catalog, caches, new.project, chosen.words)
            yield from Reembed(old.catalog, new.prepare, writer)()
        folder.swap_to(following)
        folder.remove_others()


@contextmanager
def _opened_next(
    settings: Settings, folder: LibraryFolder, generation: Path, embedding: Embedding
) -> Iterator[OpenLibrary]:
    """The next generation: what an interrupted run left of it, if that was making the very same."""
    with _opened(settings, folder, generation, embedding, may_create=True) as library:
        is_the_same = library.catalog.facts() in (None, _facts(library))
    if not is_the_same:
        shutil.rmtree(generation)
        generation.mkdir()
    with _opened(settings, folder, generation, embedding, may_create=True) as library:
        yield library


def unfit(library: OpenLibrary) -> str | None:
    """In words, why the library cannot be used with these settings (D4); None if it can."""
    stored = library.catalog.facts()
    if stored is None:  # a new library gets its facts before its CURRENT
        return emptied(library.folder.root) if library.folder.exists else None
    differences = stored.differences(_facts(library))
    if not differences:
        return None
    return (
        f"the library at {library.folder.root} does not fit these settings: {'; '.join(differences)}. "
        "Use the settings it was made with, or make it anew from its stored texts with "
        f"`citewise reindex --library {library.folder.root}`"
    )


def emptied(root: Path) -> str:
    """What to say of a library whose catalog no longer knows what it was made with."""
    return (
        f"the catalog of {root} has been emptied: restore the library from a backup, "
        "or move the folder away and ingest again"
    )


def _refuse_unfit(library: OpenLibrary) -> None:
    problem = unfit(library)
    if problem:
        raise Misconfigured(problem)


def _facts(library: OpenLibrary) -> LibraryFacts:
    model = library.embedding.embedder.model
    return LibraryFacts(
        model=model.name,
        dimensions=model.dimensions,
        window_tokens=model.window_tokens,
        chunker=library.chunker.version,
        analyzer=ANALYZER_VERSION,
    )


@contextmanager
def _opened(
    settings: Settings,
    folder: LibraryFolder,
    generation: Path,
    embedding: Embedding | None = None,
    indexes: GivenIndexes | None = None,
    *,
    may_create: bool = False,
) -> Iterator[OpenLibrary]:
    embedding = embedding or embedding_of(settings)
    model = embedding.embedder.model
    sizes = settings.chunks
    chunker = HeadingChunker(
        embedding.counter,
        model.window_tokens,
        ChunkSizes(sizes.target_tokens, sizes.floor_tokens, sizes.ceiling_tokens, sizes.overlap_tokens),
    )
    connections = Connections(generation / "catalog.db", may_create=may_create)
    catalog = SqliteCatalog(connections, model_name=model.name)

    def is_expected(scope: Scope) -> bool:
        return catalog.last_position(scope) > 0

    root = generation / "index"
    local = LocalVectorIndex(root / "vectors", dimensions=model.dimensions, is_expected=is_expected)
    chosen = indexes or GivenIndexes()
    vectors = chosen.vectors or local
    local_texts = LocalTextIndex(root / "texts", vectors=local, is_expected=is_expected)
    texts = chosen.texts or local_texts
    try:
        yield OpenLibrary(
            settings=settings,
            folder=folder,
            embedding=embedding,
            catalog=catalog,
            vectors=vectors,
            texts=texts,
            chunker=chunker,
            project=Project(catalog, catalog, (vectors, texts)),
        )
    finally:
        local.close()  # an index that was handed in is its owner's to close
        local_texts.close()
        catalog.close()
