"""Source -> parsed -> chunks -> embedded -> stored -> projected. Read this file to know what happens to a file.

A document is stored whole in one transaction, together with its entry in the change log, and only then announced. The
indexes follow the log, so an interruption loses nothing, and the next run goes on from there.
"""

import logging
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePosixPath

from citewise.errors import BadData, BadRequest, Unavailable
from citewise.ingest.files import Files
from citewise.ingest.policy import Ruling
from citewise.ingest.prepare import Prepare, Prepared
from citewise.ingest.project import Project
from citewise.ingest.rulings import Rulings
from citewise.ingest.targets import Target
from citewise.model.access import Scope
from citewise.model.chunk import ChunkCounts, Piece, Vector, WordVectors, content_hash
from citewise.model.document import FileProblem, Item, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import Digest, digest
from citewise.model.report import Embedded, FileDone, FileOutcome, IngestEvent, IngestReport, Reindexed, Walked
from citewise.ports.catalog import Catalog
from citewise.ports.models import Embedding
from citewise.ports.sources import Source
from citewise.text.encoding import NotText

_log = logging.getLogger(__name__)

# What is embedded and stored together: enough texts to sort by length, few enough that a document is safe on
# disk seconds after it was read.
TEXTS_AT_ONCE = 128
DOCUMENTS_AT_ONCE = 64
CHUNKS_BEFORE_PROJECTING = 512  # a projection has a price of its own (a commit), so not after every batch

_Outcome = tuple[Vector, WordVectors] | Unavailable  # of a text and of its words
_Written = tuple[Prepared, Unavailable | None]  # an item is stored, or not: one of its texts could not be embedded
_NO_WORDS = WordVectors(b"")  # of a text whose word vectors are not wanted


