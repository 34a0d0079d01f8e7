"""A whole library in a temporary folder: real parser, catalog and index; a quick embedder."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from citewise.ingest.targets import IngestOptions
from citewise.library import OpenLibrary
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.filters import Where
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.model.report import IngestEvent, IngestReport
from citewise.ports.models import Embedding, Reranker
from citewise.settings import Settings
from citewise.text.analysis import terms
from citewise.wiring import search_of, stored_library
from tests.catalogs import all_documents, chunks_at
from tests.fakes.counters import HashEmbedder, HashWords, WordCounter

SIZES = {"target_tokens": 60, "floor_tokens": 20, "ceiling_tokens": 90, "overlap_tokens": 10}


def ingested(
    library: OpenLibrary, path: Path, options: IngestOptions | None = None, seen: list[IngestEvent] | None = None
) -> IngestReport:
    """Ingest a path into an open library; its events but the last are added to `seen`."""
    *events, last = library.ingest({path: None}, options or IngestOptions())
    assert isinstance(last, IngestReport)
    if seen is not None:
        seen += events
    return last


class Shelf:
    """A library and a folder of documents beside it."""

    def __init__(self, home: Path) -> None:
        self.docs = home / "docs"
        self.docs.mkdir()
        self.settings = Settings(library=home / "library", cache=home / "cache").changed(chunks=SIZES)
        self.embedder = HashEmbedder()
        self.keeps_words = False
        self.events: list[IngestEvent] = []

    @classmethod
    def holding(cls, home: Path, pages: Mapping[str, str]) -> Self:
        """A library that has taken in these pages, by path."""
        made = cls(home)
        for path, text in pages.items():
            made.write(path, text)
        made.ingest()
        return made

    def write(self, path: str, text: str) -> Path:
        file = self.docs / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def ingest(self, path: Path | None = None, options: IngestOptions | None = None) -> IngestReport:
        self.embedder.embedded.clear()
        with self.opened() as library:
            return ingested(library, path or self.docs, options, self.events)

    @property
    def embedding(self) -> Embedding:
        words = HashWords(self.embedder) if self.keeps_words else None
        return Embedding(self.embedder, WordCounter(), words=words)

    @contextmanager
    def opened(self) -> Iterator[OpenLibrary]:
        with stored_library(self.settings, self.embedding).writing() as library:
            yield library

    def found(self, word: str, *, principal: Principal = OWNER, scope: Scope | None = None) -> set[str]:
        """The ids that both rankings can see for a word: in the index by words, and in it by vectors at all."""
        where = Where(scope or Scope(), principal.readers)
        with self.opened() as library:
            by_words = library.texts.search(terms(word).words, field="words", where=where, limit=1000)
            by_meaning = library.vectors.search(self.embedder.query(word), where=where, limit=1000)
            ids = {hit.id for hit in by_words}
            assert ids <= {hit.id for hit in by_meaning}
            return {str(id_) for id_ in ids}

    def snapshot(self, scope: Scope | None = None) -> dict[str, tuple[str, ...]]:
        """Each document's chunk ids and texts, as the catalog has them."""
        chosen = scope or Scope()
        with self.opened() as library:
            return {
                document.path: tuple(
                    f"{chunk.id} {chunk.piece.text}" for chunk in chunks_at(library.catalog, chosen, document.path)
                )
                for document in all_documents(library.catalog, chosen)
            }

    def with_settings(self, **changes: object) -> None:
        self.settings = self.settings.changed(**changes)

    def search(self, question: str, *, reranker: Reranker | None = None, **changes: Any) -> SearchResult:
        """One search over everything that is there."""
        query = Query(**{"text": question, "request_id": "r-1", "asked_at": 1.7e9, "principal": OWNER, **changes})
        with self.opened() as library, ThreadPoolExecutor(1) as threads:
            return search_of(library, reranker=reranker, threads=threads)(query)
