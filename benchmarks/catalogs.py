"""Whole scopes of a catalog, read for measurements."""

from citewise.model.access import Scope
from citewise.model.chunk import Chunk
from citewise.model.document import Document
from citewise.model.filters import Where
from citewise.model.ids import document_id
from citewise.ports.catalog import CatalogReader


def all_documents(catalog: CatalogReader, scope: Scope) -> list[Document]:
    """Every document of a scope, with its text, by path."""
    where = Where(scope, None)
    summaries = catalog.documents(where, limit=1_000_000)
    return [document for summary in summaries if (document := catalog.document(where, summary.id))]


def chunks_at(catalog: CatalogReader, scope: Scope, path: str) -> tuple[Chunk, ...]:
    """The chunks of a document, in order."""
    return catalog.chunks(Where(scope, None), document_id(scope, path))


def all_chunks(catalog: CatalogReader, scope: Scope) -> list[Chunk]:
    """Every chunk of a scope, by path and position."""
    return [chunk for document in all_documents(catalog, scope) for chunk in chunks_at(catalog, scope, document.path)]
