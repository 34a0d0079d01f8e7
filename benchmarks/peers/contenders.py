"""Who is compared, and what was chosen for each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contender:
    """A framework: its driver is `<name>_driver.py`, its pins `pins/<name>.txt`."""

    name: str
    title: str
    package: str  # whose version is shown
    imports: str  # what a program that searches imports; driver and framework alike leave the rest out
    choice: str
    first: tuple[str, ...] = ()  # installed before the pins


OURSELVES = Contender(
    "citewise",
    "citewise",
    "citewise",
    "from citewise import Library; import citewise.library, citewise.adapters.onnx.minilm",
    "Library with its defaults; tenants are groups of one scope; ingestion reads, parses and cuts the files, which the "
    "others get ready-made; its install holds the embedding model and a runtime, of the others only txtai's has one",
)
PEERS = (  # the quick ones first: what time they leave is for the others
    Contender(
        "lancedb",
        "LanceDB",
        "lancedb",
        "import lancedb; from lancedb.index import FTS, Bitmap; from lancedb.rerankers import RRFReranker",
        "hybrid query, prefilter, default reranker (RRF); full-text and bitmap index, vectors compared exactly",
    ),
    Contender(
        "txtai",
        "txtai",
        "txtai",
        "from txtai import Embeddings; import faiss",
        "hybrid embeddings with content, SQL with similar() and 500 candidates, vectors by external transform",
        first=("torch==2.13.0",),  # there is a CPU build of this one; the newest brings several GB for graphics cards
    ),
    Contender(
        "langchain",
        "LangChain",
        "langchain-classic",
        "from langchain_classic.retrievers import EnsembleRetriever; import faiss, rank_bm25; "
        "from langchain_community.vectorstores import FAISS; from langchain_community.retrievers import BM25Retriever",
        "EnsembleRetriever of BM25Retriever (lower-cased words) and FAISS; 300 candidates each, then filtered",
    ),
    Contender(
        "llamaindex",
        "LlamaIndex",
        "llama-index-core",
        "from llama_index.core import VectorStoreIndex; from llama_index.core.retrievers import QueryFusionRetriever; "
        "from llama_index.retrievers.bm25 import BM25Retriever",
        "VectorStoreIndex and BM25Retriever with metadata filters, fused by reciprocal ranks, one query",
    ),
    Contender(
        "haystack",
        "Haystack",
        "haystack-ai",
        "from haystack import Pipeline; from haystack.components.joiners import DocumentJoiner; "
        "from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever",
        "in-memory store, BM25 and embedding retriever with filters, DocumentJoiner by reciprocal ranks",
    ),
)
ALL = (OURSELVES, *PEERS)
