"""What a surface showed to whom, and whether any of it was not for them. Building and asking are done elsewhere."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from citewise.evaluation.leak_world import LEVELS, TAGS, Maker, Page, Who, World, marks_in, may_see

MIN_LIMIT = 60  # chunks that every ranking gives at least; up to here counts are exact
DEEP = 200  # a top_k with which everything that may be seen is shown

_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
_FAR = "Which opera did the violinist rehearse in Vienna?"  # nothing here answers it: a refusal, with suggestions


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on pages, as the asker says it."""

    field: str  # document, tags, metadata.level, metadata.keeper; access, which nobody may filter on
    sign: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.sign}{self.value}"

    def holds(self, page: Page) -> bool:
        if self.field == "metadata.level":
            wanted = int(self.value)
            return {">=": page.level >= wanted, "<=": page.level <= wanted}.get(self.sign, page.level == wanted)
        held = {"document": (page.path,), "tags": page.tags, "metadata.keeper": (page.keeper,), "access": page.rules}
        return self.value in held[self.field]


@dataclass(frozen=True, slots=True)
class Asking:
    """One question of one principal in one place."""

    who: Who
    place: tuple[str, str]
    question: str
    filters: tuple[Filter, ...] = ()
    top_k: int = 5
    selection: str = ""  # what surfaces about selected text are given
    selected_from: str = ""  # the path of a page, which may be anybody's, and is said with the selection alone

    @property
    def is_deep(self) -> bool:
        return self.top_k >= DEEP

    @property
    def is_refusable(self) -> bool:
        """Whether it asks for what nobody may: a filter on access rules."""
        return any(one.field == "access" for one in self.filters)

    @property
    def said(self) -> frozenset[str]:
        """The marks that the asker named himself, whatever is asked: to repeat them is no news."""
        return frozenset(marks_in(" ".join((self.question, *map(str, self.filters)))))


@dataclass(frozen=True, slots=True)
class Shown:
    """All that a surface let out, as text, and the numbers in it where they could be told."""

    text: str
    total: int | None = None  # candidates, as the surface counts them
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of every candidate named, by ranking
    scores: tuple[tuple[str, float], ...] = ()  # chunk and score, in order
    is_refused: bool = False  # an error was shown instead


@dataclass(frozen=True, slots=True)
class Holdings:
    """The ids that a library gave to each page: read from its store, whoever may see them."""

    documents: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    chunks: Mapping[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict)
    ever: frozenset[str] = frozenset()  # every id of either kind that there ever was

    def ids(self, page: Page) -> frozenset[str]:
        key = (*page.place, page.path)
        return frozenset((self.documents.get(key, ""), *self.chunks.get(key, ())))


@dataclass(frozen=True, slots=True)
class State:
    """A world, and the library that was made of it."""

    world: World
    holdings: Holdings


@dataclass(frozen=True, slots=True)
class Sight:
    """What one asker may be shown: nothing else may appear, and no count may be higher."""

    marks: frozenset[str]
    ids: frozenset[str]
    known_ids: frozenset[str]
    candidates: int  # chunks that the asker may see and the filters leave
    is_current: bool  # whether the index has heard of everything: counts are exact then, else only bounded
    is_refusable: bool = False  # whether an error is a proper answer


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that was not for the one who got it, with what it takes to see it again."""

    surface: str
    kind: str  # text, id, count, rank or wall
    what: str
    asking: Asking
    phase: str
    round: int


@dataclass(frozen=True, slots=True)
class LeakReport:
    """What the suite did and found. It passes if nothing leaked, and nothing was missing either."""

    rounds: int
    seed: int
    principals: int
    documents: int
    questions: int
    surfaces: Mapping[str, int]  # how often each was asked
    leaks: tuple[Leak, ...] = ()
    missing: tuple[Leak, ...] = ()  # fewer candidates than the asker may see: a blind suite would find no leak

    @property
    def is_tight(self) -> bool:
        return not self.leaks and not self.missing


def sight_of(asking: Asking, now: State, *, before: State | None = None) -> Sight:
    """The oracle: what this asker may be shown of the library.

    `before` is what an index that lags behind still believes. Texts and ids are as they are now all the same; a
    number may still count what the asker could see a moment ago, since only the head of a ranking is read and checked.
    """
    seen = _seen(asking, now)
    counted = {id_ for state in (now, before) if state for id_ in _candidates(asking, state)}
    return Sight(
        marks=frozenset(mark for page in seen for mark in page.marks) | asking.said,
        ids=frozenset(id_ for page in seen for id_ in now.holdings.ids(page)),
        known_ids=now.holdings.ever,
        candidates=len(counted),
        is_current=before is None,
        is_refusable=asking.is_refusable,
    )


def _seen(asking: Asking, state: State) -> list[Page]:
    return [page for page in state.world.of(asking.place) if may_see(asking.who, page)]


def _candidates(asking: Asking, state: State) -> Iterator[str]:
    for page in _seen(asking, state):
        if all(one.holds(page) for one in asking.filters):
            yield from state.holdings.chunks[(*page.place, page.path)]


def sight_of_selection(asking: Asking, holdings: Holdings) -> Sight:
    """Of the library, nothing: not even the owner's answer about a selection may rest on it."""
    marks = asking.said | frozenset(marks_in(f"{asking.selection} {asking.selected_from}"))
    return Sight(marks, frozenset(), holdings.ever, candidates=1, is_current=False, is_refusable=asking.is_refusable)


