"""A made-up world as a real library: its pages are files, ingested as anybody's are."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from citewise.evaluation.leak_world import Page, Way, World, rules_by_path
from citewise.evaluation.leaks import Holdings
from citewise.ingest.project import Project
from citewise.model.access import Scope
from citewise.model.chunk import EmbeddedText, EmbeddingFailure, EmbeddingModel, Vector, WordVectors
from citewise.ports.models import Embedder, WordEmbedder
from citewise.settings import IngestSettings, QueryLogSettings, Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import OpenLibrary, opened_for_writing
from citewise.wiring.sources import Wish, ingest

T = TypeVar("T")


class Site:
    """A library in a folder, kept as a world is."""

    def __init__(self, home: Path, embedding: Embedding, cache: Path) -> None:
        self._pages = home / "pages"
        self._embedding = embedding
        self._world = World(())
        self.holdings = Holdings()
        rules = IngestSettings(access_by_path=rules_by_path())
        # What was asked before, by the same name, may hold marks that are not said again: rows without words hold none.
        log = QueryLogSettings(text="none")
        self.settings = Settings(library=home / "library", cache=cache, ingest=rules, query_log=log)

    def become(self, world: World, *, is_index_told: bool = True) -> None:
        """Write the pages and ingest them; without telling the index, as if the ingestion stopped just then."""
        before = {(page.place, page.path): page for page in self._world.pages}
        for gone in before.keys() - {(page.place, page.path) for page in world.pages}:
            self._file(before[gone]).unlink()
        for page in world.pages:
            self._file(page).parent.mkdir(parents=True, exist_ok=True)
            self._file(page).write_text(page.text, encoding="utf-8")
        with opened_for_writing(self.settings, self._embedding) as library:
            for place in world.places:
                self._ingest(library if is_index_told else _untold(library), place, world.of(place), before.values())
            self.holdings = _with_ids(self.holdings, library, world)
        self._world = world

    def tell_index(self) -> None:
        """What the next to open the library does after an ingestion that was stopped."""
        with opened_for_writing(self.settings, self._embedding):
            pass

    def _ingest(
        self, library: OpenLibrary, place: tuple[str, str], pages: Sequence[Page], before: Iterable[Page]
    ) -> None:
        """First the pages whose rule is said with them, one by one; then all, which tells the index of all at once."""
        scope = Scope(*place)
        said = {(page.place, page.path): page.rules for page in before if page.way is Way.SAID}
        for page in pages:
            if page.way is Way.SAID and said.get((page.place, page.path)) != page.rules:
                ingest(_untold(library), self._file(page), Wish(scope, access=tuple(sorted(page.rules))))
        ingest(library, self._folder(place), Wish(scope))

    def _folder(self, place: tuple[str, str]) -> Path:
        return self._pages / "+".join(place)  # no name holds a plus

    def _file(self, page: Page) -> Path:
        return self._folder(page.place) / page.path


@dataclass(frozen=True, slots=True)
class _Later(Project):
    """A projection that is put off: the catalog knows what the index has not heard of."""

    def __call__(self, scope: Scope) -> int:
        return 0


def _untold(library: OpenLibrary) -> OpenLibrary:
    project = library.project
    return replace(library, project=_Later(project.outbox, project.index))


def _with_ids(held: Holdings, library: OpenLibrary, world: World) -> Holdings:
    documents: dict[tuple[str, str, str], str] = {}
    chunks: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for place in world.places:
        scope = Scope(*place)
        for document in library.catalog.documents(scope):
            documents[(*place, document.path)] = document.id
            chunks[(*place, document.path)] = tuple(one.id for one in library.catalog.chunks(scope, document.path))
    now = (*documents.values(), *(id_ for some in chunks.values() for id_ in some))
    return Holdings(documents, chunks, held.ever.union(now))


class Remembering:
    """An embedder that embeds a text once, however many libraries and answers it stands in."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made: dict[str, Vector | EmbeddingFailure] = {}

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    def documents(self, texts: Sequence[str]) -> tuple[Vector | EmbeddingFailure, ...]:
        return _once(texts, self._made, self._embedder.documents)

    def query(self, text: str) -> Vector:
        return self._embedder.query(text)


class RememberingWords:
    """The same, word by word."""

    def __init__(self, words: WordEmbedder) -> None:
        self._words = words
        self._made: dict[str, EmbeddedText | EmbeddingFailure] = {}

    def embedded(self, texts: Sequence[str]) -> tuple[EmbeddedText | EmbeddingFailure, ...]:
        return _once(texts, self._made, self._words.embedded)

    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]:
        return self._words.closeness(question, texts)


def _once(texts: Sequence[str], known: dict[str, T], make: Callable[[Sequence[str]], Sequence[T]]) -> tuple[T, ...]:
    """What is made of each text; of one that is known, what was made of it then."""
    new = [text for text in dict.fromkeys(texts) if text not in known]
    known |= zip(new, make(new), strict=True)
    return tuple(known[text] for text in texts)
