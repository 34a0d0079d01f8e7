"""A catalog as one principal may see it, for whoever reads it without searching."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citewise.model.access import Principal, Reader, Scope
from citewise.model.chunk import Chunk, ChunkCounts
from citewise.model.document import Document, KnownDocument
from citewise.model.filters import Where
from citewise.ports.catalog import Catalog, DocumentWrite, ScopeCensus


def seen_by(principal: Principal, catalog: Catalog) -> Catalog:
    """What the principal may read of it; all of it for the library's owner."""
    readers = principal.readers
    return catalog if readers is None else _Seen(catalog, readers)


@dataclass(frozen=True, slots=True)
class _Seen(Catalog):
    """Documents that are not theirs do not exist. Reading is all that can be done in somebody's name."""

    whole: Catalog
    readers: frozenset[Reader]

    def known(self, scope: Scope) -> Mapping[str, KnownDocument]:
        visible = {document.path for document in self.documents(scope)}
        return {path: one for path, one in self.whole.known(scope).items() if path in visible}

    def documents(self, scope: Scope) -> Iterator[Document]:
        return (one for one in self.whole.documents(scope) if one.access.readers & self.readers)

    def chunks(self, scope: Scope, path: str) -> tuple[Chunk, ...]:
        where = Where(scope, self.readers)
        return tuple(one for one in self.whole.chunks(scope, path) if where.admits(one.labels, one.numbers))

    def store(self, writes: Sequence[DocumentWrite]) -> ChunkCounts:
        raise AssertionError("nothing is written in the name of a reader")

    def remove(self, scope: Scope, paths: Collection[str]) -> int:
        raise AssertionError("nothing is removed in the name of a reader")

    def census(self) -> tuple[ScopeCensus, ...]:
        raise AssertionError("only the owner counts what there is")
