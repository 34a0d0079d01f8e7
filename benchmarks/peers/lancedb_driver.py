"""LanceDB alone: one table, a full-text and a bitmap index, hybrid queries with its default reranker (RRF).

No vector index: its documentation advises one from about a hundred thousand rows on, and without one the answer is
exact. The filter is a prefilter, which is LanceDB's default. Only two columns are read back: vectors would cost more.
"""

from collections.abc import Sequence
from pathlib import Path

import lancedb  # type: ignore[import-not-found]
import pyarrow  # type: ignore[import-not-found]
from lancedb.index import FTS, Bitmap  # type: ignore[import-not-found]

from benchmarks.peers.harness import Chunk, Corpus, Driver, Hit, ReadyVectors, by_document, run

TEXTS = [(name, pyarrow.string()) for name in ("key", "document", "tenant", "text")]
SCHEMA = pyarrow.schema([*TEXTS, ("vector", pyarrow.list_(pyarrow.float32(), 384))])


class LanceHybrid:
    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        self._vectors = vectors
        self._table = lancedb.connect(str(folder)).create_table("chunks", schema=SCHEMA)

    def ingest(self, corpus: Corpus) -> None:
        if self._table.count_rows() == 0:
            self._table.add(self._rows(corpus.chunks))
            self._table.create_index("text", config=FTS())
            self._table.create_index("tenant", config=Bitmap())
        else:
            self.update(corpus)
            self._table.optimize()  # takes new rows into the indexes

    def update(self, corpus: Corpus) -> None:
        """Every document by itself, so that chunks it no longer has can go."""
        for document, chunks in by_document(corpus.chunks).items():
            name = document.replace("'", "''")
            merge = self._table.merge_insert("key").when_matched_update_all().when_not_matched_insert_all()
            merge.when_not_matched_by_source_delete(f"document = '{name}'").execute(self._rows(chunks))

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        query = self._table.search(query_type="hybrid").vector(self._vectors.query(question)).text(question)
        if tenants is not None:
            query = query.where(f"tenant IN ({', '.join(repr(tenant) for tenant in sorted(tenants))})", prefilter=True)
        found = query.select(["key", "text"]).limit(top_k).to_list()
        return [Hit(row["key"], row["text"]) for row in found]

    def _rows(self, chunks: Sequence[Chunk]) -> list[dict[str, object]]:
        vectors = self._vectors.documents([chunk.text for chunk in chunks])
        return [
            {"key": chunk.key, "document": chunk.document, "tenant": chunk.tenant, "text": chunk.text, "vector": vector}
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]


class Added(LanceHybrid):
    """Rows added again, as `add` does without a key."""

    def update(self, corpus: Corpus) -> None:
        self._table.add(self._rows(corpus.chunks))


if __name__ == "__main__":
    run(Driver(LanceHybrid, updates={"merge_insert, document by document": LanceHybrid, "add": Added}))
