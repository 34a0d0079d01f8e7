"""Looking after a library: what it holds, whether it is well, and making its index anew."""

import importlib.metadata
import shutil
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from citewise.adapters.folder.storage import LibraryFolder
from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.errors import CitewiseError, Locked, Misconfigured
from citewise.ingest.reembed import Reembedded
from citewise.model.access import Scope
from citewise.model.chunk import TermField, Vector
from citewise.model.filters import Where
from citewise.model.report import Check, Compaction, ScopeStatus, Status
from citewise.ports.catalog import Catalog
from citewise.settings import Settings
from citewise.text import analysis
from citewise.wiring.embedding import Embedding, embedding_of
from citewise.wiring.full import emptied, opened_for_writing, opened_unchecked, reembed, unfit
from citewise.wiring.generating import generator_of
from citewise.wiring.insights import await_log, log_check, sweep_log
from citewise.wiring.paging import pages_check, sweep_pages
from citewise.wiring.reranking import reranker_of

MIN_FREE_BYTES = 500_000_000  # under this an ingestion may not finish


def status(settings: Settings) -> Status:
    """What the library says about itself; nothing is loaded or healed, only an older catalog brought up to date."""
    folder = LibraryFolder(settings.library)
    generation = folder.current()
    with _catalog(generation) as catalog:
        facts = catalog.facts()
        if facts is None:
            raise Misconfigured(emptied(settings.library))
        root = generation / "index"
        indexes = (
            LocalVectorIndex(root / "vectors", dimensions=facts.dimensions or 1),
            LocalTextIndex(root / "texts"),
        )

        def position(scope: Scope) -> int:
            states = [index.state(scope) for index in indexes]
            return min(state.position if state else 0 for state in states)

        scopes = tuple(
            ScopeStatus(
                scope.tenant,
                scope.project,
                catalog.count(scope).documents,
                catalog.count(scope).chunks,
                catalog.last_position(scope),
                position(scope),
            )
            for scope in catalog.scopes()
        )
        return Status(
            library=str(settings.library),
            embedding_model=facts.model,
            dimensions=facts.dimensions,
            chunker=facts.chunker,
            engines={"catalog": catalog.engine, "words": "tantivy", "vectors": "faiss"},
            scopes=scopes,
            catalog_bytes=catalog.size_bytes(),
            index_bytes=sum(index.size_bytes() for index in indexes),
            last_ingest=catalog.last_ingest(),
            problems=(*_problems(scopes), *_misfit(settings)),
        )


def _problems(scopes: tuple[ScopeStatus, ...]) -> Iterator[str]:
    for scope in scopes:
        if scope.index_position != scope.log_position:
            yield (
                f"the index of {scope.tenant}/{scope.project} stands at {scope.index_position} of "
                f"{scope.log_position}: the next ingest or `citewise reindex` brings it up to date"
            )


def _misfit(settings: Settings) -> Iterator[str]:
    try:
        with opened_unchecked(settings) as library:
            problem = unfit(library)
    except CitewiseError as error:
        problem = str(error)
    if problem:
        yield problem


def doctor(settings: Settings) -> tuple[Check, ...]:
    """Look at everything that has to be right, and say what to do where it is not."""
    return tuple(_checks(settings))


def _checks(settings: Settings) -> Iterator[Check]:
    yield Check("python", sys.version.split()[0])
    yield Check("citewise", importlib.metadata.version("citewise"))
    yield _tried("embedding model", lambda: _embedding_detail(settings), "follow the message, then try again")
    if settings.rerank.provider != "none":
        remedy = "follow the message; search does without it until then"
        yield _tried("reranker", lambda: _reranker_detail(settings), remedy)
    if settings.answer.generator != "extractive":
        yield _tried("generator", lambda: _generator_detail(settings), "set what is missing, then try again")
    yield _disk(settings.library)
    folder = LibraryFolder(settings.library)
    if not folder.exists:
        yield Check("library", f"none at {settings.library}", "make one with `citewise ingest PATH`")
        return
    yield _tried("write lock", lambda: _lock_detail(folder), "check who may write to the library's folder")
    catalog = _tried("catalog", lambda: _catalog_detail(folder), "restore the library from a backup, or ingest again")
    yield catalog
    if not catalog.is_ok:
        return  # whatever else is said would follow from this
    fit = _tried("settings", lambda: _fit_detail(settings), "use other settings, or run `citewise reindex`")
    yield fit
    yield _tried("index", lambda: _index_detail(settings, is_searched=fit.is_ok), "run `citewise reindex`")
    yield log_check(settings)
    yield pages_check(settings)


def _tried(name: str, look: Callable[[], str], remedy: str) -> Check:
    try:
        return Check(name, look())
    except CitewiseError as error:
        return Check(name, str(error), remedy)


def _embedding_detail(settings: Settings) -> str:
    embedder = embedding_of(settings).embedder
    embedder.query("Is anybody there?")
    return f"{embedder.model.name}, {embedder.model.dimensions} dimensions, window {embedder.model.window_tokens}"


