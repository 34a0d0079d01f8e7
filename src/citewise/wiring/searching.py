"""Settings -> a search over a library that stays open, page by page where that is asked for."""

from citewise.errors import Unavailable
from citewise.model.access import Scope
from citewise.model.filters import Where
from citewise.model.paging import PageRequest
from citewise.model.query import Query
from citewise.model.ranking import Passage, SearchResult
from citewise.ports.models import Reranker
from citewise.search.pipeline import Search
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.full import GivenIndexes, OpenLibrary
from citewise.wiring.paging import Paging
from citewise.wiring.reading import Reader
from citewise.wiring.reranking import reranker_of
from citewise.wiring.search import search_of


class Searching:
    """A library that stays open for searches."""

    def __init__(
        self,
        settings: Settings,
        embedding: Embedding,
        reranker: Reranker | None = None,
        indexes: GivenIndexes | None = None,
    ) -> None:
        self._settings = settings
        self.embedding = embedding
        self.reranker = reranker or reranker_of(settings)
        self._reader = Reader(settings, self.embedding, indexes)
        self._paging = Paging(settings)
        self._made: tuple[OpenLibrary, Search] | None = None

    def search(self, query: Query, page: PageRequest | None = None) -> SearchResult:
        """Search, or fetch a page of a search; once more if the library was replaced meanwhile."""
        with self._reader.library() as library:
            try:
                search = self._search(library)
                return search(query) if page is None else self._paging.pages(search)(query, page)
            except Unavailable:
                if self._reader.is_current(library):
                    raise
        return self.search(query, page)

    def popular(self, where: Where, limit: int) -> tuple[Passage, ...]:
        """Popular passages that a reader may see."""
        from citewise.wiring.insights import popular_of

        with self._reader.library() as library:
            return popular_of(self._settings, self._search(library).hydrate.store).passages(where, limit)

    def version(self, scope: Scope) -> str:
        """Another one after every change that a search in this scope could see."""
        with self._reader.library() as library:
            return str(library.catalog.version(scope))

    def renewed(self, cursor: str) -> str | None:
        """The same cursor with a new life before it; None if what it goes on in is no longer held."""
        with self._reader.library() as library:
            return self._paging.pages(self._search(library)).renewed(cursor)

    def close(self) -> None:
        self._reader.close()

    def _search(self, library: OpenLibrary) -> Search:
        """The same for as long as the library is: to put one together takes a hundredth of a search."""
        made = self._made
        if made is None or made[0] is not library:
            search = search_of(library, reranker=self.reranker, threads=self._reader.threads)
            made = self._made = (library, search)
        return made[1]
