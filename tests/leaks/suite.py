"""The leak suite: random documents in a real library, every surface asked by random readers, every output judged.

Everything is citewise's own: parser, catalog, index, embedding. `make leaks` runs it and prints how often each surface
was asked: `python -m tests.leaks.suite --rounds 5 --seed 0`.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from citewise.api import Library
from citewise.ingest.project import Project
from citewise.model.access import Scope
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring import stored_library
from citewise.wiring_models import embedding_of
from tests.leaks.judge import (
    Leak,
    LeakReport,
    Output,
    Request,
    RequestMaker,
    State,
    StoredIds,
    allowed_in_library,
    allowed_in_selection,
    violations,
)
from tests.leaks.surfaces import SURFACES, OpenedLibrary, Surface
from tests.leaks.world import Page, RuleSource, World, WorldMaker, access_by_path
from tests.stores import all_documents, chunks_at

REQUESTS = 8  # of each phase, each sent to every quick surface
SLOW_REQUESTS = 2  # of each phase, sent to the surfaces that open the library each time: 0.1 s each
THREADS = 4  # that ask at the same time: no answer may contain parts of another
INGESTED = "as ingested"
LAGGING = "changed, the index not yet"
CAUGHT_UP = "changed"
DIGITS = 5  # of a score that two libraries must agree on


def leak_report(surfaces: Sequence[Surface], embedding: Embedding, *, rounds: int, seed: int) -> LeakReport:
    """Run the suite; the same seed gives the same worlds and requests."""
    asked: Counter[str] = Counter()
    readers: set[str] = set()
    found: list[Leak] = []
    documents = 0
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="citewise-leaks-") as home:
            run = _Round(number, Random(f"{seed} {number}"), surfaces, embedding)
            documents += run.run(Path(home))
            asked += run.asked
            readers |= run.readers
            found += run.found
    return LeakReport(
        readers=len(readers),
        documents=documents,
        surfaces=dict(sorted(asked.items())),
        leaks=tuple(leak for leak in found if leak.kind != "missing"),
        missing=tuple(leak for leak in found if leak.kind == "missing"),
    )


class _StoredWorld:
    """A library in a folder whose documents are the pages of a world."""

    def __init__(self, home: Path, embedding: Embedding) -> None:
        # What a reader asked before may contain markers: rows without text contain none.
        changes = {"query_log": {"text": "none"}, "ingest": {"access_by_path": access_by_path()}}
        self.settings = Settings(library=home / "library").changed(**changes)
        self.ids = StoredIds()
        self._embedding = embedding
        self._pages, self._mounted = home / "pages", home / "mounted"
        self._world = World(())

    def open(self) -> Library:
        return Library(
            settings=self.settings,
            embedder=self._embedding.embedder,
            token_counter=self._embedding.counter,
            word_embedder=self._embedding.words,
        )

    def store(self, world: World) -> None:
        """Write the files and ingest them."""
        before = {(page.scope, page.path): page for page in self._world.pages}
        for key in before.keys() - {(page.scope, page.path) for page in world.pages}:
            self._file(before[key]).unlink()
        for page in world.pages:
            for folder in (self._folder(page.scope), self._file(page).parent):
                folder.mkdir(parents=True, exist_ok=True)
            self._file(page).write_text(page.text, encoding="utf-8")
        with self.open() as library:
            for page in world.pages:
                old = before.get((page.scope, page.path))
                if page.rule_source is not RuleSource.SETTINGS and (old is None or old.rules != page.rules):
                    rules = sorted(page.rules) if page.rule_source is RuleSource.ARGUMENT else ["public"]
                    library.ingest(self._file(page), scope=page.scope, access=rules, widen=True)
            for scope in world.scopes:
                library.ingest(self._folder(scope), scope=scope, prune=True)
                for folder in self._mounted.glob(f"{self._folder(scope).name}/*"):
                    library.ingest(folder, scope=scope, name=folder.name, access="public", prune=True)
        self._world = world
        self._read_ids()

    def _read_ids(self) -> None:
        documents, chunks = {}, {}
        with stored_library(self.settings, self._embedding).reading() as library:
            for scope in self._world.scopes:
                for document in all_documents(library.catalog, scope):
                    key = (scope, document.path)
                    documents[key] = str(document.id)
                    chunks[key] = tuple(str(chunk.id) for chunk in chunks_at(library.catalog, scope, document.path))
        current = (*documents.values(), *(id_ for ids in chunks.values() for id_ in ids))
        self.ids = StoredIds(documents, chunks, self.ids.ever.union(current))

    def _file(self, page: Page) -> Path:
        folder = self._folder(page.scope)
        return (self._mounted / folder.name if page.is_mounted else folder) / page.path

    def _folder(self, scope: Scope) -> Path:
        return self._pages / f"{scope.tenant}+{scope.project}"  # no name contains a plus


@contextmanager
def _index_paused() -> Iterator[None]:
    """Changes reach the catalog and not the index, as if an ingestion was killed between the two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Project, "__call__", lambda self, scope: 0)
        yield


