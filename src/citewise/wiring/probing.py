"""Every part that a search leans on, asked once through its guard: for a process that looks and does not search."""

import struct
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from citewise.adapters.guard import Breaker
from citewise.errors import CitewiseError
from citewise.model.access import Scope
from citewise.model.chunk import Chunk, TermField, Vector
from citewise.model.filters import Where
from citewise.model.report import Check
from citewise.settings import Settings
from citewise.text import analysis
from citewise.wiring.full import OpenLibrary, opened_unchecked
from citewise.wiring.guarding import GuardedSearch, Guards
from citewise.wiring.search import search_of

ABOUT = Check(
    "breakers", "what is named below was asked once just now; a process that searches tells its own in Library.doctor()"
)


def model_checks(guards: Guards, asked: Iterable[Check]) -> Iterator[Check]:
    """The models' breakers, by what the checks of them found: no model is asked twice."""
    for check in asked:
        breaker = guards.of_model(check.name)
        if breaker is not None:
            yield _told(breaker, "" if check.is_ok else check.detail)


def store_checks(settings: Settings, guards: Guards) -> Iterator[Check]:
    """The store's breakers, each after one call in the scope that holds most; nothing where there is none to ask."""
    try:
        yield from _store_checks(settings, guards)
    except CitewiseError as error:
        yield Check("breakers of the store", f"not asked: {error}", "follow the message, then try again")


def _store_checks(settings: Settings, guards: Guards) -> Iterator[Check]:
    with opened_unchecked(settings) as library, ThreadPoolExecutor(1) as threads:
        largest = max(library.catalog.scopes(), key=lambda scope: library.catalog.count(scope).chunks, default=None)
        chunk = None if largest is None else _some_chunk(library, largest)
        if largest is not None and chunk is not None:
            search = guards.search(search_of(library, reranker=None, threads=threads))
            yield from _asked(search, library, largest, chunk)


def _asked(guarded: GuardedSearch, library: OpenLibrary, scope: Scope, chunk: Chunk) -> Iterator[Check]:
    """By what a chunk itself says, so that every file of the index is read that a question would read."""
    store = guarded.search.hydrate.store
    where = Where(scope, None)
    terms = analysis.terms(chunk.piece.text)

    def match() -> None:
        for field, words in ((TermField.WORDS, terms.words), (TermField.CODE, terms.code)):
            library.texts.search(words, field=field, where=where, limit=1)

    (catalog,) = guarded.breakers
    yield _answered("vector index", lambda: library.vectors.search(_direction(library), where=where, limit=1))
    yield _answered("text index", match)
    yield _probed(catalog, lambda: store.passages([chunk.id], where=where))


def _some_chunk(library: OpenLibrary, scope: Scope) -> Chunk | None:
    where = Where(scope, None)
    documents = library.catalog.documents(where, limit=10)
    return next((chunk for document in documents for chunk in library.catalog.chunks(where, document.id)), None)


def _direction(library: OpenLibrary) -> Vector:
    """Any vector of the right length: the model need not be well for the index to be asked."""
    rest = library.embedding.embedder.model.dimensions - 1
    return Vector(struct.pack(f"<{1 + rest}f", 1.0, *[0.0] * rest))


def _answered(part: str, ask: Callable[[], object]) -> Check:
    try:
        ask()
    except CitewiseError as error:
        return Check(part, str(error), "run `citewise reindex`")
    return Check(part, "answered just now")


def _probed(breaker: Breaker, ask: Callable[[], object]) -> Check:
    try:
        ask()
    except CitewiseError as error:
        return _told(breaker, str(error))
    return _told(breaker, "")


def _told(breaker: Breaker, error: str) -> Check:
    """Name, phase and last failure; a part that does not answer is a problem, however patient its breaker still is."""
    state = breaker.state()
    name = f"breaker: {breaker.part}"
    if not error:
        return Check(name, f"{state.phase}; answered just now")
    counted = f"{state.failed}, last: {state.last_error}" if state.failures else f"asked just now: {error}"
    return Check(name, f"{state.phase}; {counted}", breaker.remedy)
