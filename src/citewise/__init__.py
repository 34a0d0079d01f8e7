"""citewise: ask your own documents, and get answers that cite their sources.

Public names are resolved on first use: Python runs this file before any submodule, so an eager import here would pull a
store into every one of them. `__init__.pyi` says the same to type checkers, and a test that both agree.
"""

_NAMES = {
    "citewise.api": "Library LibraryView QueryOptions SourceOptions",
    "citewise.errors": "BadData BadRequest Cancelled CitewiseError Locked Misconfigured PathNotFound Unavailable",
    "citewise.insights": "Overview SeenRow",
    "citewise.model.access": "Principal Scope",
    "citewise.model.answer": "Answer Citation Cited Done Failed Message Prompt Quality Role Sources Suggestion "
    "Token Usage",
    "citewise.model.cancellation": "Cancellation",
    "citewise.model.chunk": "Chunk Hit Point Vector",
    "citewise.model.document": "Document FileProblem Item",
    "citewise.model.filters": "Where",
    "citewise.model.logged": "Logged",
    "citewise.model.query": "Selection",
    "citewise.model.ranking": "Candidate Finding Passage SearchResult",
    "citewise.model.report": "AccessNote Check Compaction DocumentAccess Embedded FileDone IngestReport Reindexed "
    "Status Walked",
    "citewise.ports.catalog": "Catalog DocumentSummary ProjectionState",
    "citewise.ports.indexes": "IndexBatch TextIndex VectorIndex",
    "citewise.ports.models": "Compressor Embedder Generator QualityEvaluator Reranker TokenCounter WordEmbedder",
    "citewise.ports.sources": "Source",
    "citewise.ports.stores": "LogStore QueryCache",
    "citewise.settings": "Settings",
    "citewise.wiring_models": "LibraryParts",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("citewise")
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'citewise' has no attribute {name!r}")
