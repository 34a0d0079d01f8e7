"""citewise: ask your own documents, and get answers that cite their sources.

Public names are resolved on first use: Python runs this file before any submodule, so an eager import here would
pull a store into every one of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewise.api import Library as Library
    from citewise.api import LibraryView as LibraryView
    from citewise.api import QueryOptions as QueryOptions
    from citewise.errors import BadData as BadData
    from citewise.errors import BadRequest as BadRequest
    from citewise.errors import Cancelled as Cancelled
    from citewise.errors import CitewiseError as CitewiseError
    from citewise.errors import Locked as Locked
    from citewise.errors import Misconfigured as Misconfigured
    from citewise.errors import PathNotFound as PathNotFound
    from citewise.errors import Unavailable as Unavailable
    from citewise.insights import Overview as Overview
    from citewise.insights import SeenRow as SeenRow
    from citewise.model.access import Principal as Principal
    from citewise.model.access import Scope as Scope
    from citewise.model.answer import Answer as Answer
    from citewise.model.answer import Cited as Cited
    from citewise.model.answer import Done as Done
    from citewise.model.answer import Failed as Failed
    from citewise.model.answer import Message as Message
    from citewise.model.answer import Role as Role
    from citewise.model.answer import Sources as Sources
    from citewise.model.answer import Token as Token
    from citewise.model.cancellation import Cancellation as Cancellation
    from citewise.model.chunk import Chunk as Chunk
    from citewise.model.document import Document as Document
    from citewise.model.query import Selection as Selection
    from citewise.model.ranking import SearchResult as SearchResult
    from citewise.model.report import Check as Check
    from citewise.model.report import Compaction as Compaction
    from citewise.model.report import Embedded as Embedded
    from citewise.model.report import FileDone as FileDone
    from citewise.model.report import IngestDone as IngestDone
    from citewise.model.report import IngestReport as IngestReport
    from citewise.model.report import Reindexed as Reindexed
    from citewise.model.report import Status as Status
    from citewise.model.report import Walked as Walked
    from citewise.ports.catalog import Catalog as Catalog
    from citewise.ports.catalog import DocumentSummary as DocumentSummary
    from citewise.ports.indexes import TextIndex as TextIndex
    from citewise.ports.indexes import VectorIndex as VectorIndex
    from citewise.ports.models import Compressor as Compressor
    from citewise.ports.models import Embedder as Embedder
    from citewise.ports.models import Generator as Generator
    from citewise.ports.models import QualityEvaluator as QualityEvaluator
    from citewise.ports.models import Reranker as Reranker
    from citewise.ports.models import TokenCounter as TokenCounter
    from citewise.ports.models import WordEmbedder as WordEmbedder
    from citewise.ports.stores import QueryCache as QueryCache
    from citewise.ports.stores import QueryLog as QueryLog
    from citewise.settings import Settings as Settings

_MODULES = {
    "citewise.api": ("Library", "LibraryView", "QueryOptions"),
    "citewise.errors": (
        "BadData",
        "BadRequest",
        "Cancelled",
        "CitewiseError",
        "Locked",
        "Misconfigured",
        "PathNotFound",
        "Unavailable",
    ),
    "citewise.insights": ("Overview", "SeenRow"),
    "citewise.model.access": ("Principal", "Scope"),
    "citewise.model.answer": ("Answer", "Cited", "Done", "Failed", "Message", "Role", "Sources", "Token"),
    "citewise.model.cancellation": ("Cancellation",),
    "citewise.model.chunk": ("Chunk",),
    "citewise.model.document": ("Document",),
    "citewise.model.query": ("Selection",),
    "citewise.model.ranking": ("SearchResult",),
    "citewise.model.report": (
        "Check",
        "Compaction",
        "Embedded",
        "FileDone",
        "IngestDone",
        "IngestReport",
        "Reindexed",
        "Status",
        "Walked",
    ),
    "citewise.ports.catalog": ("Catalog", "DocumentSummary"),
    "citewise.ports.indexes": ("TextIndex", "VectorIndex"),
    "citewise.ports.models": (
        "Compressor",
        "Embedder",
        "Generator",
        "QualityEvaluator",
        "Reranker",
        "TokenCounter",
        "WordEmbedder",
    ),
    "citewise.ports.stores": ("QueryCache", "QueryLog"),
    "citewise.settings": ("Settings",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("citewise")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'citewise' has no attribute {name!r}")
