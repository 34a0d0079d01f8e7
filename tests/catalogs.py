"""Catalogs for tests, and whole scopes of them."""

from pathlib import Path

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.model.access import Scope
from citewise.model.chunk import Chunk
from citewise.model.document import Document
from citewise.model.filters import Where
from citewise.model.ids import document_id
from citewise.ports.catalog import Catalog, CatalogReader
from tests.fakes.memory_catalog import MemoryCatalog


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


def opened_catalog(engine: str, folder: Path) -> Catalog:
    """A new catalog of this engine, for the contract tests."""
    if engine == "memory":
        return MemoryCatalog()
    return SqliteCatalog(Connections(folder / "catalog.db", may_create=True), model_name="m")