@dataclass(frozen=True, slots=True)
class Ingest:
    """Brings a library up to date with a source, or with an older library."""

    prepare: Prepare
    embedding: Embedding
    catalog: Catalog
    project: Project

    def __call__(self, source: Source, target: Target) -> Iterator[IngestEvent]:
        """Ingest what is new, leave what is unchanged, remove what is gone. The last event is the report.

        New rules come first, for all that is stored: nothing has to be readable for that, and a run that ends too soon
        leaves documents with fewer readers, not with more.
        """
        started = time.perf_counter()
        rulings = Rulings(self.catalog, target, Files(self.catalog, target, self.prepare, source))
        rulings.tighten()
        if rulings.tightened:
            self.project(target.scope)
        self._register(target.scope, target.source)
        entries = tuple(source.items())
        items = [entry for entry in entries if isinstance(entry, Item)]
        yield Walked(len(entries), sum(item.size for item in items))
        self._register(target.scope, rulings.carry(items))
        tally = _Tally(_Known(self.catalog, target, items, rulings))
        batch = _Batch(self, target.scope, rulings=rulings)
        for entry in entries:
            if isinstance(entry, FileProblem):
                yield tally.skip(entry)
                continue
            try:
                prepared = self._prepared(source, target, entry, tally.known)
            except NotText as error:
                yield tally.skip(FileProblem(entry.path, str(error), is_unseen=True), size=entry.size)
            except (BadData, BadRequest) as error:  # BadRequest: an invalid access rule
                yield tally.fail(entry, str(error))
            else:
                if prepared is None:
                    yield tally.leave(entry)
                else:
                    yield from tally.settle(batch.add(prepared))
        yield from tally.settle(batch.write())
        gone = tally.gone(target)
        lost = frozenset() if target.prune else tally.lost(gone, entries)
        gone = [path for path in gone if path not in lost]
        rulings.close_copies(gone)
        self._register(target.scope, rulings.remembered(gone))
        deleted = self.catalog.remove(target.scope, gone) if gone else 0
        if stale := tally.stale(target):
            self.catalog.mark_stale(target.scope, stale)
        self.project(target.scope)
        tightened = sum(rulings.tightened.values())
        report = tally.report(batch, removed=len(gone), deleted=deleted, tightened=tightened)
        yield replace(report, kept=len(lost), access=rulings.notes(gone), seconds=time.perf_counter() - started)

    def _register(self, scope: Scope, source: SourceRef) -> None:
        if source not in self.catalog.sources(scope):
            self.catalog.register(scope, source)

    def unchanged(self, source: Source, target: Target) -> IngestReport | None:
        """The report on a source if the library has just its documents, as they would be stored now."""
        entries = tuple(source.items())
        items = [entry for entry in entries if isinstance(entry, Item)]
        rulings = Rulings(self.catalog, target, Files(self.catalog, target, self.prepare, source))
        known = _Known(self.catalog, target, items, rulings)
        is_same = set(known.paths) == {path for item in items for path in known.under(item)}
        if not is_same or target.source not in self.catalog.sources(target.scope):
            return None
        try:
            if not all(known.is_current(self.prepare, item, source.read(item)) for item in items):
                return None
        except (BadData, BadRequest):  # an ingestion reports it
            return None
        chunks = ChunkCounts(unchanged=sum(map(known.chunks_of, items)))
        skipped = tuple(entry for entry in entries if isinstance(entry, FileProblem))
        return IngestReport(unchanged=len(items), skipped=skipped, access=rulings.notes(()), chunks=chunks)

    def reembed(self, old: Catalog) -> Iterator[Reindexed]:
        """Cut and embed every document of an older library again, without its file: a running total.

        Interrupted, it goes on from what it has.
        """
        done = Reindexed(is_reembedded=True)
        yield done
        for scope in old.scopes():
            for source in old.sources(scope):
                self.catalog.register(scope, source)
            self.catalog.record_removed(scope, old.removed_texts(scope))
            before, batch = done, _Batch(self, scope, old)
            for event in chain(chain.from_iterable(map(batch.add, self._cut_again(scope, old))), batch.write()):
                if isinstance(event, Embedded):
                    continue
                prepared, failure = event
                if failure:  # an incomplete library never replaces the old one; the next run continues
                    raise Unavailable(
                        f"{prepared.item.path} could not be embedded: {failure}; "
                        "the library is unchanged; run the command again to continue"
                    )
                done = Reindexed(before.chunks + batch.chunks.total, before.embedded + batch.embedded, True)
                yield done
            # Documents that an interrupted run had stored and the old library has lost since.
            self.catalog.remove(scope, sorted({*self.catalog.paths(scope)} - {*old.paths(scope)}))
            self.project(scope)

    def _prepared(self, source: Source, target: Target, item: Item, known: "_Known") -> Prepared | None:
        """The item's documents, or None where the library has just those already."""
        known.check_owner([target.source.mounted(item.path)])
        data = source.read(item)
        if known.is_current(self.prepare, item, data):
            return None
        prepared = self.prepare(target, item, data, lambda *of_document: known.ruling(item, *of_document))
        known.check_owner([write.document.path for write in prepared.writes])
        return prepared

    def _cut_again(self, scope: Scope, old: Catalog) -> Iterator[Prepared]:
        after, where = "", Where(scope, None)
        while page := old.documents(where, after=after, limit=DOCUMENTS_AT_ONCE):
            after = page[-1].path
            for summary in page:
                document = old.document(where, summary.id)
                if document is not None:
                    item = Item(document.path, len(document.text), document.media_type)
                    yield Prepared(item, (self.prepare.cut(document),))


