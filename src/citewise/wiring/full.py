"""Settings -> a library that can be written, read and looked after. The only room that names the store's adapters."""

import logging
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from citewise.model.access import Scope
from citewise.model.report import LibraryFacts
from citewise.ports.catalog import Catalog
from citewise.ports.indexes import TextIndex, VectorIndex
from citewise.settings import Settings
from citewise.text.analysis import ANALYZER_VERSION
from citewise.wiring.embedding import Embedding, embedding_of

if TYPE_CHECKING:  # what only writing needs is imported by those who write: a search starts a twentieth sooner
    from citewise.ingest.prepare import Prepare
    from citewise.ingest.reembed import ReembedReport
    from citewise.ingest.write import Absorb

_log = logging.getLogger(__name__)

SUFFIXES = frozenset({".md", ".mdx"})


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
        from citewise.adapters.markdown.parser import MarkdownParser
        from citewise.ingest.prepare import Prepare

        return Prepare(MarkdownParser(), self.chunker, self.settings.ingest.path_rules)

    @property
    def absorb(self) -> "Absorb":
        from citewise.ingest.write import Absorb

        return Absorb(self.embedding.embedder, self.catalog, (self.catalog,), self.project, self.embedding.words)

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


def reembed(
    settings: Settings, *, on_document: Callable[[str], None], embedding: Embedding | None = None
) -> "ReembedReport":
    """Make the library anew beside the old one, with the settings' model and sizes, then swap."""
    from citewise.ingest.reembed import Reembed
    from citewise.ingest.write import Absorb

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
            absorb = Absorb(chosen.embedder, new.catalog, caches, new.project, chosen.words)
            report = Reembed(old.catalog, new.prepare, absorb)(on_document=on_document)
        folder.swap_to(following)
        folder.remove_others()
    return report


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
