"""Catalogs and indexes for tests, real and in memory, and whole scopes of them."""

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.catalogs import all_chunks as all_chunks
from benchmarks.catalogs import all_documents as all_documents
from benchmarks.catalogs import chunks_at as chunks_at

from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.rows import seal_of
from citewise.adapters.sqlite.seals import seal
from citewise.model.access import Scope
from citewise.model.chunk import Hit, Point, TermField, Vector
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import Catalog
from citewise.ports.indexes import IndexBatch, TextIndex, VectorIndex
from tests.builders import DIMENSIONS, a_vector
from tests.fakes.memory_catalog import MemoryCatalog
from tests.fakes.plain_index import PlainTextIndex, PlainVectorIndex


def opened_catalog(engine: str, folder: Path) -> Catalog:
    """A new catalog of this engine, for the contract tests."""
    if engine == "memory":
        return MemoryCatalog()
    return SqliteCatalog(Connections(folder / "catalog.db", may_create=True), model_name="m")


def seal_again(file: Path) -> None:
    """Make whatever a test wrote into a catalog count as if it had been stored."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.row_factory = sqlite3.Row
        statement = "SELECT d.id, s.tenant, s.project FROM documents d JOIN scopes s ON s.id = d.scope"
        for id_, *scope in connection.execute(statement).fetchall():
            seal(connection, id_, Scope(*scope))
        for pair in connection.execute("SELECT name, value FROM facts").fetchall():
            connection.execute("UPDATE facts SET seal = ? WHERE name = ?", (seal_of(pair), pair["name"]))


@dataclass(frozen=True, slots=True)
class Indexes:
    vectors: VectorIndex
    texts: TextIndex

    @classmethod
    def local(cls, folder: Path, *, dimensions: int = DIMENSIONS) -> Self:
        vectors = LocalVectorIndex(folder / "vectors", dimensions=dimensions)
        return cls(vectors, LocalTextIndex(folder / "texts", vectors=vectors))

    @classmethod
    def plain(cls) -> Self:
        return cls(PlainVectorIndex(), PlainTextIndex())

    def write(
        self,
        scope: Scope,
        *,
        puts: Sequence[Point] = (),
        drops: Collection[ChunkId] = (),
        position: int = 1,
        generation: int = 1,
    ) -> None:
        """Write to both, and activate the generation."""
        for index in (self.vectors, self.texts):
            index.write(scope, generation, IndexBatch(puts, drops, position))
            index.activate(scope, generation)

    def found(self, word: str, where: Where, *, limit: int = 9) -> tuple[list[ChunkId], list[ChunkId]]:
        """The ids of both searches: nearest to a vector, and those that have the word."""
        by_meaning = self.nearest(a_vector(1), where=where, limit=limit)
        by_words = self.matching([word], where=where, limit=limit)
        return [hit.id for hit in by_meaning], [hit.id for hit in by_words]

    def nearest(self, vector: Vector, *, where: Where, limit: int) -> tuple[Hit, ...]:
        return self.vectors.search(vector, where=where, limit=limit)

    def matching(
        self, terms: Sequence[str], *, field: TermField = "words", where: Where, limit: int
    ) -> tuple[Hit, ...]:
        return self.texts.search(terms, field=field, where=where, limit=limit)