class _Known:
    """What the library has of the parts of a source that are ingested."""

    def __init__(self, catalog: Catalog, target: Target, items: Iterable[Item], rulings: Rulings) -> None:
        self._catalog = catalog
        self.target = target
        self._rulings = rulings
        scope, mount = target.scope, target.source.mount
        parts = [""] if target.only is None else sorted(map(target.source.mounted, target.only))
        self.paths = sorted({path for part in parts for path in catalog.paths(scope, under=part, mount=mount)})
        self.total = len(
            self.paths if target.only is None else catalog.paths(scope, mount=mount)
        )  # of the whole source
        self._stamps = dict(catalog.stamps(scope, {*self.paths, *(target.source.mounted(item.path) for item in items)}))

    def check_owner(self, paths: Sequence[str]) -> None:
        """Raise BadData if another source has one of an item's paths."""
        if len(paths) > 1:  # a single one is the item's own, whose stamp is here
            self._stamps |= self._catalog.stamps(self.target.scope, paths)
        for path in paths:
            stamp = self._stamps.get(path)
            if stamp is not None and stamp.mount != self.target.source.mount:
                other = stamp.mount or "."
                raise BadData(f"its path {path} belongs to source {other}: give this source a --name of its own")

    def under(self, item: Item) -> list[str]:
        """The documents of an item: at its path, or below it where it holds several."""
        path = self.target.source.mounted(item.path)
        own = [path] if path in self._stamps else []
        first = bisect_left(self.paths, f"{path}/")
        return own + self.paths[first : bisect_left(self.paths, f"{path}0", first)]  # "0" is the character after "/"

    def is_current(self, prepare: Prepare, item: Item, data: bytes) -> bool:
        documents = self.under(item)
        if not documents:
            return False
        stamp = prepare.stamp(self.target, item, digest(data))
        return all(self._stamps[path].stamp == stamp and self._has_same_rule(path, item) for path in documents)

    def _has_same_rule(self, path: str, item: Item) -> bool:
        known, inner = self._stamps[path], self.target.source.inner(path)
        ruling = self._rulings.of(inner, own=known.own_access, known=known, item=item)
        known_as = (known.access, known.aliases, known.copied_from)
        return (ruling.access, item.aliases, ruling.copied_from) == known_as

    def ruling(self, item: Item, path: str, own: tuple[str, ...], pieces: Sequence[Piece]) -> Ruling:
        """Who may read a document of an item that is new or has changed."""
        known = self._stamps.get(self.target.source.mounted(path))
        texts = frozenset(content_hash(piece.text) for piece in pieces)
        return self._rulings.of(path, own=own, known=known, item=item, texts=texts)

    def tightened_chunks(self, item: Item) -> int:
        """How many chunks of an item have got a narrower rule in this run."""
        return sum(self._rulings.tightened.get(path, 0) for path in self.under(item))

    def lost(self, paths: Sequence[str], stored: Collection[str]) -> frozenset[str]:
        """These documents, if they are more than half of the source; those whose text is in a new one were moved."""
        if 2 * len(paths) <= self.total:
            return frozenset()
        scope, source = self.target.scope, self.target.source
        new = {*self._catalog.texts(scope, {*stored} - {*self.paths}).values()}
        lost = {*paths} - {path for path, texts in self._catalog.texts(scope, paths).items() if texts in new}
        if 2 * len(lost) <= self.total:
            return frozenset()
        place = self.target.root if source.kind == "folder" else source.mount
        advice = "%d of %d documents of %s are gone from disk and kept; remove them with --prune"
        _log.warning(advice, len(lost), self.total, place)
        return frozenset(lost)

    def chunks_of(self, item: Item) -> int:
        return sum(self._stamps[path].chunks for path in self.under(item))