def judged(shown: Shown, sight: Sight, *, is_deep: bool) -> Iterator[tuple[str, str]]:
    """Each leak as its kind and what it is; `missing` is the kind of what should have been there."""
    for mark in sorted(set(marks_in(shown.text))):
        if not any(known.startswith(mark) for known in sight.marks):
            yield "text", f"{mark!r} in {_around(shown.text, mark)}"
    for id_ in sorted(set(_ID.findall(shown.text)) & (sight.known_ids - sight.ids)):
        yield "id", f"{id_} in {_around(shown.text, id_)}"
    if shown.is_refused and not sight.is_refusable:
        yield "missing", f"an error instead of an answer: {shown.text[:200]!r}"
    yield from _counted(shown, sight)
    yield from _ranked(shown, sight, is_deep=is_deep)


def _counted(shown: Shown, sight: Sight) -> Iterator[tuple[str, str]]:
    if shown.total is None:
        return
    if shown.total > sight.candidates:
        yield "count", f"{shown.total} candidates are counted, {sight.candidates} may be seen"
    if sight.is_current and shown.total < min(sight.candidates, MIN_LIMIT):
        yield "missing", f"{shown.total} candidates are counted, {sight.candidates} may be seen"


def _ranked(shown: Shown, sight: Sight, *, is_deep: bool) -> Iterator[tuple[str, str]]:
    """A place in a ranking tells how many stand before it; a gap tells that somebody does."""
    for arm, ranks in shown.ranks.items():
        if max(ranks, default=0) > sight.candidates:
            yield "rank", f"place {max(ranks)} by {arm}, where {sight.candidates} may be seen"
        elif is_deep and sorted(ranks) != list(range(1, len(ranks) + 1)):
            yield "rank", f"places {sorted(ranks)} by {arm} leave a gap"


def _around(text: str, found: str) -> str:
    at = text.lower().find(found)
    return repr(text[max(0, at - 60) : at + len(found) + 20])


class Asker:
    """Draws questions: about what all pages share, and about what only one of them has."""

    def __init__(self, draw: Random, maker: Maker, world: World) -> None:
        self._draw = draw
        self._maker = maker
        self._world = world

    def asking(self) -> Asking:
        place = self._draw.choice(self._world.pages).place  # as often as there is something to find
        thing, _, topic = self._maker.theme()
        return Asking(
            self._maker.who(),
            place,
            self._question(place),
            self._filters(place),
            top_k=self._draw.choice((1, 5, 20, DEEP, DEEP)),
            selection=f"The {thing} {self._maker.mark()} leaves at noon. Every {topic} is written down.",
            selected_from=self._draw.choice(("", *(page.path for page in self._draw.choices(self._world.pages, k=3)))),
        )

    def _question(self, place: tuple[str, str]) -> str:
        thing, deed, topic = self._maker.theme()
        mark = self._mark(place)
        return self._draw.choice(
            (
                f"When does the {thing} meet the {topic}?",
                f"What {deed} the {topic} at noon?",
                f"What does the {thing} {mark} do?",
                f"{mark}",
                f"Who keeps {mark}, and what {deed} the {topic}?",
                _FAR,
            )
        )

    def _mark(self, place: tuple[str, str]) -> str:
        """Of any page: as a rule of one in the same place, so that only the access rule stands before it."""
        near = self._draw.random() < 0.8
        page = self._draw.choice(self._world.of(place) if near else self._world.pages)
        return self._draw.choice(sorted(page.marks))

    def _filters(self, place: tuple[str, str]) -> tuple[Filter, ...]:
        page = self._draw.choice(self._world.of(place))
        level = str(self._draw.choice(LEVELS))
        return self._draw.choice(
            (
                (),
                (),
                (),
                (Filter("document", "=", page.path),),
                (Filter("tags", "=", page.tags[-1]),),
                (Filter("tags", "=", self._draw.choice(TAGS)), Filter("metadata.level", ">=", level)),
                (Filter("metadata.level", "<=", level),),
                (Filter("metadata.level", "=", level),),
                (Filter("metadata.keeper", "=", page.keeper),),
                (Filter("access", "=", min(page.rules)),),
            )
        )
