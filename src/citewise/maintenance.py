"""Looking after a library: access, status, doctor, reindex and compact."""

import importlib.metadata
import shutil
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from citewise.errors import CitewiseError, Locked, Misconfigured, PathNotFound
from citewise.ingest.policy import Rules
from citewise.library import OpenLibrary, StoredLibrary, emptied_message
from citewise.model.access import Scope
from citewise.model.chunk import Vector
from citewise.model.document import SourceRef
from citewise.model.filters import Where
from citewise.model.ids import document_id
from citewise.model.report import Check, Compaction, DocumentAccess, Reindexed, ScopeStatus, Status
from citewise.ports.catalog import Catalog
from citewise.ports.models import Generator, Reranker
from citewise.ports.storage import Generation, IndexFacts, IndexRole
from citewise.ports.stores import LogStore, RankingStore
from citewise.settings import Settings
from citewise.text import analysis

MIN_FREE_BYTES = 500_000_000  # under this an ingestion may not finish
# How long a row may wait in a process before it is written, and some more. Less: a row that is written just then comes
# behind the sweep of a compaction; more: every compaction of a small library takes that long.
LOG_SETTLE_SECONDS = 0.75
FOLLOW = "follow the message, then try again"
DROPPED_SECONDS = 7 * 86_400.0  # rows that were dropped earlier are no longer worth a warning


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What maintenance needs besides the library itself; `wiring` makes it."""

    log: LogStore
    pages: RankingStore
    reranker: Reranker | None
    generator: Generator
    now: Callable[[], float] = time.time


def access(library: StoredLibrary, scope: Scope, path: str) -> DocumentAccess:
    """Who may read the document at a path, and why. Raises PathNotFound."""

    def look(catalog: Catalog) -> DocumentAccess:
        document = catalog.document(Where(scope, None), document_id(scope, path))
        if document is None:
            raise PathNotFound(f"there is no document {path} in {scope}: name it as a search shows it")
        source = next((ref for ref in catalog.sources(scope) if ref.mount == document.mount), SourceRef("", ""))
        said = tuple(Rules(source).covering(source.inner(path)))
        return DocumentAccess(
            document=path,
            access=tuple(sorted(document.access.readers)),
            reason=document.access_reason,
            said=said,
            is_inherited=any(rule.origin == "inherited" for rule in said) or "before" in document.access_reason,
            own=document.own_access,
            aliases=tuple(map(source.mounted, document.aliases)),
            file=str(Path(source.place, source.inner(path))) if source.place else "",
            stale=document.stale,
        )

    return library.read(look)


def status(library: StoredLibrary) -> Status:
    """What the library says about itself. No model and no index is loaded, and nothing is healed."""

    def read(generation: Generation) -> Status:
        with library.storage.catalog(generation) as catalog:
            return _status(library, catalog, library.storage.indexes(generation))

    return library.latest(read)


def _status(library: StoredLibrary, catalog: Catalog, indexes: Mapping[IndexRole, IndexFacts]) -> Status:
    facts, folder = catalog.facts(), library.settings.library
    if facts is None:
        raise Misconfigured(emptied_message(folder))
    vectors, texts = indexes["vectors"], indexes["texts"]
    scopes = tuple(_scope_status(catalog, scope, (vectors.name, texts.name)) for scope in catalog.scopes())
    differences = facts.differences(library.facts)
    what = f"the library does not fit these settings: {'; '.join(differences)}. Rebuild it with `citewise reindex`"
    return Status(
        library=str(folder),
        embedding_model=facts.model,
        dimensions=facts.dimensions,
        chunker="; ".join(dict.fromkeys(facts.chunkers.values())),
        engines={"catalog": catalog.engine, "words": texts.engine, "vectors": vectors.engine},
        scopes=scopes,
        catalog_bytes=catalog.size_bytes(),
        index_bytes=vectors.size_bytes + texts.size_bytes,
        last_ingest=catalog.last_ingest(),
        problems=(*_behind(scopes), *((what,) if differences else ())),
    )


def _scope_status(catalog: Catalog, scope: Scope, indexes: Iterable[str]) -> ScopeStatus:
    states = [catalog.projection(name, scope) for name in indexes]
    reached = min(state.position if state else 0 for state in states)
    last = catalog.last_position(scope)
    return ScopeStatus(scope.tenant, scope.project, *catalog.count(scope), last, reached)


def _behind(scopes: tuple[ScopeStatus, ...]) -> Iterator[str]:
    for scope in scopes:
        if scope.index_position != scope.log_position:
            yield (
                f"the index of {scope.tenant}/{scope.project} is at position {scope.index_position} of "
                f"{scope.log_position}: the next ingest or `citewise reindex` brings it up to date"
            )


def doctor(library: StoredLibrary, upkeep: Upkeep) -> Iterator[Check]:
    """Check everything that a library needs, and say what to do about each problem."""
    settings, storage = library.settings, library.storage
    yield Check("python", sys.version.split()[0])
    yield Check("citewise", importlib.metadata.version("citewise"))
    embedding = _tried("embedding model", lambda: _embedding_detail(library), FOLLOW)
    yield embedding
    if (reranker := upkeep.reranker) is not None:
        remedy = "follow the message; until then, searches work without it"
        yield _tried("reranker", lambda: _reranker_detail(reranker), remedy)
    if settings.answer.generator != "extractive":
        yield _tried("generator", lambda: _generator_detail(settings, upkeep), "set what is missing, then try again")
    yield _disk(settings.library)
    try:
        storage.current()
    except PathNotFound:
        yield Check("library", f"none at {settings.library}", "make one with `citewise ingest PATH`")
        return
    except CitewiseError as error:
        yield Check("library", str(error), FOLLOW)
        return
    yield _tried("write lock", lambda: _lock_detail(library), "check who may write to the library's folder")
    catalog = _tried("catalog", lambda: _catalog_detail(library), FOLLOW)
    yield catalog
    if not catalog.is_ok:
        return  # everything else would fail for the same reason
    fit = _tried("settings", lambda: _settings_detail(library), "use other settings, or run `citewise reindex`")
    if fit.detail != embedding.detail:  # else the settings name no model to open the index with
        yield fit
        yield _tried("index", lambda: _index_detail(library, is_searched=fit.is_ok), "run `citewise reindex`")
    yield log_check(library, upkeep)
    read_only = "the library's folder cannot be written to: cursors end with the process that gave them"
    yield Check("pages", "cursors work in every process" if upkeep.pages.is_shared else read_only)


def _tried(name: str, look: Callable[[], str], remedy: str) -> Check:
    try:
        return Check(name, look())
    except CitewiseError as error:
        return Check(name, str(error), remedy)


def _embedding_detail(library: StoredLibrary) -> str:
    embedder = library.embedding.embedder
    embedder.query("Is anybody there?")
    return f"{embedder.model.name}, {embedder.model.dimensions} dimensions, window {embedder.model.window_tokens}"


def _reranker_detail(reranker: Reranker) -> str:
    reranker.scores("Is anybody there?", ["Yes."])
    return reranker.name


def _generator_detail(settings: Settings, upkeep: Upkeep) -> str:
    """Its settings alone: a question would cost money."""
    return f"{upkeep.generator.name} at {urlsplit(settings.answer.base_url).hostname}; not asked"


def _disk(root: Path) -> Check:
    near = next(folder for folder in (root.resolve(), *root.resolve().parents) if folder.exists())
    free = shutil.disk_usage(near).free
    return Check("disk", f"{free / 1e9:.1f} GB free", "free some space before ingesting" * (free < MIN_FREE_BYTES))


def _lock_detail(library: StoredLibrary) -> str:
    try:
        with library.storage.writing():
            return "free"
    except Locked as error:
        return str(error)


def _catalog_detail(library: StoredLibrary) -> str:
    def read(catalog: Catalog) -> str:
        catalog.check()
        if catalog.facts() is None:
            raise Misconfigured(emptied_message(library.settings.library))
        counts = [catalog.count(scope) for scope in catalog.scopes()]
        documents, chunks = sum(count for count, _ in counts), sum(count for _, count in counts)
        return f"intact; {documents} documents, {chunks} chunks"

    return library.read(read)


def _settings_detail(library: StoredLibrary) -> str:
    with library.inspecting() as opened:
        opened.refuse_mismatch()
        if opened.lacks_words():
            return "fit the library; some chunks have no word vectors yet: `citewise reindex` makes them"
        return "fit the library"


def _index_detail(library: StoredLibrary, *, is_searched: bool) -> str:
    with library.inspecting() as opened:
        behind = [str(scope) for scope in opened.catalog.scopes() if opened.project.is_behind(scope)]
        if behind and _lock_detail(library) != "free":
            return "behind the catalog; the process that is writing brings it up to date"
        if behind:
            raise Misconfigured(f"the index of {', '.join(behind)} is missing, damaged or behind the catalog")
        if is_searched:
            _search_index(opened)
        return f"intact; {_index_bytes(opened) / 1e6:.1f} MB, up to date with the catalog"


def _index_bytes(library: OpenLibrary) -> int:
    return library.vectors.size_bytes() + library.texts.size_bytes()


def _search_index(library: OpenLibrary) -> None:
    """Search by meaning, by words and by code for a chunk of the largest scope, so that every kind of file is read."""
    catalog = library.catalog
    where = Where(max(catalog.scopes(), key=lambda scope: catalog.count(scope)[1], default=Scope()), None)
    documents = catalog.documents(where, limit=10)
    chunk = next((chunk for document in documents for chunk in catalog.chunks(where, document.id)), None)
    if chunk is None:
        return
    terms, dimensions = analysis.terms(chunk.piece.text), library.stored.embedding.embedder.model.dimensions
    vector = Vector(struct.pack(f"<{dimensions}f", 1.0, *[0.0] * (dimensions - 1)))
    library.vectors.search(vector, where=where, limit=1)
    library.texts.search(terms.words, field="words", where=where, limit=1)
    library.texts.search(terms.code, field="code", where=where, limit=1)
    catalog.passages([chunk.id], where=where)


def log_check(library: StoredLibrary, upkeep: Upkeep) -> Check:
    """What the doctor says about the query log."""
    name, chosen = "query log", library.settings.query_log
    file = getattr(upkeep.log, "file", None)
    if not chosen.retention_days:
        return Check(name, "off: query_log.retention_days is 0")
    if file and not file.can_write():
        return Check(name, f"{file.path} cannot be written to: questions are not logged", "change its permissions")
    try:
        since = upkeep.now() - DROPPED_SECONDS
        dropped = sum(upkeep.log.lost(scope, since=since) for scope in library.read(lambda catalog: catalog.scopes()))
    except CitewiseError as error:
        return Check(name, str(error), "move the file away; the next question starts a new log")
    size = file.path.stat().st_size / 1e6 if file and file.path.is_file() else 0.0
    detail = f"{size:.1f} MB, {chosen.retention_days:g} days, text {chosen.text}; {dropped:,} dropped in a week"
    remedy = "raise query_log.queue, or check the disk: questions came faster than they could be written"
    return Check(name, detail, remedy if dropped else "")


def reindex(library: StoredLibrary) -> Iterator[Reindexed]:
    """Rebuild the indexes from the catalog; re-embed where the settings name another model or other chunk sizes.

    Yields a running total.
    """
    with library.inspecting() as opened:
        is_current = opened.mismatch() is None and not opened.lacks_words()
    if not is_current:
        yield from library.reembed()
        return
    with library.writing() as opened:
        done = Reindexed()
        yield done
        for scope in opened.catalog.scopes():
            for changes in opened.project.rebuild(scope):
                done = Reindexed(done.chunks + changes)
                yield done


def compact(library: StoredLibrary, upkeep: Upkeep) -> Compaction:
    """Reclaim space and erase deleted content from every file of the library."""
    library.storage.current()  # refuses a folder without a library: writing would create one there
    with library.writing() as opened:
        began_at = time.monotonic()  # nothing is deleted from now on, so nothing deleted can be shown any more
        before = opened.catalog.size_bytes() + _index_bytes(opened)
        for scope in opened.catalog.scopes():
            deque(opened.project.rebuild(scope), maxlen=0)
        is_catalog_done = opened.catalog.compact(keep_word_vectors=library.embedding.words is not None)
        if library.settings.query_log.retention_days:  # wait until every process has written its rows
            time.sleep(max(0.0, began_at + LOG_SETTLE_SECONDS - time.monotonic()))
        are_pages_done = upkeep.pages.clear()
        sweep_log(opened.catalog, upkeep.log)
        after = opened.catalog.size_bytes() + _index_bytes(opened)
        return Compaction(before, after, is_catalog_done and are_pages_done)


def sweep_log(catalog: Catalog, log: LogStore) -> None:
    """Erase rows that are too old, and the names of documents that are gone."""
    present = {document_id(scope, path) for scope in catalog.scopes() for path in catalog.paths(scope)}
    log.forget(log.shown() - present)
    log.sweep()
