"""Settings -> libraries, searches and services. Constructors only; an adapter is imported inside the function that uses
it, since selected text is answered with `answer_pipeline` and without any store."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from citewise.errors import Misconfigured
from citewise.model.access import Access, Scope
from citewise.model.chunk import EmbeddingModel
from citewise.model.ranking import RANKINGS
from citewise.ports.models import Embedder, Embedding, Generator, QualityEvaluator, Reranker
from citewise.settings import Settings
from citewise.text.urls import Addresses
from citewise.wiring_models import NO_PARTS, Parts, compress_of, embedding_of, generator_of, reranker_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from citewise import library, maintenance, service
    from citewise.adapters.folder.storage import LibraryFolder
    from citewise.answer.compress import Compress
    from citewise.answer.pipeline import AnswerPipeline
    from citewise.ingest import policy, targets
    from citewise.ingest.prepare import Prepare
    from citewise.ports import catalog, sources, storage, stores
    from citewise.search import cache, pages, pipeline

_log = logging.getLogger(__name__)

LOG_FILE = "queries.db"
MARKDOWN = "text/markdown"
PAGES_FILE = "pages.db"  # beside the generations: a ranking outlives the one it was made in


def answer_pipeline(
    settings: Settings,
    embedding: Embedding,
    generator: Generator,
    compress: "Compress | None" = None,
    evaluator: QualityEvaluator | None = None,
) -> "AnswerPipeline":
    """The pipeline for the library and for selected text. A compressor may hold a model: hand it in to keep it."""
    from citewise.answer.ground import Ground
    from citewise.answer.pack import Pack
    from citewise.answer.pipeline import AnswerPipeline
    from citewise.answer.quality import CalibratedQuality

    chosen = settings.answer
    return AnswerPipeline(
        Pack(embedding.counter, _addresses(settings), chosen.budget_tokens),
        Ground(embedding.for_readers or embedding.embedder, embedding.counter),
        generator,
        compress or compress_of(settings, embedding.counter),
        evaluator or CalibratedQuality(),
        min_confidence=chosen.min_confidence or None,
    )


def _addresses(settings: Settings) -> Addresses:
    """Where cited documents can be read."""
    return Addresses(settings.citations.sites, settings.citations.repositories)


# Libraries


def stored_library(
    settings: Settings, embedding: Embedding | None = None, parts: Parts = NO_PARTS
) -> "library.StoredLibrary":
    """The library in the settings' folder; nothing is opened yet."""
    from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
    from citewise.library import StoredLibrary

    chosen, sizes = embedding or embedding_of(settings, parts), settings.chunks
    window_tokens = chosen.embedder.model.window_tokens
    chunk_sizes = ChunkSizes(sizes.target_tokens, sizes.floor_tokens, sizes.ceiling_tokens, sizes.overlap_tokens)
    chunkers = {MARKDOWN: HeadingChunker(chosen.counter, window_tokens, chunk_sizes)}
    return StoredLibrary(settings, library_folder(settings.library, parts), chosen, chunkers, _FolderParts(settings))


def library_folder(root: Path, parts: Parts = NO_PARTS) -> "LibraryFolder":
    """The storage of a library in a folder: SQLite and the embedded indexes, unless others were handed in."""
    from citewise.adapters.folder.storage import LibraryFolder
    from citewise.adapters.sqlite.catalog import SqliteCatalog
    from citewise.adapters.sqlite.connections import Connections

    def open_catalog(folder: Path) -> AbstractContextManager["catalog.Catalog"]:
        if parts.catalog is not None:
            return nullcontext(parts.catalog)
        return closing(SqliteCatalog(Connections(folder / "catalog.db"), model_name=""))

    @contextmanager
    def open_stores(folder: Path, model: EmbeddingModel, may_create: bool) -> Iterator["storage.Stores"]:
        from citewise.ports.storage import Stores

        with ExitStack() as stack:
            catalog = parts.catalog or stack.enter_context(
                closing(SqliteCatalog(Connections(folder / "catalog.db", may_create=may_create), model_name=model.name))
            )

            def is_expected(scope: Scope) -> bool:
                return catalog.last_position(scope) > 0

            root, local, vectors, texts = folder / "index", None, parts.vector_index, parts.text_index
            if vectors is None:
                from citewise.adapters.local_index.vectors import LocalVectorIndex

                local = LocalVectorIndex(root / "vectors", dimensions=model.dimensions, is_expected=is_expected)
                vectors = stack.enter_context(closing(local))
            if texts is None:
                from citewise.adapters.local_index.texts import LocalTextIndex

                made = LocalTextIndex(root / "texts", vectors=local, is_expected=is_expected)
                texts = stack.enter_context(closing(made))
            yield Stores(catalog, vectors, texts)

    vectors, texts = parts.vector_index, parts.text_index
    indexes = {
        vectors.name if vectors else "vectors": vectors.name if vectors else "faiss",
        texts.name if texts else "texts": texts.name if texts else "tantivy",
    }
    return LibraryFolder(root, open_stores=open_stores, open_catalog=open_catalog, indexes=indexes)