class _Tally:
    """Counts what became of each item, and announces it."""

    def __init__(self, known: _Known) -> None:
        self.known = known
        self._outcomes: Counter[FileOutcome] = Counter()
        self._skipped: list[FileProblem] = []
        self._failed: list[FileProblem] = []
        self._warnings: list[FileProblem] = []
        self._masked: Counter[str] = Counter()
        self._unchanged_chunks = 0
        self._kept: set[str] = set()  # paths of documents that were stored, or stay as they are

    def skip(self, entry: FileProblem, *, size: int = 0) -> FileDone:
        self._skipped.append(entry)
        return self._done(entry.path, "skipped", size)

    def fail(self, item: Item, reason: str) -> FileDone:
        self._kept.update(self.known.under(item))
        self._failed.append(FileProblem(item.path, reason))
        return self._done(item.path, "failed", item.size)

    def leave(self, item: Item) -> FileDone:
        self._kept.update(self.known.under(item))
        if tightened := self.known.tightened_chunks(item):
            return self._done(item.path, "ingested", item.size, tightened)
        self._unchanged_chunks += self.known.chunks_of(item)
        return self._done(item.path, "unchanged", item.size)

    def settle(self, events: Iterable[Embedded | _Written]) -> Iterator[IngestEvent]:
        for event in events:
            if isinstance(event, Embedded):
                yield event
                continue
            prepared, failure = event
            if failure:
                yield self.fail(prepared.item, f"could not be embedded: {failure}")
                continue
            self._masked.update(prepared.masked)
            self._warnings += [FileProblem(prepared.item.path, text) for text in prepared.warnings]
            self._kept.update(write.document.path for write in prepared.writes)
            chunks = sum(len(write.chunks) for write in prepared.writes)
            yield self._done(prepared.item.path, "ingested", prepared.item.size, chunks)

    def gone(self, target: Target) -> list[str]:
        """What the source does not have any more. What could not be read stays: missing permissions are no deletion."""
        unseen = {PurePosixPath(target.source.mounted(entry.path)) for entry in self._skipped if entry.is_unseen}
        missing = ((path, PurePosixPath(path)) for path in self.known.paths if path not in self._kept)
        return [path for path, place in missing if unseen.isdisjoint((place, *place.parents))]

    def stale(self, target: Target) -> dict[str, str]:
        """The documents that stay although their files could not be read, and why, in as few words as readers need."""
        problems = (*(entry for entry in self._skipped if entry.is_unseen), *self._failed)
        reasons = {PurePosixPath(target.source.mounted(each.path)): each.reason for each in problems}
        if not reasons:
            return {}
        stale = {}
        for path in self.known.paths:
            place = PurePosixPath(path)
            if reason := next((reasons[at] for at in (place, *place.parents) if at in reasons), ""):
                stale[path] = re.split("[:;] ", reason)[0]
        return stale

    def lost(self, gone: Sequence[str], entries: Iterable[Item | FileProblem]) -> frozenset[str]:
        """Of what is gone, what the source does not mention at all, if that is too much to be removed unasked."""
        mounted = self.known.target.source.mounted
        seen = {PurePosixPath(mounted(entry.path)) for entry in entries}
        places = ((path, PurePosixPath(path)) for path in gone)
        return self.known.lost([path for path, place in places if seen.isdisjoint((place, *place.parents))], self._kept)

    def report(self, batch: "_Batch", *, removed: int, deleted: int, tightened: int) -> IngestReport:
        return IngestReport(
            ingested=self._outcomes["ingested"],
            unchanged=self._outcomes["unchanged"],
            removed=removed,
            skipped=tuple(entry for entry in self._skipped if not entry.is_warning),
            failed=tuple(self._failed),
            warnings=(*(entry for entry in self._skipped if entry.is_warning), *self._warnings),
            chunks=batch.chunks + ChunkCounts(0, tightened, deleted, self._unchanged_chunks),
            embedded=batch.embedded,
            masked=self._masked,
        )

    def _done(self, path: str, outcome: FileOutcome, size: int, chunks: int = 0) -> FileDone:
        self._outcomes[outcome] += 1
        return FileDone(path, outcome, size, chunks)


