"""An old library -> a new one beside it, for another model or other chunk sizes. The old one serves meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from citewise.errors import Unavailable
from citewise.ingest.prepare import Prepare, Prepared
from citewise.ingest.write import DOCUMENTS_AT_ONCE, DocumentWriter, WriteBatch, Written
from citewise.model.access import Scope
from citewise.model.chunk import ChunkCounts
from citewise.model.document import Item
from citewise.model.filters import Where
from citewise.ports.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Reembedded:
    """What the new library has so far. `path`: the document that was stored last."""

    path: str = ""
    documents: int = 0
    chunks: ChunkCounts = field(default_factory=ChunkCounts)
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class Reembed:
    """Cuts and embeds every stored document again, without its file. Interrupted, it goes on from what it has."""

    old: Catalog
    prepare: Prepare
    writer: DocumentWriter

    def __call__(self) -> Iterator[Reembedded]:
        """A running total after each document."""
        done = Reembedded()
        new = self.writer.catalog
        for scope in self.old.scopes():
            for source in self.old.sources(scope):
                new.register(scope, source)
            before = done
            for done in self._scope(scope, before):
                yield done
            # Documents that an interrupted run had stored and the old library has lost since.
            new.remove(scope, sorted({*new.paths(scope)} - {*self.old.paths(scope)}))
            self.writer.project(scope)

    def _scope(self, scope: Scope, before: Reembedded) -> Iterator[Reembedded]:
        batch = WriteBatch(self.writer, scope)
        documents = before.documents
        for event in self._events(scope, batch):
            path = event.prepared.item.path
            if event.failure:  # half a library is none: stop, keep the old one, and go on from here next time
                raise Unavailable(
                    f"{path} could not be embedded: {event.failure.reason}; "
                    "the library is unchanged; run the command again to continue"
                )
            documents += 1
            yield Reembedded(path, documents, before.chunks + batch.chunks, before.embedded + batch.embedded)

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
