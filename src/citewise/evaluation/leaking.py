"""The leak suite: a made-up world in a real library, asked on every surface, each answer held against the oracle.

Everything is the product's own: parser, catalog, index, embedding. Only the surfaces come from outside, since they
stand in a room above this one.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random

from citewise.evaluation.leak_site import Remembering, RememberingWords, Site
from citewise.evaluation.leak_world import Maker, World
from citewise.evaluation.leaks import (
    Asker,
    Asking,
    Leak,
    LeakReport,
    Shown,
    State,
    judged,
    sight_of,
    sight_of_selection,
)
from citewise.evaluation.pipeline import Step
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding

ASKINGS = 8  # a phase, each put to every quick surface
SLOW_ASKINGS = 2  # a phase, put to the surfaces that open the library anew each time: a tenth of a second an asking
THREADS = 4  # that ask at the same time: nobody's answer may get into another's
INGESTED = "as ingested"
LAGGING = "changed, the index not told yet"
CAUGHT_UP = "changed"
PHASES = (INGESTED, LAGGING, CAUGHT_UP)
DIGITS = 5  # of a score that two libraries must agree on


@dataclass(frozen=True, slots=True)
class Surface:
    """One way in which something of a library is shown to somebody."""

    name: str
    show: Callable[[Asking], Shown | None]  # None: this asker cannot stand before it
    is_quick: bool = True  # answers from a library that is held open, so it can be asked often, by threads
    is_about_selection: bool = False  # shows nothing of the library, whoever asks


Doors = Callable[[Settings, Embedding], AbstractContextManager[Sequence[Surface]]]  # the surfaces of a library


def leak_report(
    doors: Doors, embedding: Embedding, *, rounds: int, seed: int, on_step: Callable[[Step], None] = lambda step: None
) -> LeakReport:
    """Run the suite; the same seed makes the same worlds and asks the same questions."""
    words = embedding.words and RememberingWords(embedding.words)
    remembering = replace(embedding, embedder=Remembering(embedding.embedder), words=words)
    tally = _Tally(rounds, on_step)
    for at in range(rounds):
        with tempfile.TemporaryDirectory(prefix="citewise-leaks-") as home:
            _Round(at, Random(f"{seed} {at}"), tally).run(Path(home), doors, remembering)
    return LeakReport(
        rounds=rounds,
        seed=seed,
        principals=len(tally.principals),
        documents=tally.documents,
        questions=tally.questions,
        surfaces=dict(sorted(tally.asked.items())),
        leaks=tuple(one for one in tally.found if one.kind != "missing"),
        missing=tuple(one for one in tally.found if one.kind == "missing"),
    )


class _Tally:
    """What happened so far, and whoever is told of it."""

    def __init__(self, rounds: int, on_step: Callable[[Step], None]) -> None:
        self._phases = rounds * len(PHASES)
        self._on_step = on_step
        self.principals: set[str] = set()
        self.documents = 0
        self.questions = 0
        self.asked: Counter[str] = Counter()
        self.found: list[Leak] = []

    def begin(self, at: int, phase: str) -> None:
        done = at * len(PHASES) + PHASES.index(phase)
        self._on_step(Step(f"round {at + 1}, {phase}", done, self._phases))


class _Round:
    """One world: asked as it was ingested, while the index lags behind a change, and once it has caught up."""

    def __init__(self, at: int, draw: Random, tally: _Tally) -> None:
        self._at = at
        self._draw = draw
        self._maker = Maker(draw)
        self._tally = tally

    def run(self, home: Path, doors: Doors, embedding: Embedding) -> None:
        self._tally.begin(self._at, INGESTED)
        world = self._maker.world()
        site = Site(home / "all", embedding, Settings().cache)
        site.become(world)
        with doors(site.settings, embedding) as surfaces:
            before = State(world, site.holdings)
            self._phase(INGESTED, surfaces, before)
            self._wall(home, doors, embedding, surfaces, world)
            self._tally.begin(self._at, LAGGING)
            changed = self._maker.changed(world)
            site.become(changed, is_index_told=False)
            quick = [one for one in surfaces if one.is_quick]  # the others would tell the index by opening the library
            now = State(changed, site.holdings)
            self._phase(LAGGING, quick, now, before=before)
            self._tally.begin(self._at, CAUGHT_UP)
            site.tell_index()
            self._phase(CAUGHT_UP, surfaces, now)
        self._tally.documents += len({(page.place, page.path) for page in (*world.pages, *changed.pages)})

    def _phase(self, phase: str, surfaces: Sequence[Surface], now: State, *, before: State | None = None) -> None:
        asker = Asker(self._draw, self._maker, now.world)
        askings = [asker.asking() for _ in range(ASKINGS)]
        self._tally.questions += len(askings)
        self._tally.principals |= {str(one.who) for one in askings}
        for surface, asking, shown in _shown(surfaces, askings):
            self._tally.asked[surface.name] += 1
            if surface.is_about_selection:
                sight = sight_of_selection(asking, now.holdings)
            else:
                sight = sight_of(asking, now, before=before)
            for kind, what in judged(shown, sight, is_deep=asking.is_deep):
                self._tally.found.append(Leak(surface.name, kind, what, asking, phase, self._at))

    def _wall(self, home: Path, doors: Doors, embedding: Embedding, surfaces: Sequence[Surface], world: World) -> None:
        """In a library without the other places, the same question finds the same with the same scores."""
        place = self._draw.choice(world.places)
        alone = World(world.of(place))
        site = Site(home / "alone", embedding, Settings().cache)
        site.become(alone)
        asking = Asker(self._draw, self._maker, alone).asking()
        with doors(site.settings, embedding) as others:
            for surface, other in zip(surfaces, others, strict=True):
                if not surface.is_quick:
                    continue
                shown, expected = surface.show(asking), other.show(asking)
                if shown and expected and _scores(shown) != _scores(expected):
                    what = f"{_scores(shown)} beside other places, {_scores(expected)} without them"
                    self._tally.found.append(Leak(surface.name, "wall", what, asking, INGESTED, self._at))


def _scores(shown: Shown) -> list[tuple[str, float]]:
    return [(id_, round(score, DIGITS)) for id_, score in shown.scores]


def _shown(surfaces: Sequence[Surface], askings: Sequence[Asking]) -> Iterator[tuple[Surface, Asking, Shown]]:
    """Everything that each asker is shown; on quick surfaces several ask at once."""
    quick = [(surface, asking) for asking in askings for surface in surfaces if surface.is_quick]
    with ThreadPoolExecutor(THREADS) as threads:
        shown = list(threads.map(lambda each: each[0].show(each[1]), quick))
    for (surface, asking), one in zip(quick, shown, strict=True):
        if one is not None:
            yield surface, asking, one
    for at, surface in enumerate(surfaces):
        if not surface.is_quick:
            yield from islice(_shown_slowly(surface, [*askings[at % len(askings) :], *askings]), SLOW_ASKINGS)


def _shown_slowly(surface: Surface, askings: Sequence[Asking]) -> Iterator[tuple[Surface, Asking, Shown]]:
    for asking in askings:
        if (one := surface.show(asking)) is not None:
            yield surface, asking, one
