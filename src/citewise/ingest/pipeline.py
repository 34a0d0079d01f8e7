"""Source -> library. Read this file to know what happens to a file that is ingested.

    walk -> read -> unchanged? -> prepare -> absorb (embed, store, project) -> remove what is gone

A document is stored whole in one transaction, together with its entry in the change log; only then is it announced.
The index follows the log, so stopping anywhere loses nothing, and the next run goes on from there.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from citewise.errors import BadData, BadRequest
from citewise.ingest.prepare import Origin, Prepare, Prepared
from citewise.ingest.write import Absorb, Group
from citewise.model.access import Access, Scope
from citewise.model.chunk import EmbeddingFailure
from citewise.model.document import Found, KnownDocument, Skipped, at_or_above
from citewise.model.ids import digest_bytes
from citewise.model.report import Embedded, Event, Failed, FileDone, IngestReport, Outcome, Walked
from citewise.ports.sources import Source
from citewise.text.encoding import NotText, decoded


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest into which scope."""

    scope: Scope
    mount: str
    access: Callable[[str], Access]  # by path, for documents whose frontmatter has no rule
    corpus_type: str | None = None
    is_whole: bool = True  # the source lists all its files, so that documents of others are removed
    gone: frozenset[str] = frozenset()  # paths to remove, where the source lists only some

    def origin(self, path: str) -> Origin:
        return Origin(self.scope, self.mount, self.mounted(path), self.access(path), self.corpus_type)

    def mounted(self, path: str) -> str:
        return f"{self.mount}/{path}" if self.mount else path


@dataclass(frozen=True, slots=True)
class Ingest:
    """Brings a library up to date with a source."""

    source: Source
    prepare: Prepare
    absorb: Absorb

    def __call__(
        self, request: IngestRequest, *, on_event: Callable[[Event], None] = lambda event: None
    ) -> IngestReport:
        """Ingest what is new, leave what is unchanged, remove what is gone; tell about each file."""
        started = time.perf_counter()
        entries = tuple(self.source.walk())
        files = [entry for entry in entries if isinstance(entry, Found)]
        on_event(Walked(len(entries), sum(entry.size for entry in files)))
        known = self.absorb.catalog.stamps(request.scope, [request.mounted(entry.path) for entry in files])
        run = _Run(self, request, known, on_event)
        for entry in entries:
            run.take(entry)
        run.finish()
        return replace(run.report(), seen=len(entries), seconds=time.perf_counter() - started)


class _Run:
    """One run of the flow and its tally: the only thing here that changes."""

    def __init__(
        self,
        flow: Ingest,
        request: IngestRequest,
        known: Mapping[str, KnownDocument],
        on_event: Callable[[Event], None],
    ) -> None:
        self._flow = flow
        self._request = request
        self._on_event = on_event
        self._known = {path: one for path, one in known.items() if one.mount == request.mount}
        self._taken = {path: one.mount for path, one in known.items() if one.mount != request.mount}
        self._found: dict[str, Found] = {}  # by document path: what stays in the library
        self._group = Group(
            flow.absorb,
            request.scope,
            on_settled=self._settled,
            on_embedded=lambda texts: on_event(Embedded(texts)),
        )
        self._outcomes: Counter[Outcome] = Counter()
        self._skipped: list[Skipped] = []
        self._failed: list[Failed] = []
        self._warnings: list[Failed] = []
        self._masked: Counter[str] = Counter()
        self._unchanged_chunks = 0
        self._removed = 0
        self._deleted = 0

    def take(self, entry: Found | Skipped) -> None:
        """Settle one file at once, or prepare it and let it wait for its group."""
        if isinstance(entry, Skipped):
            self._skip(entry, size=0)
            return
        origin = self._request.origin(entry.path)
        self._found[origin.path] = entry
        try:
            prepared = self._prepared(origin, entry)
        except NotText as error:
            self._skip(Skipped(entry.path, str(error), is_unseen=True), size=entry.size)
        except (BadData, BadRequest) as error:  # BadRequest: an access rule in the frontmatter that is none
            self._fail(entry, str(error))
        else:
            if prepared:
                self._group.add(prepared)
            else:
                self._unchanged_chunks += self._known[origin.path].chunks
                self._announce(entry, Outcome.UNCHANGED)

    def finish(self) -> None:
        """Store what waits, remove what is gone, and bring the index up to date."""
        self._group.flush()
        request, catalog = self._request, self._flow.absorb.catalog
        gone = {request.mounted(path) for path in request.gone}
        if request.is_whole:
            gone.update(catalog.paths(request.scope, mount=request.mount))
        unseen = {request.mounted(entry.path) for entry in self._skipped if entry.is_unseen}
        # What lies below a place that could not be looked at stays: missing permissions are no deletion.
        gone = {path for path in gone - self._found.keys() if unseen.isdisjoint(at_or_above(path))}
        if gone:
            self._removed = len(gone)
            self._deleted = catalog.remove(request.scope, sorted(gone))
        self._flow.absorb.project(request.scope)

    def report(self) -> IngestReport:
        chunks = self._group.chunks
        return IngestReport(
            ingested=self._outcomes[Outcome.INGESTED],
            unchanged=self._outcomes[Outcome.UNCHANGED],
            removed=self._removed,
            skipped=tuple(self._skipped),
            failed=tuple(self._failed),
            warnings=tuple(self._warnings),
            chunks=replace(
                chunks,
                deleted=chunks.deleted + self._deleted,
                unchanged=chunks.unchanged + self._unchanged_chunks,
            ),
            embedded=self._group.embedded,
            masked=dict(self._masked),
        )

    def _prepared(self, origin: Origin, entry: Found) -> Prepared | None:
        """The file as a document, or None where the library holds just that already."""
        if origin.path in self._taken:
            other = self._taken[origin.path] or "."
            raise BadData(f"its path {origin.path} belongs to source {other}: give this source a --name of its own")
        data = self._flow.source.read(entry)
        source = digest_bytes(data)
        known = self._known.get(origin.path)
        if known and known.stamp == self._flow.prepare.stamp(origin, source):
            return None
        return self._flow.prepare(origin, decoded(data), source)

    def _settled(self, prepared: Prepared, failure: EmbeddingFailure | None) -> None:
        entry = self._found[prepared.document.path]
        if failure:
            self._fail(entry, f"could not be embedded: {failure.reason}")
            return
        self._masked.update(prepared.masked)
        self._warnings.extend(Failed(entry.path, text) for text in prepared.warnings)
        self._announce(entry, Outcome.INGESTED, chunks=len(prepared.chunks))

    def _skip(self, entry: Skipped, *, size: int) -> None:
        self._skipped.append(entry)
        self._on_event(FileDone(entry.path, Outcome.SKIPPED, size))

    def _fail(self, entry: Found, reason: str) -> None:
        """The file stays listed as found, so what the library knew of it stays too."""
        self._failed.append(Failed(entry.path, reason))
        self._announce(entry, Outcome.FAILED)

    def _announce(self, entry: Found, outcome: Outcome, *, chunks: int = 0) -> None:
        self._outcomes[outcome] += 1
        self._on_event(FileDone(entry.path, outcome, entry.size, chunks))