def _reranker_detail(settings: Settings) -> str:
    reranker = reranker_of(settings)
    if reranker is None:
        return "none"
    reranker.scores("Is anybody there?", ["Yes."])
    return reranker.name


def _generator_detail(settings: Settings) -> str:
    """Its settings alone: a question would cost money."""
    return f"{generator_of(settings).name} at {urlsplit(settings.answer.base_url).hostname}; not asked"


def _disk(library: Path) -> Check:
    near = next(folder for folder in (library.resolve(), *library.resolve().parents) if folder.exists())
    free = shutil.disk_usage(near).free
    remedy = "make room before ingesting more" if free < MIN_FREE_BYTES else ""
    return Check("disk", f"{free / 1e9:.1f} GB free", remedy)


def _lock_detail(folder: LibraryFolder) -> str:
    try:
        with folder.writing():
            return "free"
    except Locked as error:
        return str(error)


def _catalog_detail(folder: LibraryFolder) -> str:
    with _catalog(folder.current()) as catalog:
        catalog.check()
        if catalog.facts() is None:
            raise Misconfigured(emptied(folder.root))
        counts = [catalog.count(scope) for scope in catalog.scopes()]
        return (
            f"whole; {sum(each.documents for each in counts)} documents, {sum(each.chunks for each in counts)} chunks"
        )


def _fit_detail(settings: Settings) -> str:
    with opened_unchecked(settings) as library:
        problem = unfit(library)
        if problem:
            raise Misconfigured(problem)
        if library.lacks_words():
            return "fit the library; some texts have no vectors of their words yet: `citewise reindex` makes them"
        return "fit the library"


def _index_detail(settings: Settings, *, is_searched: bool) -> str:
    found = status(settings)
    behind = tuple(_problems(found.scopes))
    if behind and _lock_detail(LibraryFolder(settings.library)) != "free":
        return "behind the catalog; the process that is writing brings it up to date"
    if behind:
        raise Misconfigured("; ".join(behind))
    if is_searched:
        _search_index(settings)
    return f"whole; {found.index_bytes / 1e6:.1f} MB, up to date with the catalog"


def _search_index(settings: Settings) -> None:
    """Search by meaning, by words and by code for a chunk of the largest scope, so that every kind of file is read."""
    with opened_unchecked(settings) as library:
        catalog, model = library.catalog, library.embedding.embedder.model
        where = Where(max(catalog.scopes(), key=lambda scope: catalog.count(scope).chunks, default=Scope()), None)
        documents = catalog.documents(where, limit=10)
        chunk = next((chunk for document in documents for chunk in catalog.chunks(where, document.id)), None)
        if chunk is None:
            return
        terms = analysis.terms(chunk.piece.text)
        direction = struct.pack(f"<{model.dimensions}f", 1.0, *[0.0] * (model.dimensions - 1))
        library.vectors.search(Vector(direction), where=where, limit=1)
        library.texts.search(terms.words, field=TermField.WORDS, where=where, limit=1)
        library.texts.search(terms.code, field=TermField.CODE, where=where, limit=1)
        catalog.passages([chunk.id], where=where)


def reindex(
    settings: Settings, *, on_progress: Callable[[int], None], embedding: Embedding | None = None
) -> Reembedded | int:
    """Rebuild the index by a replay; where the settings ask for other vectors or other chunks, re-embed."""
    with opened_unchecked(settings, embedding) as library:
        is_whole = unfit(library) is None and not library.lacks_words()
    if not is_whole:
        last = Reembedded()
        for step in reembed(settings, embedding):
            on_progress(1)
            last = step
        return last
    with opened_for_writing(settings, embedding) as library:
        applied = 0
        for scope in library.catalog.scopes():
            for changes in library.project.rebuild(scope):
                on_progress(changes)
                applied += changes
        return applied


def compact(
    settings: Settings, *, on_progress: Callable[[int], None], embedding: Embedding | None = None
) -> Compaction:
    """Give back the room of what was deleted or is no longer wanted: afterward no file of the library holds it."""
    LibraryFolder(settings.library).current()  # refuses a folder that is none: to write would make a library there
    with opened_for_writing(settings, embedding) as library:
        began_at = time.monotonic()  # nobody deletes anything from now on: what is deleted can no longer be shown
        before = _size(*library.folder.root.rglob("*"))
        for scope in library.catalog.scopes():
            for changes in library.project.rebuild(scope):
                on_progress(changes)
        is_catalog_done = library.catalog.compact(keep_word_vectors=library.embedding.words is not None)
        await_log(settings, since=began_at)
        are_pages_done = sweep_pages(settings)
        sweep_log(settings)
        return Compaction(before, _size(*library.folder.root.rglob("*")), is_catalog_done and are_pages_done)


@contextmanager
def _catalog(generation: Path) -> Iterator[Catalog]:
    catalog = SqliteCatalog(Connections(generation / "catalog.db"), model_name="")
    with closing(catalog):
        yield catalog


def _size(*files: Path) -> int:
    return sum(map(_bytes_of, files))


def _bytes_of(file: Path) -> int:
    """0 for a folder, and for what has gone: the files beside a database come and go while others use it."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