@dataclass(frozen=True, slots=True)
class _FolderParts:
    """`library.IngestParts` for files in folders."""

    settings: Settings

    def prepare(self, chunkers: Mapping[str, "sources.Chunker"]) -> "Prepare":
        """The table of formats: which kind of item is read by which parser and cut by which chunker."""
        from citewise.adapters.markdown.parser import MarkdownParser
        from citewise.ingest.prepare import Format, Prepare

        formats = (Format(MARKDOWN, (".md", ".mdx"), MarkdownParser(), chunkers[MARKDOWN]),)
        return Prepare(formats, self.settings.ingest.path_rules, self._policy())

    def _policy(self) -> "policy.AccessPolicy":
        from citewise.adapters.folder.source import Patterns
        from citewise.ingest.policy import AccessPolicy

        by_path = []
        for pattern, names in self.settings.ingest.access_by_path.items():
            rules = Patterns.of([pattern]).rules
            if not rules:
                raise Misconfigured(f"ingest.access_by_path: {pattern!r} is not a pattern that could match a path")
            by_path.append((rules[0].covers, Access.of(names)))
        return AccessPolicy(self.settings.ingest.access, tuple(by_path))

    def source(self, target: "targets.Target", prepare: "Prepare") -> "sources.Source":
        from citewise.adapters.folder.source import FolderSource

        rules = self.settings.ingest
        return FolderSource(
            target.root,
            media_types={suffix: each.media_type for each in prepare.formats for suffix in each.suffixes},
            include=rules.include,
            exclude=rules.exclude,
            max_file_bytes=round(rules.max_file_mb * 1_000_000),
            own_folders=(self.settings.library.resolve(),),
            only=target.only,
        )

    def changes(self, paths: Sequence[Path]) -> Iterator[dict[Path, list[Path]]]:
        from citewise.adapters.folder.watch import changes_below

        return changes_below(paths, own=self.settings.library)


def search_of(
    library: "library.OpenLibrary",
    *,
    reranker: Reranker | None,
    threads: "Executor",
    turns: AbstractContextManager[object] | None = None,
) -> "pipeline.Search":
    """The search that the library's settings describe."""
    from citewise.search.adjust import Boost, Freshness
    from citewise.search.fuse import Fusion, MinMax, Nearness, ReciprocalRanks
    from citewise.search.pipeline import MIN_CANDIDATES, Hydrate, Search, refinements
    from citewise.search.rankings import LARGE_INDEX_BYTES, Retrieve
    from citewise.search.rescore import Features, Late, Rerank

    settings, chosen = library.settings, library.settings.search
    without = frozenset(chosen.without)
    refine = refinements(
        Features(chosen.features),
        Late(library.embedding.words, library.catalog, chosen.late),
        Rerank(reranker, settings.rerank.depth),
        Freshness(chosen.half_life_days, chosen.freshness_weight),
        Boost(chosen.boosts),
    )
    if unknown := without - {*RANKINGS, *(stage.name for stage in refine)}:
        raise Misconfigured(f"setting search.without names no ranking and no stage: {', '.join(sorted(unknown))}")
    fusions: dict[str, Callable[..., Fusion]] = {"nearness": Nearness, "minmax": MinMax, "rrf": ReciprocalRanks}
    fusion, min_candidates = fusions[chosen.fusion], MIN_CANDIDATES if reranker is None else settings.rerank.depth
    is_small = 0 < library.vectors.size_bytes() < LARGE_INDEX_BYTES  # 0: not known, it may wait for a server
    is_local = reranker is None or getattr(reranker, "is_local", False)  # a turn must not wait for a server
    turn = turns if turns and is_local else nullcontext()
    embedder, side_by_side = library.embedding.embedder, None if is_small else threads
    return Search(
        Retrieve(embedder, library.vectors, library.texts, side_by_side, without, turn),
        Hydrate(library.catalog, min_candidates, library.catalog.request_reingest),
        tuple(stage for stage in refine if stage.name not in without),
        _addresses(settings),
        fusion(chosen.weights) if chosen.weights else fusion(),
    )


# Requests


