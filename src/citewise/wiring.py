"""Settings -> libraries, searches and services. Constructors only.

An adapter is imported inside the function that uses it, and so is what a search needs: no other command waits for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from citewise import wiring_models
from citewise.adapters.files import bytes_below
from citewise.adapters.folder.storage import LibraryFolder
from citewise.adapters.lazy import lazily
from citewise.errors import Misconfigured
from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
from citewise.library import LibraryReader, OpenLibrary, StoredLibrary
from citewise.model.chunk import EmbeddingModel
from citewise.model.ids import digest
from citewise.model.ranking import RANKINGS
from citewise.ports import catalog, indexes, sources, storage, stores
from citewise.ports.models import Embedder, Embedding, Generator, Reranker
from citewise.ports.storage import Generation
from citewise.settings import Settings
from citewise.wiring_models import NO_PARTS, LibraryParts

if TYPE_CHECKING:
    from citewise.ingest.prepare import Prepare
    from citewise.ingest.targets import Target
    from citewise.maintenance import Upkeep
    from citewise.search import cache, pages, pipeline
    from citewise.service import Service

LOG_FILE = "queries.db"
PAGES_FILE = "pages.db"  # beside the generations: a ranking outlives the one it was made in


def stored_library(
    settings: Settings, embedding: Embedding | None = None, parts: LibraryParts = NO_PARTS
) -> StoredLibrary:
    """The library in the settings' folder; nothing is opened yet."""
    chosen = embedding or wiring_models.embedding_of(settings, parts)
    folder, formats = LocalStorage(settings.library, parts), _formats(settings, chosen)
    return StoredLibrary(settings, folder, chosen, formats, _FolderParts(settings))


def _formats(settings: Settings, embedding: Embedding) -> tuple[sources.Format, ...]:
    """Which kind of item is read by which parser and cut by which chunker."""

    def markdown() -> sources.Parser:
        from citewise.adapters.markdown.parser import MarkdownParser

        return MarkdownParser()

    chosen, window_tokens = settings.chunks, embedding.embedder.model.window_tokens
    sizes = ChunkSizes(chosen.target_tokens, chosen.floor_tokens, chosen.ceiling_tokens, chosen.overlap_tokens)
    chunker = HeadingChunker(embedding.counter, window_tokens, sizes)
    return (sources.Format("text/markdown", (".md", ".mdx"), lazily("the Markdown parser", markdown), chunker),)


class LocalStorage(LibraryFolder):
    """The storage of a library in a folder: SQLite and the embedded indexes, unless others were handed in."""

    def __init__(self, root: Path, parts: LibraryParts = NO_PARTS) -> None:
        super().__init__(root, self.catalog)
        self._parts = parts

    @contextmanager
    def writing(self) -> Iterator[None]:
        wiring_models.check_memory("write", self._parts)
        with super().writing():
            yield

    @contextmanager
    def open(
        self, generation: Generation, model: EmbeddingModel, *, may_create: bool = False
    ) -> Iterator[storage.Stores]:
        folder, local = self.root / generation / "index", None
        wiring_models.check_memory("search", self._parts, mapped_bytes=bytes_below(folder))
        vectors, texts = self._parts.get("vector_index"), self._parts.get("text_index")
        with ExitStack() as stack:
            opened = stack.enter_context(self.catalog(generation, model_name=model.name, may_create=may_create))
            if vectors is None:
                from citewise.adapters.local_index.vectors import LocalVectorIndex

                local = LocalVectorIndex(folder / "vectors", dimensions=model.dimensions)
                vectors = stack.enter_context(closing(local))
            if texts is None:
                from citewise.adapters.local_index.texts import LocalTextIndex

                texts = stack.enter_context(closing(LocalTextIndex(folder / "texts", vectors=local)))
            yield storage.Stores(opened, vectors, texts)

    def catalog(
        self, generation: Generation, *, model_name: str = "", may_create: bool = False
    ) -> AbstractContextManager[catalog.Catalog]:
        from citewise.adapters.sqlite.catalog import SqliteCatalog
        from citewise.adapters.sqlite.connections import Connections

        if (given := self._parts.get("catalog")) is not None:
            return nullcontext(given)
        file = Connections(self.root / generation / "catalog.db", may_create=may_create)
        return closing(SqliteCatalog(file, model_name=model_name))

    def indexes(self, generation: Generation) -> Mapping[storage.IndexRole, storage.IndexFacts]:
        def facts(name: str, engine: str, given: indexes.Projection | None) -> storage.IndexFacts:
            if given is not None:
                return storage.IndexFacts(given.name, given.name, given.size_bytes())
            return storage.IndexFacts(name, engine, bytes_below(self.root / generation / "index" / name))

        vectors, texts = self._parts.get("vector_index"), self._parts.get("text_index")
        return {"vectors": facts("vectors", "faiss", vectors), "texts": facts("texts", "tantivy", texts)}


