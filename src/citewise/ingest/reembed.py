"""An old library -> a new one beside it, for another model or another way of cutting. The old one serves meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from citewise.errors import Unavailable
from citewise.ingest.prepare import Origin, Prepare, Prepared
from citewise.ingest.write import DOCUMENTS_AT_ONCE, Absorb, Group
from citewise.model.access import Scope
from citewise.model.chunk import ChunkCounts, EmbeddingFailure
from citewise.model.document import Document
from citewise.model.filters import Where
from citewise.ports.catalog import Catalog


@dataclass(frozen=True, slots=True)
class ReembedReport:
    """What was made anew."""

    documents: int
    chunks: ChunkCounts
    embedded: int


@dataclass(frozen=True, slots=True)
class Reembed:
    """Cuts and embeds every stored text again. Stopped anywhere, it goes on from what it has."""

    old: Catalog
    prepare: Prepare
    absorb: Absorb

    def __call__(self, *, on_document: Callable[[str], None] = lambda path: None) -> ReembedReport:
        total = ReembedReport(0, ChunkCounts(), 0)
        new = self.absorb.catalog
        for scope in self.old.scopes():
            for source in self.old.sources(scope):
                new.register(scope, source)
            total = self._scope(scope, total, on_document)
            # Documents that an interrupted run had stored and the old library has lost since.
            new.remove(scope, sorted({*new.paths(scope)} - {*self.old.paths(scope)}))
            self.absorb.project(scope)
        return total

    def _scope(self, scope: Scope, total: ReembedReport, on_document: Callable[[str], None]) -> ReembedReport:
        def settled(prepared: Prepared, failure: EmbeddingFailure | None) -> None:
            if failure:  # half a library is none: stop, keep the old one, and go on from here next time
                raise Unavailable(
                    f"{prepared.document.path} could not be embedded: {failure.reason}; "
                    "the library is as it was; run the command again to go on"
                )
            on_document(prepared.document.path)

        group = Group(self.absorb, scope, on_settled=settled, on_embedded=lambda texts: None)
        documents, after, where = 0, "", Where(scope, None)
        while page := self.old.documents(where, after=after, limit=DOCUMENTS_AT_ONCE):
            after = page[-1].path
            for summary in page:
                document = self.old.document(where, summary.id)
                if document is not None:
                    documents += 1
                    group.add(self._again(document))
        group.flush()
        return ReembedReport(total.documents + documents, total.chunks + group.chunks, total.embedded + group.embedded)

    def _again(self, document: Document) -> Prepared:
        """The stored text prepared anew; its stamp says that it came from the same file, told the same things."""
        origin = Origin(document.scope, document.mount, document.path, document.access, document.corpus_type)
        prepared = self.prepare(origin, document.text, document.stamp.source)
        stamp = replace(prepared.document.stamp, origin=document.stamp.origin)
        again = replace(prepared.document, stamp=stamp, source_uri=document.source_uri, created_at=document.created_at)
        return replace(prepared, document=again)
