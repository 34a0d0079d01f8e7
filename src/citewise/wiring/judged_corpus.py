"""A judged set's own corpus in a library: taken in once, found there the next time."""

import logging
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from citewise.adapters.sources.beir import BeirSource
from citewise.adapters.storage.folder import LibraryFolder
from citewise.flows.ingest import Ingest, IngestRequest
from citewise.model.ids import digest_bytes
from citewise.model.report import Event, IngestReport
from citewise.model.scope import Scope
from citewise.model.source import Found, SourceRef
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import OpenLibrary, opened_for_reading, opened_for_writing
from citewise.wiring.sources import access_by_path, remember_ingest

_log = logging.getLogger(__name__)


def corpus_mount(
    settings: Settings,
    corpus: Path,
    scope: Scope,
    *,
    embedding: Embedding,
    on_event: Callable[[Event], None] = lambda event: None,
) -> str:
    """What the paths of the corpus start with in the library, which holds all of it from now on.

    The library is opened for writing only if something is missing or has changed: one that may only be read can
    still be measured.
    """
    if LibraryFolder(settings.library).exists:
        with opened_for_reading(settings, embedding) as library:
            request = _request(library, corpus, scope)
            if _is_there(library, corpus, request):
                return request.mount
    with opened_for_writing(settings, embedding) as library:
        request = _request(library, corpus, scope)
        report = Ingest(BeirSource(corpus), library.prepare, library.absorb)(request, on_event=on_event)
        remember_ingest(library, report)
    _tell(corpus, report)
    return request.mount


def _request(library: OpenLibrary, corpus: Path, scope: Scope) -> IngestRequest:
    """The corpus is no registered source: no folder can lay claim to its documents, and nothing ever removes them."""
    mount = _mount(library, corpus, scope)
    return IngestRequest(
        scope, mount, access_by_path(library.settings.ingest, SourceRef(mount, str(corpus))), is_whole=False
    )


def _mount(library: OpenLibrary, corpus: Path, scope: Scope) -> str:
    """The set's name, unless a folder of the library's owner has taken it."""
    taken = {ref.mount for ref in library.catalog.sources(scope)}
    name = quote(corpus.resolve().parent.name, safe="") or "corpus"
    return next(mount for mount in (name, *(f"{name}-{at}" for at in range(2, len(taken) + 3))) if mount not in taken)


def _is_there(library: OpenLibrary, corpus: Path, request: IngestRequest) -> bool:
    """Whether the library holds every document of the corpus, made as it would be made now."""
    known = library.catalog.known(request.scope)
    source, prepare = BeirSource(corpus), library.prepare
    for found in source.walk():
        if isinstance(found, Found):
            origin = request.origin(found.path)
            held = known.get(origin.path)
            if held is None or held.stamp != prepare.stamp(origin, digest_bytes(source.read(found))):
                return False
    return True


def _tell(corpus: Path, report: IngestReport) -> None:
    for what, entries in (("left out", report.skipped), ("failed", report.failed)):
        if entries:
            first = entries[0]
            _log.warning("%s: %d rows %s, such as %s: %s", corpus, len(entries), what, first.path, first.reason)
