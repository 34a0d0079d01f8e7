"""Haystack: the in-memory store, its BM25 and embedding retrievers in one pipeline, joined by reciprocal ranks.

Both retrievers take the filter and apply it before they rank. Its documentation joins by concatenation or by
reciprocal rank fusion; the latter is the one its hybrid tutorials rank with.
"""

from pathlib import Path

from haystack import Document, Pipeline  # type: ignore[import-not-found]
from haystack.components.joiners import DocumentJoiner  # type: ignore[import-not-found]
from haystack.components.retrievers.in_memory import (  # type: ignore[import-not-found]
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.components.writers import DocumentWriter  # type: ignore[import-not-found]
from haystack.document_stores.in_memory import InMemoryDocumentStore  # type: ignore[import-not-found]
from haystack.document_stores.types import DuplicatePolicy  # type: ignore[import-not-found]

from benchmarks.peers.harness import Chunk, Corpus, Driver, Hit, ReadyVectors, run


class HaystackHybrid:
    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        self._vectors = vectors
        self._store = InMemoryDocumentStore(return_embedding=False)
        self._writer = DocumentWriter(self._store, policy=DuplicatePolicy.OVERWRITE)
        self._pipeline = Pipeline()
        self._pipeline.add_component("words", InMemoryBM25Retriever(self._store))
        self._pipeline.add_component("meaning", InMemoryEmbeddingRetriever(self._store))
        self._pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
        self._pipeline.connect("words", "joiner")
        self._pipeline.connect("meaning", "joiner")

    def ingest(self, corpus: Corpus) -> None:
        vectors = self._vectors.documents([chunk.text for chunk in corpus.chunks])
        documents = [
            self.document(chunk, vector.tolist()) for chunk, vector in zip(corpus.chunks, vectors, strict=True)
        ]
        self._writer.run(documents=documents)

    def document(self, chunk: Chunk, vector: list[float]) -> Document:
        """Its id is made of its content, as it is by default."""
        return Document(content=chunk.text, meta={"key": chunk.key, "tenant": chunk.tenant}, embedding=vector)

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        filters = None
        if tenants is not None:
            filters = {"field": "meta.tenant", "operator": "in", "value": sorted(tenants)}
        ranking = {"filters": filters, "top_k": top_k}
        found = self._pipeline.run(
            {
                "words": {"query": question, **ranking},
                "meaning": {"query_embedding": self._vectors.query(question).tolist(), **ranking},
                "joiner": {"top_k": top_k},
            }
        )
        return [Hit(document.meta["key"], document.content) for document in found["joiner"]["documents"]]


class NamedByPlace(HaystackHybrid):
    """Ids of our own, by the chunk's place: a rewritten chunk then overwrites the old one."""

    def document(self, chunk: Chunk, vector: list[float]) -> Document:
        made = super().document(chunk, vector)
        return Document(id=chunk.key, content=made.content, meta=made.meta, embedding=made.embedding)


if __name__ == "__main__":
    run(
        Driver(
            HaystackHybrid,
            updates={
                "DuplicatePolicy.OVERWRITE, ids by place": NamedByPlace,
                "DuplicatePolicy.OVERWRITE, default ids": HaystackHybrid,
            },
        )
    )
