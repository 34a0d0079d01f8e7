"""A whole library in a temporary folder: real parser, catalog and index; a quick embedder."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from citewise import Library, maintenance
from citewise.ingest.targets import IngestOptions
from citewise.library import LibraryReader, OpenLibrary
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.chunk import Chunk
from citewise.model.filters import Where
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.model.report import Compaction, IngestEvent, IngestReport, Reindexed
from citewise.ports.models import Embedding, Reranker
from citewise.search.pipeline import Search
from citewise.settings import Settings
from citewise.text.analysis import terms
from citewise.wiring import LocalStorage, search_of, service_of, stored_library, upkeep_of
from citewise.wiring_models import NO_PARTS, generator_of
from tests.fakes.counters import HashEmbedder, HashWords, WordCounter
from tests.stores import all_documents, chunks_at

SIZES = {"target_tokens": 60, "floor_tokens": 20, "ceiling_tokens": 90, "overlap_tokens": 10}


def a_question(text: str, /, **changes: Any) -> Query:
    """A question of the owner to the scope that documents are ingested into."""
    return Query(**{"text": text, "request_id": "r-1", "asked_at": 1.7e9, "principal": OWNER, **changes})


def ids(*results: SearchResult) -> list[str]:
    return [str(finding.passage.chunk_id) for result in results for finding in result.findings]


def documents(*results: SearchResult) -> list[str]:
    return [finding.passage.document for result in results for finding in result.findings]


def ingested(
    library: OpenLibrary, path: Path, options: IngestOptions | None = None, seen: list[IngestEvent] | None = None
) -> IngestReport:
    """Ingest a path into an open library; its events but the last are added to `seen`."""
    *events, last = library.ingest({path: None}, options or IngestOptions())
    assert isinstance(last, IngestReport)
    if seen is not None:
        seen += events
    return last


def generation_folder(settings: Settings) -> Path:
    """The folder of the generation that serves."""
    folder = LocalStorage(settings.library)
    return folder.root / folder.current()


class Shelf:
    """A library and a folder of documents beside it."""

    def __init__(self, home: Path, *, keeps_words: bool = False, **changes: object) -> None:
        self.docs = home / "docs"
        self.docs.mkdir(parents=True, exist_ok=True)
        self.settings = Settings(library=home / "library", cache=home / "cache").changed(chunks=SIZES, **changes)
        self.embedder = HashEmbedder()
        self.keeps_words = keeps_words
        self.events: list[IngestEvent] = []

    @classmethod
    def holding(
        cls,
        home: Path,
        pages: Mapping[str, str],
        *,
        access: str | None = None,
        keeps_words: bool = False,
        **changes: Any,
    ) -> Self:
        """A library that has taken in these pages, by path; changes are those of its settings."""
        made = cls(home, keeps_words=keeps_words, **changes)
        for path, text in pages.items():
            made.write(path, text)
        made.ingest(options=IngestOptions(access=(access,)) if access else None)
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

    @contextmanager
    def searching(self, reranker: Reranker | None = None) -> Iterator[Search]:
        """The search as it is wired."""
        with self.opened() as library, ThreadPoolExecutor(1) as threads:
            yield search_of(library, reranker=reranker, threads=threads)

    def library(self, settings: Settings | None = None, **parts: Any) -> Library:
        """The same library as programs open it."""
        embedding = self.embedding
        models = {"embedder": embedding.embedder, "token_counter": embedding.counter, "word_embedder": embedding.words}
        return Library(settings=settings or self.settings, **{**models, **parts})

    def reader(self) -> LibraryReader:
        """A reader as `wiring.service_of` makes it."""
        reader = service_of(self.settings, self.embedding, generator_of(self.settings), NO_PARTS).library
        assert isinstance(reader, LibraryReader)
        return reader

    @property
    def generation(self) -> Path:
        return generation_folder(self.settings)

    def reindex(self) -> Reindexed:
        *_, last = maintenance.reindex(stored_library(self.settings, self.embedding))
        return last

    def compact(self) -> Compaction:
        return maintenance.compact(stored_library(self.settings, self.embedding), upkeep_of(self.settings))

    def found(self, word: str, *, principal: Principal = OWNER, scope: Scope | None = None) -> set[str]:
        """The ids that both rankings can see for a word: in the index by words, and in it by vectors at all."""
        where = Where(scope or Scope(), principal.readers)
        with self.opened() as library:
            by_words = library.texts.search(terms(word).words, field="words", where=where, limit=1000)
            by_meaning = library.vectors.search(self.embedder.query(word), where=where, limit=1000)
            found = {hit.id for hit in by_words}
            assert found <= {hit.id for hit in by_meaning}
            return {str(id_) for id_ in found}

    def chunks_of(self, path: str) -> tuple[Chunk, ...]:
        with self.opened() as library:
            return chunks_at(library.catalog, Scope(), path)

    def snapshot(self) -> dict[str, tuple[str, ...]]:
        """Each document's chunk ids and texts, as the catalog has them."""
        with self.opened() as library:
            return {
                document.path: tuple(
                    f"{chunk.id} {chunk.piece.text}" for chunk in chunks_at(library.catalog, Scope(), document.path)
                )
                for document in all_documents(library.catalog, Scope())
            }

    def with_settings(self, **changes: object) -> None:
        self.settings = self.settings.changed(**changes)

    def search(self, question: str, *, reranker: Reranker | None = None, **changes: Any) -> SearchResult:
        """One search over everything that is there."""
        with self.searching(reranker) as search:
            return search(a_question(question, **changes))