class _Round:
    """One world, asked as ingested, while the index lags behind a change, and once it has caught up."""

    def __init__(self, number: int, draw: Random, surfaces: Sequence[Surface], embedding: Embedding) -> None:
        self._number = number
        self._draw = draw
        self._surfaces = surfaces
        self._embedding = embedding
        self._maker = WorldMaker(draw)
        self.asked: Counter[str] = Counter()
        self.readers: set[str] = set()
        self.found: list[Leak] = []

    def run(self, home: Path) -> int:
        """Ask everything; returns the number of documents."""
        world = self._maker.world()
        stored = _StoredWorld(home / "all", self._embedding)
        stored.store(world)
        with stored.open() as library:
            opened = OpenedLibrary(library, stored.settings)
            opened.write_config()
            before = State(world, stored.ids)
            self._phase(INGESTED, self._surfaces, opened, before)
            self._compare_alone(home, opened, world)
            changed = self._maker.changed(world)
            with _index_paused():
                stored.store(changed)
                now = State(changed, stored.ids)
                quick = [surface for surface in self._surfaces if surface.is_quick]  # commands would update the index
                self._phase(LAGGING, quick, opened, now, before=before)
            with stored.open() as other, other._stored().writing():
                pass  # whoever opens the library next brings the index up to date
            self._phase(CAUGHT_UP, self._surfaces, opened, now)
        return len({(page.scope, page.path) for page in (*world.pages, *changed.pages)})

    def _phase(
        self,
        phase: str,
        surfaces: Sequence[Surface],
        opened: OpenedLibrary,
        now: State,
        *,
        before: State | None = None,
    ) -> None:
        maker = RequestMaker(self._draw, self._maker, now.world)
        requests = [maker.request() for _ in range(REQUESTS)]
        self.readers |= {str(request.reader) for request in requests}
        for surface, request, output in _outputs(surfaces, opened, requests):
            self.asked[surface.name] += 1
            if surface.is_about_selection:
                allowed = allowed_in_selection(request, now.ids)
            else:
                allowed = allowed_in_library(request, now, before=before)
            for kind, what in violations(output, allowed, is_deep=request.is_deep):
                self.found.append(Leak(surface.name, kind, what, request, phase, self._number))

    def _compare_alone(self, home: Path, opened: OpenedLibrary, world: World) -> None:
        """In a library without the other scopes, the same question finds the same with the same scores."""
        scope = self._draw.choice(world.scopes)
        stored = _StoredWorld(home / "alone", self._embedding)
        stored.store(World(world.of(scope)))
        request = RequestMaker(self._draw, self._maker, World(world.of(scope))).request()
        with stored.open() as library:
            alone = OpenedLibrary(library, stored.settings)
            for surface in self._surfaces:
                if not surface.is_quick:
                    continue
                together, expected = surface.show(opened, request), surface.show(alone, request)
                if together and expected and _scores(together) != _scores(expected):
                    what = f"{_scores(together)} beside other scopes, {_scores(expected)} without them"
                    self.found.append(Leak(surface.name, "isolation", what, request, INGESTED, self._number))


def _scores(output: Output) -> list[tuple[str, float]]:
    return [(id_, round(score, DIGITS)) for id_, score in output.scores]


def _outputs(
    surfaces: Sequence[Surface], opened: OpenedLibrary, requests: Sequence[Request]
) -> Iterator[tuple[Surface, Request, Output]]:
    """What each reader is shown; quick surfaces are asked from several threads at once."""
    quick = [(surface, request) for request in requests for surface in surfaces if surface.is_quick]
    with ThreadPoolExecutor(THREADS) as threads:
        outputs = list(threads.map(lambda pair: pair[0].show(opened, pair[1]), quick))
    yield from ((surface, request, each) for (surface, request), each in zip(quick, outputs, strict=True) if each)
    for number, surface in enumerate(surfaces):
        if not surface.is_quick:
            start = number % len(requests)
            tried = ((request, surface.show(opened, request)) for request in (*requests[start:], *requests))
            yield from islice(((surface, request, each) for request, each in tried if each), SLOW_REQUESTS)


def main() -> int:
    """Run every surface with the embedding that users get; 1 if anything leaked or was missing."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    report = leak_report(SURFACES, embedding_of(Settings()), rounds=given.rounds, seed=given.seed)
    lines = [
        f"asked {sum(report.surfaces.values()):,} times on {len(report.surfaces)} surfaces, "
        f"by {report.readers} readers, about {report.documents} documents, "
        f"in {given.rounds} rounds with seed {given.seed}",
        *(f"  {count:>5}  {name}" for name, count in report.surfaces.items()),
        *(f"LEAK {leak}" for leak in report.leaks),
        *(f"MISSING {leak}" for leak in report.missing),
        f"{len(report.leaks)} leaks, {len(report.missing)} missing",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if report.leaks or report.missing else 0


if __name__ == "__main__":
    sys.exit(main())