def service_of(settings: Settings, embedding: Embedding, generator: Generator, parts: Parts) -> "service.Service":
    """Searches and answers over a library that is held open, logged and cached."""
    from dataclasses import replace

    from citewise.adapters.memory.cache import RememberingEmbedder
    from citewise.library import LibraryReader
    from citewise.search.pipeline import Turns
    from citewise.service import Answers, Service

    embedder = RememberingEmbedder(embedding.for_readers or embedding.embedder)
    remembering = replace(embedding, embedder=embedder, for_readers=None)
    reranker, turns = parts.reranker or reranker_of(settings), Turns()
    compress = compress_of(settings, embedding.counter, parts.compressor)

    def make_pages(library: "library.OpenLibrary", threads: "Executor") -> "pages.PageBuilder":
        return pages_of(settings, search_of(library, reranker=reranker, threads=threads, turns=turns))

    def make_answers() -> Answers:
        return answer_pipeline(settings, remembering, generator, compress, parts.quality_evaluator)

    stored, log_store = stored_library(settings, remembering, parts), log_store_of(settings, parts)
    reader = LibraryReader(stored, make_pages=make_pages, log_store=log_store)
    return Service(
        reader,
        make_answers,
        log=query_log_of(settings, parts),
        cache=_cache(settings, reader, remembering.embedder, reranker, parts.cache),
        addresses=_addresses(settings),
        count_tokens=lambda text: embedding.counter.counts([text])[0],
    )


def pages_of(settings: Settings, search: "pipeline.Search") -> "pages.PageBuilder":
    """Pages whose rankings are saved in the library's folder, for every process; if it is read-only, for this one."""
    from citewise.adapters.sqlite.rankings import SqliteRankings
    from citewise.library import can_write
    from citewise.model.query import NOT_SHARED
    from citewise.search.pages import PageBuilder

    file, chosen = settings.library / PAGES_FILE, settings.paging
    notes: tuple[str, ...] = ()
    if not can_write(file):
        file, notes = _process_folder() / PAGES_FILE, (NOT_SHARED,)
    return PageBuilder(search, SqliteRankings(file), chosen.depth, chosen.ttl_seconds, notes)


@lru_cache(maxsize=1)
def _process_folder() -> Path:
    """A folder that ends with this process."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="citewise-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _cache(
    settings: Settings,
    reader: "library.LibraryReader",
    embedder: Embedder,
    reranker: Reranker | None,
    store: "stores.QueryCache | None",
) -> "cache.ResultCache | None":
    """The cache of a library's results in this process; None if the settings want none."""
    from citewise.model.ids import digest
    from citewise.search.adjust import Freshness
    from citewise.search.cache import ResultCache

    chosen = settings.query_cache
    if store is None and not chosen.megabytes:
        return None
    if store is None:
        from citewise.adapters.memory.cache import MemoryCache

        store = MemoryCache(max_bytes=int(chosen.megabytes * 1_000_000), ttl_seconds=chosen.ttl_seconds)
    return ResultCache(
        store,
        version=reader.version,
        renewed=reader.renewed,
        settings=digest(repr(settings), embedder.model.name, reranker.name if reranker else ""),
        ttl_seconds=chosen.ttl_seconds,
        freshness=Freshness(settings.search.half_life_days, settings.search.freshness_weight),
        embed=embedder.query,
        min_cosine=chosen.min_cosine,
    )


def query_log_of(settings: Settings, parts: Parts = NO_PARTS) -> "stores.QueryLog":
    """The query log; one that keeps nothing if the settings want none, or if the folder can only be read."""
    from citewise.adapters.memory.query_log import NoLog, QueuedLog
    from citewise.library import can_write
    from citewise.text.secrets import Redaction

    chosen = settings.query_log
    if not chosen.retention_days:
        return NoLog()
    if parts.query_log is None and settings.library.is_dir() and not can_write(settings.library / LOG_FILE):
        _log.info("questions are not logged: %s cannot be written to", settings.library)
        return NoLog()
    return QueuedLog(log_store_of(settings, parts), redact=Redaction(chosen.text), max_waiting=chosen.queue)


def log_store_of(settings: Settings, parts: Parts = NO_PARTS) -> "stores.LogStore":
    from citewise.adapters.sqlite.query_log import SqliteLog

    chosen = settings.query_log
    file = settings.library / LOG_FILE
    return parts.query_log or SqliteLog(file, retention_days=chosen.retention_days, max_rows=chosen.rows)


def upkeep_of(settings: Settings, parts: Parts = NO_PARTS) -> "maintenance.Upkeep":
    from citewise.adapters.sqlite.rankings import SqliteRankings
    from citewise.maintenance import Upkeep

    return Upkeep(
        log_store_of(settings, parts),
        None if parts.query_log else settings.library / LOG_FILE,
        settings.library / PAGES_FILE,
        make_reranker=lambda: parts.reranker or reranker_of(settings),
        make_generator=lambda: parts.generator or generator_of(settings),
        clear_pages=lambda: SqliteRankings(settings.library / PAGES_FILE).clear(),
    )
