"""Catalogs for tests, and whole scopes of them."""

from pathlib import Path

from benchmarks.catalogs import all_chunks as all_chunks
from benchmarks.catalogs import all_documents as all_documents
from benchmarks.catalogs import chunks_at as chunks_at

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.ports.catalog import Catalog
from tests.fakes.memory_catalog import MemoryCatalog


def opened_catalog(engine: str, folder: Path) -> Catalog:
    """A new catalog of this engine, for the contract tests."""
    if engine == "memory":
        return MemoryCatalog()
    return SqliteCatalog(Connections(folder / "catalog.db", may_create=True), model_name="m")
