"""Source -> parsed -> chunks -> embedded -> stored -> projected. Read this file to know what happens to a file.

A document is stored whole in one transaction, together with its entry in the change log, and only then announced. The
indexes follow the log, so an interruption loses nothing, and the next run goes on from there.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from citewise.errors import BadData, BadRequest, Unavailable
from citewise.ingest.prepare import IngestRequest, Prepare, Prepared
from citewise.ingest.write import DOCUMENTS_AT_ONCE, DocumentWriter, WriteBatch, Written
from citewise.model.access import Scope
from citewise.model.document import FileProblem, Item
from citewise.model.filters import Where
from citewise.model.ids import digest
from citewise.model.report import (
    Embedded,
    FileDone,
    FileOutcome,
    IngestEvent,
    IngestReport,
    Reindexed,
    Walked,
)
from citewise.ports.catalog import Catalog
from citewise.ports.sources import Source
from citewise.text.encoding import NotText


@dataclass(frozen=True, slots=True)
class Ingest:
    """Brings a library up to date with a source."""

    prepare: Prepare
    writer: DocumentWriter

    def __call__(self, source: Source, request: IngestRequest) -> Iterator[IngestEvent]:
        """Ingest what is new, leave what is unchanged, remove what is gone. The last event is the report."""
        started = time.perf_counter()
        catalog = self.writer.catalog
        entries = tuple(source.items())
        items = [entry for entry in entries if isinstance(entry, Item)]
        yield Walked(len(entries), sum(item.size for item in items))
        known = _Known(catalog, request, items)
        batch = WriteBatch(self.writer, request.scope)
        tally = _Tally(batch)
        for entry in entries:
            if isinstance(entry, FileProblem):
                yield tally.skip(entry)
                continue
            try:
                prepared = self._prepared(source, request, entry, known)
            except NotText as error:
                yield tally.skip(FileProblem(entry.path, str(error), is_unseen=True), size=entry.size)
            except (BadData, BadRequest) as error:  # BadRequest: an access rule in a document that is none
                yield tally.fail(entry, str(error))
            else:
                if prepared is None:
                    yield tally.leave(entry, chunks=known.chunks_of(entry))
                else:
                    yield from tally.settle(batch.add(prepared))
        yield from tally.settle(batch.write())
        gone = known.gone(tally)
        deleted = catalog.remove(request.scope, gone) if gone else 0
        self.writer.project(request.scope)
        report = tally.report(removed=len(gone), deleted=deleted)
        yield replace(report, seen=len(entries), seconds=time.perf_counter() - started)

    def is_current(self, source: Source, request: IngestRequest) -> bool:
        """Whether the library has just the documents of a source, as they would be stored now."""
        items = [entry for entry in source.items() if isinstance(entry, Item)]
        known = _Known(self.writer.catalog, request, items)
        if set(known.paths) != {path for item in items for path in known.under(item)}:
            return False
        return all(known.is_current(self.prepare, item, source.read(item)) for item in items)

    def _prepared(self, source: Source, request: IngestRequest, item: Item, known: "_Known") -> Prepared | None:
        """The item's documents, or None where the library has just those already."""
        known.check_owner(request.mounted(item.path))
        data = source.read(item)
        if known.is_current(self.prepare, item, data):
            return None
        prepared = self.prepare(request, item, data, digest(data))
        if len(prepared.writes) > 1:
            known.add_stamps([write.document.path for write in prepared.writes])
        for write in prepared.writes:
            known.check_owner(write.document.path)
        return prepared


class _Known:
    """What the library has of the parts of a source that are ingested."""

    def __init__(self, catalog: Catalog, request: IngestRequest, items: Iterable[Item]) -> None:
        self._catalog = catalog
        self._request = request
        mount = request.mount
        parts = [""] if request.only is None else sorted(map(request.mounted, request.only))
        self.paths = sorted({path for part in parts for path in catalog.paths(request.scope, under=part, mount=mount)})
        self._stamps = dict(
            catalog.stamps(request.scope, {*self.paths, *(request.mounted(item.path) for item in items)})
        )

    def add_stamps(self, paths: list[str]) -> None:
        self._stamps |= self._catalog.stamps(self._request.scope, paths)

    def check_owner(self, path: str) -> None:
        """Raise BadData for a path that another source has."""
        stamp = self._stamps.get(path)
        if stamp is not None and stamp.mount != self._request.mount:
            other = stamp.mount or "."
            raise BadData(f"its path {path} belongs to source {other}: give this source a --name of its own")

    def under(self, item: Item) -> list[str]:
        """The documents of an item: at its path, or below it where it holds several."""
        path = self._request.mounted(item.path)
        own = [path] if path in self._stamps else []
        first = bisect_left(self.paths, f"{path}/")
        return own + self.paths[first : bisect_left(self.paths, f"{path}0", first)]  # "0" is the character after "/"

    def is_current(self, prepare: Prepare, item: Item, data: bytes) -> bool:
        documents = self.under(item)
        if not documents:
            return False
        source, whole = digest(data), self._request.mounted(item.path)
        names = (path.removeprefix(whole).removeprefix("/") for path in documents)
        return all(
            self._stamps[path].stamp == prepare.stamp(self._request, item, name, source)
            for path, name in zip(documents, names, strict=True)
        )

    def chunks_of(self, item: Item) -> int:
        return sum(self._stamps[path].chunks for path in self.under(item))

    def gone(self, tally: "_Tally") -> list[str]:
        """What the source does not have any more. What could not be read stays: missing permissions are no deletion."""
        stays = {path for item in tally.staying for path in self.under(item)} | tally.stored
        unseen = {PurePosixPath(self._request.mounted(entry.path)) for entry in tally.skipped if entry.is_unseen}
        missing = ((path, PurePosixPath(path)) for path in self.paths if path not in stays)
        return [path for path, place in missing if unseen.isdisjoint((place, *place.parents))]


