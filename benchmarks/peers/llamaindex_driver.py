"""LlamaIndex: a vector index and BM25Retriever, both with metadata filters, fused by QueryFusionRetriever.

Fused by reciprocal ranks, as its page on that fusion shows; one query, no language model. Metadata is kept out of the
embedded text, so that texts and vectors are those of all others. A BM25Retriever is made for one filter: each
principal's is made once and kept, before the clock runs.
"""

from pathlib import Path

from llama_index.core import VectorStoreIndex  # type: ignore[import-not-found]
from llama_index.core.base.embeddings.base import BaseEmbedding  # type: ignore[import-not-found]
from llama_index.core.bridge.pydantic import PrivateAttr  # type: ignore[import-not-found]
from llama_index.core.llms import MockLLM  # type: ignore[import-not-found]
from llama_index.core.retrievers import QueryFusionRetriever  # type: ignore[import-not-found]
from llama_index.core.schema import (  # type: ignore[import-not-found]
    BaseNode,
    Document,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.vector_stores import (  # type: ignore[import-not-found]
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.retrievers.bm25 import BM25Retriever  # type: ignore[import-not-found]

from benchmarks.peers.harness import Chunk, Corpus, Driver, Hit, ReadyVectors, by_document, run

HIDDEN = ["key", "tenant", "document"]  # metadata that is filtered by, not read
Narrowed = tuple[frozenset[str] | None, int]


class Ready(BaseEmbedding):  # type: ignore[misc]
    _vectors: ReadyVectors = PrivateAttr()

    def __init__(self, vectors: ReadyVectors) -> None:
        super().__init__(model_name="ready")
        self._vectors = vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return list(self._vectors.documents(texts).tolist())

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self._vectors.query(query).tolist())

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Cut(TransformComponent):  # type: ignore[misc]
    """Documents into the chunks that all others get."""

    _chunks: dict[str, list[Chunk]] = PrivateAttr()

    def __init__(self, chunks: dict[str, list[Chunk]]) -> None:
        super().__init__()
        self._chunks = chunks

    def __call__(self, nodes: list[BaseNode], **options: object) -> list[BaseNode]:
        made = []
        for document in nodes:
            for chunk in self._chunks[document.id_]:
                node = node_of(chunk)
                node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document.id_, hash=document.hash)
                made.append(node)
        return made


class LlamaHybrid:
    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        self._chunks: dict[str, list[Chunk]] = {}  # of each document, as it is now
        self._index = VectorStoreIndex(nodes=[], embed_model=Ready(vectors), transformations=[Cut(self._chunks)])
        self._fused: dict[Narrowed, QueryFusionRetriever] = {}

    def ingest(self, corpus: Corpus) -> None:
        self._fused.clear()
        self._index.insert_nodes([node_of(chunk) for chunk in corpus.chunks])

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        if (tenants, top_k) not in self._fused:
            self._fused[tenants, top_k] = self._fusion(tenants, top_k)
        found = self._fused[tenants, top_k].retrieve(question)
        return [Hit(scored.node.metadata["key"], scored.node.text) for scored in found]

    def _fusion(self, tenants: frozenset[str] | None, top_k: int) -> QueryFusionRetriever:
        filters = None
        if tenants is not None:
            wanted = MetadataFilter(key="tenant", operator=FilterOperator.IN, value=sorted(tenants))
            filters = MetadataFilters(filters=[wanted])
        nodes = list(self._index.docstore.docs.values())
        words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=top_k, filters=filters)
        meaning = self._index.as_retriever(similarity_top_k=top_k, filters=filters)
        return QueryFusionRetriever(
            [meaning, words],
            llm=MockLLM(),
            similarity_top_k=top_k,
            num_queries=1,
            mode="reciprocal_rerank",
            use_async=False,
        )


class Refreshed(LlamaHybrid):
    """Kept up to date by `refresh_ref_docs`: a document whose hash changed is deleted and inserted anew."""

    def ingest(self, corpus: Corpus) -> None:
        self._fused.clear()
        self._chunks.update(by_document(corpus.chunks))
        self.write(
            [Document(id_=path, text="\n".join(chunk.text for chunk in cut)) for path, cut in self._chunks.items()]
        )

    def write(self, documents: list[Document]) -> None:
        self._index.refresh_ref_docs(documents)


class Inserted(Refreshed):
    """Inserted again, document by document."""

    def write(self, documents: list[Document]) -> None:
        for document in documents:
            self._index.insert(document)


def node_of(chunk: Chunk) -> TextNode:
    return TextNode(
        text=chunk.text,
        metadata={"key": chunk.key, "tenant": chunk.tenant, "document": chunk.document},
        excluded_embed_metadata_keys=HIDDEN,
        excluded_llm_metadata_keys=HIDDEN,
    )


if __name__ == "__main__":
    run(Driver(LlamaHybrid, updates={"refresh_ref_docs": Refreshed, "insert": Inserted}))