@dataclass(frozen=True, slots=True)
class _FolderParts:
    """`library.IngestParts` for files in folders."""

    settings: Settings

    def prepare(self, formats: tuple[sources.Format, ...]) -> "Prepare":
        from citewise.ingest.prepare import Prepare

        return Prepare(formats, self.settings.ingest.path_rules)

    def source(self, target: "Target", formats: tuple[sources.Format, ...]) -> sources.Source:
        from citewise.adapters.folder.site import site_of
        from citewise.adapters.folder.source import FolderSource

        chosen = self.settings.ingest
        return FolderSource(
            target.root,
            media_types={suffix: each.media_type for each in formats for suffix in each.suffixes},
            include=chosen.include,
            exclude=chosen.exclude,
            max_file_bytes=round(chosen.max_file_mb * 1_000_000),
            own_folders=(self.settings.library.resolve(),),
            only=target.only,
            site=site_of(target.root),
        )

    def changes(self, paths: Sequence[Path]) -> Iterator[dict[Path, list[Path]]]:
        from citewise.adapters.folder.watch import changes_below

        return changes_below(paths, own=self.settings.library)


def search_of(
    library: OpenLibrary,
    *,
    reranker: Reranker | None,
    threads: Executor,
    turns: AbstractContextManager[object] | None = None,
) -> "pipeline.Search":
    """The search that the library's settings describe."""
    from citewise.search import adjust, fuse, pipeline, rankings, rescore, sections

    settings, embedding = library.stored.settings, library.stored.embedding
    chosen, without = settings.search, frozenset(settings.search.without)
    refine = pipeline.refinements(
        rescore.Features(chosen.features),
        rescore.Late(embedding.words, library.catalog, chosen.late),
        rescore.Rerank(reranker, settings.rerank.depth),
        adjust.Freshness(chosen.half_life_days, chosen.freshness_weight),
        adjust.Boost(chosen.boosts),
    )
    if unknown := without - {*RANKINGS, *(stage.name for stage in refine)}:
        raise Misconfigured(f"setting search.without names no ranking and no stage: {', '.join(sorted(unknown))}")
    fusion = fuse.FUSIONS[chosen.fusion]
    is_small = 0 < library.vectors.size_bytes() < rankings.LARGE_INDEX_BYTES  # 0: not known, it may wait for a server
    is_local = reranker is None or getattr(reranker, "is_local", False)  # a turn must not wait for a server
    turn, side_by_side = turns if turns and is_local else nullcontext(), None if is_small else threads
    vectors, texts, log = library.vectors, library.texts, library.catalog
    return pipeline.Search(
        rankings.Retrieve(embedding.embedder, vectors, texts, side_by_side, without, turn, log),
        pipeline.Hydrate(library.catalog, pipeline.MIN_CANDIDATES if reranker is None else settings.rerank.depth),
        tuple(stage for stage in refine if stage.name not in without),
        wiring_models.addresses_of(settings),
        fusion(chosen.weights) if chosen.weights else fusion(),
        sections.ReadSections(library.catalog, embedding.words, library.catalog),
    )


