"""A judged set's own corpus in a library: taken in once, found there the next time, and nothing else in its place."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from citewise.adapters.folder.storage import LibraryFolder
from citewise.errors import BadData
from citewise.evaluation.beir import BeirSource
from citewise.evaluation.summary import counted
from citewise.ingest.pipeline import Ingest
from citewise.ingest.prepare import IngestRequest
from citewise.model.access import Scope
from citewise.model.document import Item, Skipped, SourceRef
from citewise.model.report import IngestDone, IngestEvent, IngestReport
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import OpenLibrary, opened_for_reading, opened_for_writing

_log = logging.getLogger(__name__)

CORPUS = "corpus"  # the kind of a source whose documents are lines of a file of a judged set


def corpus_mount(
    settings: Settings,
    corpus: Path,
    scope: Scope,
    *,
    embedding: Embedding,
    on_event: Callable[[IngestEvent], None] = lambda event: None,
) -> str:
    """What the paths of the corpus start with in the library, which holds just its rows there from now on.

    The library is opened for writing only if something is missing, has changed or is gone: one that may only be read
    can still be measured.
    """
    rows = _rows(corpus)
    if LibraryFolder(settings.library).exists:
        with opened_for_reading(settings, embedding) as library:
            for mount in _holding(library, corpus, scope):
                request = _request(library, corpus, scope, mount)
                if _is_there(library, rows, request):
                    return mount
    with opened_for_writing(settings, embedding) as library:
        mount = _mount(library, corpus, scope)
        library.catalog.register(scope, SourceRef(mount, _place(library, corpus), kind=CORPUS))
        request = _request(library, corpus, scope, mount)
        report = IngestReport()
        for event in Ingest(library.prepare, library.writer)(BeirSource(corpus), request):
            on_event(event)
            if isinstance(event, IngestDone):
                report = event.report
        library.catalog.record_ingest(report.summary(datetime.now(UTC).isoformat(timespec="seconds")))
    _tell(corpus, report)
    return mount


@dataclass(frozen=True, slots=True)
class _Rows:
    """A corpus that was walked, and what can be read of it."""

    source: BeirSource
    found: tuple[Item, ...]


def _rows(corpus: Path) -> _Rows:
    """BadData for a corpus of no document at all: searching nothing would measure nothing."""
    source = BeirSource(corpus)
    entries = tuple(source.items())
    found = tuple(one for one in entries if isinstance(one, Item))
    if not found:
        first = next((f" ({one.path}: {one.reason})" for one in entries if isinstance(one, Skipped)), "")
        raise BadData(
            f"{corpus} holds no document{first}: each line must be a JSON object with _id, title and text. "
            "Where judgments name documents of the library by their paths, take the file away"
        )
    return _Rows(source, found)


def _request(library: OpenLibrary, corpus: Path, scope: Scope, mount: str) -> IngestRequest:
    """The corpus is no registered source: no folder can lay claim to its documents, and no ingest removes them."""
    return IngestRequest(scope, library.policy(SourceRef(mount, str(corpus))))


def _holding(library: OpenLibrary, corpus: Path, scope: Scope) -> list[str]:
    """Where the corpus may be: its own place, else any that a set of its name has, since folders are copied around."""
    recorded = _recorded(library, scope)
    own = [mount for mount, place in recorded.items() if place == _place(library, corpus)]
    registered = {ref.mount for ref in library.catalog.sources(scope) if ref.kind != CORPUS}
    names = set(_names(corpus, len(recorded) + len(registered) + 1))
    held = [mount for mount in sorted(names) if library.catalog.paths(scope, mount=mount)]
    return [mount for mount in own or held if mount not in registered]


def _mount(library: OpenLibrary, corpus: Path, scope: Scope) -> str:
    """The set's name, unless a folder of the library's owner has taken it, or another set of that name."""
    recorded, place = _recorded(library, scope), _place(library, corpus)
    taken = {ref.mount for ref in library.catalog.sources(scope) if ref.kind != CORPUS}
    taken |= {path.split("/")[0] for path in library.catalog.paths(scope, mount="")}
    own = [mount for mount, known in recorded.items() if known == place and mount not in taken]
    taken |= {mount for mount, known in recorded.items() if known != place and _corpus_at(library, known).is_file()}
    return next(mount for mount in (*own, *_names(corpus, len(taken) + 1)) if mount not in taken)


def _names(corpus: Path, count: int) -> list[str]:
    name = quote(corpus.resolve().parent.name, safe="") or "corpus"
    return [name, *(f"{name}-{at}" for at in range(2, count + 1))]


def _recorded(library: OpenLibrary, scope: Scope) -> dict[str, str]:
    """By mount: which corpus the documents there are of."""
    return {ref.mount: ref.root for ref in library.catalog.sources(scope) if ref.kind == CORPUS}


def _place(library: OpenLibrary, corpus: Path) -> str:
    """Relative to the library, so that moving both together changes nothing; quoted, since names may be any bytes."""
    return quote(os.fsencode(os.path.relpath(corpus.resolve(), library.folder.root.resolve())))


def _corpus_at(library: OpenLibrary, place: str) -> Path:
    return library.folder.root.resolve() / os.fsdecode(unquote_to_bytes(place))


def _is_there(library: OpenLibrary, rows: _Rows, request: IngestRequest) -> bool:
    """Whether the library holds just the documents of the corpus, as they would be stored now."""
    return Ingest(library.prepare, library.writer).is_current(rows.source, request, rows.found)


def _tell(corpus: Path, report: IngestReport) -> None:
    for what, entries in (("left out", report.skipped), ("failed", report.failed)):
        if entries:
            first = entries[0]
            _log.warning(
                "%s: %s %s, such as %s: %s", corpus, counted(len(entries), "row"), what, first.path, first.reason
            )