class _Batch:
    """Items that wait to be embedded and stored together, and the totals of what was stored so far."""

    def __init__(
        self,
        ingest: Ingest,
        scope: Scope,
        older: Catalog | None = None,
        *,
        rulings: Rulings | None = None,
    ) -> None:
        self._ingest = ingest
        self._rulings = rulings
        self._scope = scope
        self._older = older  # its vectors are taken before anything is embedded
        self._waiting: list[Prepared] = []
        self._unprojected = 0
        self.embedded = 0
        self.chunks = ChunkCounts()

    def add(self, prepared: Prepared) -> Iterator[Embedded | _Written]:
        """Take an item in; a full batch is written."""
        self._waiting.append(prepared)
        writes = [write for each in self._waiting for write in each.writes]
        if sum(len(write.chunks) for write in writes) >= TEXTS_AT_ONCE or len(writes) >= DOCUMENTS_AT_ONCE:
            yield from self.write()

    def write(self) -> Iterator[Embedded | _Written]:
        """Embed and store what waits. Every item is stored with all its documents, or not at all."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        outcomes: dict[Digest, _Outcome] = {}
        yield from self._embed(waiting, outcomes)
        written: list[_Written] = []
        for prepared in waiting:
            of_chunks = (outcomes.get(chunk.text_digest) for write in prepared.writes for chunk in write.chunks)
            written.append((prepared, next((each for each in of_chunks if isinstance(each, Unavailable)), None)))
        writes = [write for prepared, failure in written if not failure for write in prepared.writes]
        replaced = [write.replaced.path for write in writes if write.replaced is not None]
        if self._rulings is not None and replaced:
            self._rulings.close_copies(replaced)
        self.chunks += self._ingest.catalog.store(writes)
        yield from written
        self._unprojected += sum(len(write.chunks) for write in writes)
        if self._unprojected >= CHUNKS_BEFORE_PROJECTING:
            self._ingest.project(self._scope)
            self._unprojected = 0

    def _embed(self, waiting: Sequence[Prepared], outcomes: dict[Digest, _Outcome]) -> Iterator[Embedded]:
        """Fill in what the library does not have yet. Equal texts are embedded once, and vectors are kept at once:
        neither a refused neighbor nor an interruption makes anyone pay for them again."""
        chunks = [chunk for each in waiting for write in each.writes for chunk in write.chunks]
        texts = {chunk.text_digest: chunk.embedded_text for chunk in chunks}
        missing = texts.keys() - self._stored(self._ingest.catalog, texts.keys()).keys()
        if self._older is not None:
            outcomes |= self._stored(self._older, missing)
            self._keep(outcomes)
        new = [key for key in texts if key in missing and key not in outcomes]
        for start in range(0, len(new), TEXTS_AT_ONCE):
            keys = new[start : start + TEXTS_AT_ONCE]
            embedded = dict(zip(keys, self._vectors([texts[key] for key in keys]), strict=True))
            self.embedded += self._keep(embedded)
            outcomes |= embedded
            yield Embedded(len(keys))

    def _vectors(self, texts: Sequence[str]) -> Sequence[_Outcome]:
        embedding = self._ingest.embedding
        if embedding.words is not None:
            return embedding.words.embedded(texts)
        vectors = embedding.embedder.documents(texts)
        return [vector if isinstance(vector, Unavailable) else (vector, _NO_WORDS) for vector in vectors]

    def _stored(self, catalog: Catalog, digests: Collection[Digest]) -> dict[Digest, tuple[Vector, WordVectors]]:
        """What a library has. A text whose word vectors are wanted and missing counts as unknown."""
        vectors = catalog.vectors(digests)
        if self._ingest.embedding.words is None:
            return {key: (vector, _NO_WORDS) for key, vector in vectors.items()}
        words = catalog.word_vectors(digests)
        return {key: (vectors[key], words[key]) for key in vectors.keys() & words.keys()}

    def _keep(self, outcomes: Mapping[Digest, _Outcome]) -> int:
        """Store vectors in the library; returns how many there were."""
        embedded = {key: pair for key, pair in outcomes.items() if not isinstance(pair, Unavailable)}
        vectors = {key: vector for key, (vector, _) in embedded.items()}
        words = {key: words for key, (_, words) in embedded.items() if words is not _NO_WORDS}
        self._ingest.catalog.keep(vectors, words)
        return len(vectors)