class _Tally:
    """Counts what became of each item, and announces it."""

    def __init__(self, batch: WriteBatch) -> None:
        self._batch = batch
        self._outcomes: Counter[FileOutcome] = Counter()
        self._failed: list[FileProblem] = []
        self._warnings: list[FileProblem] = []
        self._masked: Counter[str] = Counter()
        self._unchanged_chunks = 0
        self.skipped: list[FileProblem] = []
        self.staying: list[Item] = []  # unchanged or failed: the library keeps what it had of them
        self.stored: set[str] = set()  # paths of documents

    def skip(self, entry: FileProblem, *, size: int = 0) -> FileDone:
        self.skipped.append(entry)
        return self._done(entry.path, "skipped", size)

    def fail(self, item: Item, reason: str) -> FileDone:
        self.staying.append(item)
        self._failed.append(FileProblem(item.path, reason))
        return self._done(item.path, "failed", item.size)

    def leave(self, item: Item, *, chunks: int) -> FileDone:
        self.staying.append(item)
        self._unchanged_chunks += chunks
        return self._done(item.path, "unchanged", item.size)

    def settle(self, events: Iterable[Embedded | Written]) -> Iterator[IngestEvent]:
        for event in events:
            if isinstance(event, Embedded):
                yield event
                continue
            prepared = event.prepared
            if event.failure:
                yield self.fail(prepared.item, f"could not be embedded: {event.failure}")
                continue
            self._masked.update(prepared.masked)
            self._warnings += [FileProblem(prepared.item.path, text) for text in prepared.warnings]
            self.stored |= {write.document.path for write in prepared.writes}
            chunks = sum(len(write.chunks) for write in prepared.writes)
            yield self._done(prepared.item.path, "ingested", prepared.item.size, chunks)

    def report(self, *, removed: int, deleted: int) -> IngestReport:
        chunks = self._batch.chunks
        return IngestReport(
            ingested=self._outcomes["ingested"],
            unchanged=self._outcomes["unchanged"],
            removed=removed,
            skipped=tuple(self.skipped),
            failed=tuple(self._failed),
            warnings=tuple(self._warnings),
            chunks=replace(
                chunks, deleted=chunks.deleted + deleted, unchanged=chunks.unchanged + self._unchanged_chunks
            ),
            embedded=self._batch.embedded,
            masked=self._masked,
        )

    def _done(self, path: str, outcome: FileOutcome, size: int, chunks: int = 0) -> FileDone:
        self._outcomes[outcome] += 1
        return FileDone(path, outcome, size, chunks)


# An old library -> a new one beside it, for another model or other chunk sizes. The old one serves meanwhile.


@dataclass(frozen=True, slots=True)
class Reembed:
    """Cuts and embeds every stored document again, without its file. Interrupted, it goes on from what it has."""

    old: Catalog
    prepare: Prepare
    writer: DocumentWriter

    def __call__(self) -> Iterator[Reindexed]:
        """A running total, at the start and after each document."""
        done = Reindexed(is_reembedded=True)
        yield done
        new = self.writer.catalog
        for scope in self.old.scopes():
            for source in self.old.sources(scope):
                new.register(scope, source)
            batch, before = WriteBatch(self.writer, scope), done
            for event in self._events(scope, batch):
                if event.failure:  # half a library is none: stop, keep the old one, and go on from here next time
                    raise Unavailable(
                        f"{event.prepared.item.path} could not be embedded: {event.failure}; "
                        "the library is unchanged; run the command again to continue"
                    )
                chunks, embedded = before.chunks + batch.chunks.total, before.embedded + batch.embedded
                done = Reindexed(chunks, embedded, is_reembedded=True)
                yield done
            # Documents that an interrupted run had stored and the old library has lost since.
            new.remove(scope, sorted({*new.paths(scope)} - {*self.old.paths(scope)}))
            self.writer.project(scope)

    def _events(self, scope: Scope, batch: WriteBatch) -> Iterator[Written]:
        after, where = "", Where(scope, None)
        while page := self.old.documents(where, after=after, limit=DOCUMENTS_AT_ONCE):
            after = page[-1].path
            for summary in page:
                document = self.old.document(where, summary.id)
                if document is not None:
                    item = Item(document.path, len(document.text), document.media_type)
                    prepared = Prepared(item, (self.prepare.cut(document),))
                    yield from (event for event in batch.add(prepared) if isinstance(event, Written))
        yield from (event for event in batch.write() if isinstance(event, Written))
