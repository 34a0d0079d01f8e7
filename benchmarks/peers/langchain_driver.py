"""LangChain: BM25Retriever and FAISS, fused by EnsembleRetriever, as its pages on hybrid search show.

BM25Retriever takes no filter, and FAISS filters what it has fetched. A careful user therefore fetches more than is
asked for and filters both lists before they are fused; the other setting, the pages' own numbers with a filter behind
the fusion, is measured beside it. BM25 gets lower-cased words: its default only splits at spaces.
"""

import re
from pathlib import Path

import faiss
from langchain_classic.indexes import SQLRecordManager, index  # type: ignore[import-not-found]
from langchain_classic.retrievers import EnsembleRetriever  # type: ignore[import-not-found]
from langchain_community.docstore.in_memory import InMemoryDocstore  # type: ignore[import-not-found]
from langchain_community.retrievers import BM25Retriever  # type: ignore[import-not-found]
from langchain_community.vectorstores import FAISS  # type: ignore[import-not-found]
from langchain_core.documents import Document  # type: ignore[import-not-found]
from langchain_core.embeddings import Embeddings  # type: ignore[import-not-found]
from langchain_core.runnables import Runnable, RunnableLambda  # type: ignore[import-not-found]

from benchmarks.peers.harness import Corpus, Driver, Hit, ReadyVectors, run

DIMENSIONS = 384
# Candidates of each list before the filter: 20 is FAISS's default, all of them the only guarantee. Where a principal
# sees a tenth, 100 and 200 left answers short in a first try and 300 none; most of the time goes into BM25 anyway.
FETCHED = 300


class Ready(Embeddings):  # type: ignore[misc]
    def __init__(self, vectors: ReadyVectors) -> None:
        self._vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return list(self._vectors.documents(texts).tolist())

    def embed_query(self, text: str) -> list[float]:
        return list(self._vectors.query(text).tolist())


class LangChainHybrid:
    _words: BM25Retriever  # made by ingesting, since it cannot be added to

    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        self._store = FAISS(Ready(vectors), faiss.IndexFlatL2(DIMENSIONS), InMemoryDocstore(), {})
        self._records = SQLRecordManager("chunks", db_url=f"sqlite:///{folder}/records.db")
        self._records.create_schema()

    def ingest(self, corpus: Corpus) -> None:
        self.write(
            [
                Document(chunk.text, metadata={"key": chunk.key, "tenant": chunk.tenant, "source": chunk.document})
                for chunk in corpus.chunks
            ]
        )
        held = [self._store.docstore.search(id_) for id_ in self._store.index_to_docstore_id.values()]
        self._words = BM25Retriever.from_documents(held, preprocess_func=words)

    def write(self, documents: list[Document]) -> None:
        self._store.add_documents(documents, ids=[document.metadata["key"] for document in documents])

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        ensemble = EnsembleRetriever(
            retrievers=[self.by_words(tenants, top_k), self.by_meaning(tenants, top_k)],
            weights=[0.5, 0.5],
            id_key="key",
        )
        found = [
            document
            for document in ensemble.invoke(question)
            if tenants is None or document.metadata["tenant"] in tenants
        ]
        return [Hit(document.metadata["key"], document.page_content) for document in found[:top_k]]

    def by_words(self, tenants: frozenset[str] | None, top_k: int) -> Runnable:
        if tenants is None:
            return self._words.model_copy(update={"k": top_k})
        kept = RunnableLambda(
            lambda found: [document for document in found if document.metadata["tenant"] in tenants][:top_k]
        )
        return self._words.model_copy(update={"k": FETCHED}) | kept

    def by_meaning(self, tenants: frozenset[str] | None, top_k: int) -> Runnable:
        if tenants is None:
            return self._store.as_retriever(search_kwargs={"k": top_k})
        narrowed = {"k": top_k, "fetch_k": FETCHED, "filter": {"tenant": {"$in": sorted(tenants)}}}
        return self._store.as_retriever(search_kwargs=narrowed)


class FilteredBehind(LangChainHybrid):
    """The pages' own numbers: BM25 knows no filter, FAISS fetches 20, what is foreign goes after the fusion."""

    def by_words(self, tenants: frozenset[str] | None, top_k: int) -> Runnable:
        return self._words.model_copy(update={"k": top_k})

    def by_meaning(self, tenants: frozenset[str] | None, top_k: int) -> Runnable:
        if tenants is None:
            return super().by_meaning(tenants, top_k)
        return self._store.as_retriever(search_kwargs={"k": top_k, "filter": {"tenant": {"$in": sorted(tenants)}}})


class ScopedFull(LangChainHybrid):
    """Kept up to date by the indexing API: hashes of what was written, old chunks of a source cleaned up at the end."""

    cleanup = "scoped_full"

    def write(self, documents: list[Document]) -> None:
        index(
            documents,
            self._records,
            self._store,
            cleanup=self.cleanup,
            source_id_key="source",
            key_encoder="sha256",
        )


class Incremental(ScopedFull):
    """Cleaned up batch by batch, the mode its pages show first: a source that spans two batches loses its rest."""

    cleanup = "incremental"


class AddedAgain(LangChainHybrid):
    """Added again, without ids."""

    def write(self, documents: list[Document]) -> None:
        self._store.add_documents(documents)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    run(
        Driver(
            LangChainHybrid,
            others={"filter behind the fusion": FilteredBehind},
            updates={
                "index(), cleanup scoped_full": ScopedFull,
                "index(), cleanup incremental": Incremental,
                "add_documents": AddedAgain,
            },
        )
    )