def service_of(settings: Settings, embedding: Embedding, generator: Generator, parts: LibraryParts) -> "Service":
    """Searches and answers over a library that is held open, logged and cached."""
    from citewise.adapters.memory.cache import RememberingEmbedder
    from citewise.search.pipeline import Turns
    from citewise.service import Service

    embedder = RememberingEmbedder(embedding.for_readers or embedding.embedder)
    remembering = replace(embedding, embedder=embedder, for_readers=None)
    reranker, turns = parts.get("reranker") or wiring_models.reranker_of(settings), Turns()

    def make_pages(library: OpenLibrary, threads: Executor) -> "pages.PageBuilder":
        return pages_of(settings, search_of(library, reranker=reranker, threads=threads, turns=turns))

    stored, log_store = stored_library(settings, remembering, parts), log_store_of(settings, parts)
    reader = LibraryReader(stored, make_pages=make_pages, log_store=log_store)
    return Service(
        reader,
        lambda: wiring_models.answer_pipeline(settings, remembering, generator, parts),
        log=query_log_of(settings, parts),
        cache=_cache(settings, reader, embedder, reranker, parts),
        addresses=wiring_models.addresses_of(settings),
        count_tokens=lambda text: embedding.counter.counts([text])[0],
    )


def pages_of(settings: Settings, search: "pipeline.Search") -> "pages.PageBuilder":
    """Pages whose rankings are saved in the library's folder."""
    from citewise.adapters.sqlite.rankings import SqliteRankings
    from citewise.search.pages import PageBuilder

    chosen = settings.paging
    return PageBuilder(search, SqliteRankings(settings.library / PAGES_FILE), chosen.depth, chosen.ttl_seconds)


def _cache(
    settings: Settings, reader: LibraryReader, embedder: Embedder, reranker: Reranker | None, parts: LibraryParts
) -> "cache.ResultCache | None":
    """The cache of a library's results in this process; None if the settings want none."""
    from citewise.adapters.memory.cache import MemoryCache
    from citewise.search.adjust import Freshness
    from citewise.search.cache import ResultCache

    chosen, store = settings.query_cache, parts.get("cache")
    if store is None and not chosen.megabytes:
        return None
    if store is None:
        store = MemoryCache(max_bytes=int(chosen.megabytes * 1_000_000), ttl_seconds=chosen.ttl_seconds)
    return ResultCache(
        store,
        reader,
        settings=digest(repr(settings), embedder.model.name, reranker.name if reranker else ""),
        ttl_seconds=chosen.ttl_seconds,
        freshness=Freshness(settings.search.half_life_days, settings.search.freshness_weight),
        embedder=embedder,
        min_cosine=chosen.min_cosine,
    )


def query_log_of(settings: Settings, parts: LibraryParts = NO_PARTS) -> stores.QueryLog:
    """The query log; one that keeps nothing if the settings want none, or its file cannot be written."""
    from citewise.adapters.memory.query_log import NoLog, QueuedLog
    from citewise.text.redaction import Redaction

    chosen, store = settings.query_log, log_store_of(settings, parts)
    file = getattr(store, "file", None)
    if not chosen.retention_days or (file and not file.can_write()):
        return NoLog()
    return QueuedLog(store, redact=Redaction(chosen.text), max_waiting=chosen.queue)


def log_store_of(settings: Settings, parts: LibraryParts = NO_PARTS) -> stores.LogStore:
    from citewise.adapters.sqlite.query_log import SqliteLog

    chosen, file = settings.query_log, settings.library / LOG_FILE
    return parts.get("query_log") or SqliteLog(file, retention_days=chosen.retention_days, max_rows=chosen.rows)


def upkeep_of(settings: Settings, parts: LibraryParts = NO_PARTS) -> "Upkeep":
    from citewise.adapters.sqlite.rankings import SqliteRankings
    from citewise.maintenance import Upkeep

    return Upkeep(
        log_store_of(settings, parts),
        lazily("the saved rankings", lambda: SqliteRankings(settings.library / PAGES_FILE)),
        parts.get("reranker") or wiring_models.reranker_of(settings),
        parts.get("generator") or wiring_models.generator_of(settings),
    )
