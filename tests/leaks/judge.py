"""What a reader asked, what a surface showed, and whether any of it was not for that reader."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from citewise.model.access import OWNER, Principal, Scope
from tests.leaks.world import LEVELS, TAGS, Page, Reader, World, WorldMaker, markers_in, may_read

EXACT_UP_TO = 60  # chunks that every ranking returns at least; up to here counts are exact
DEEP = 200  # a top_k that shows everything the reader may see

_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
_OFF_TOPIC = "Which opera did the violinist rehearse in Vienna?"  # nothing answers it: a refusal, with suggestions


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of a request, which can also be checked against a page."""

    field: str  # document, tags, metadata.level, metadata.keeper; access, which no reader may filter on
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{self.value}"

    def matches(self, page: Page) -> bool:
        if self.field == "metadata.level":
            level = int(self.value)
            return {">=": page.level >= level, "<=": page.level <= level}.get(self.operator, page.level == level)
        values = {"document": (page.path,), "tags": page.tags, "metadata.keeper": (page.keeper,), "access": page.rules}
        return self.value in values[self.field]


@dataclass(frozen=True, slots=True)
class Request:
    """One question of one reader in one scope."""

    reader: Reader
    scope: Scope
    question: str
    filters: tuple[Filter, ...] = ()
    top_k: int = 5
    selection: str = ""  # the text given to surfaces about selected text
    selected_from: str = ""  # path of any page, sent with the selection only

    @property
    def principal(self) -> Principal:
        return OWNER if self.reader.is_owner else Principal(self.reader.user, self.reader.groups)

    @property
    def is_deep(self) -> bool:
        return self.top_k >= DEEP

    @property
    def may_fail(self) -> bool:
        """Whether an error is a proper reply: the request filters on access rules."""
        return any(condition.field == "access" for condition in self.filters)

    @property
    def markers(self) -> frozenset[str]:
        """Markers that the reader wrote himself: repeating them reveals nothing."""
        return frozenset(markers_in(" ".join((self.question, *map(str, self.filters)))))


@dataclass(frozen=True, slots=True)
class Output:
    """All that a surface showed, as text, and the numbers in it where they are known."""

    text: str
    total: int | None = None  # candidates, as the surface counts them
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of every candidate shown, by ranking
    scores: tuple[tuple[str, float], ...] = ()  # chunk and score, in order
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class StoredIds:
    """The ids that a library gave to each page, read from its store."""

    documents: Mapping[tuple[Scope, str], str] = field(default_factory=dict)
    chunks: Mapping[tuple[Scope, str], tuple[str, ...]] = field(default_factory=dict)
    ever: frozenset[str] = frozenset()  # every id of either kind that ever existed

    def of(self, page: Page) -> frozenset[str]:
        key = (page.scope, page.path)
        return frozenset((self.documents.get(key, ""), *self.chunks.get(key, ())))


@dataclass(frozen=True, slots=True)
class State:
    """A world, and the ids of the library made from it."""

    world: World
    ids: StoredIds


@dataclass(frozen=True, slots=True)
class Allowed:
    """What one reader may be shown: nothing else may appear, and no count may be higher."""

    markers: frozenset[str]
    ids: frozenset[str]
    known_ids: frozenset[str]
    candidates: int  # chunks that the reader may see and the filters leave
    is_current: bool  # whether the index has every change: counts are exact then, else only bounded
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing shown to a reader who may not see it, with what it takes to reproduce it."""

    surface: str
    kind: str  # text, id, count, rank or isolation; missing: less than the reader may see
    what: str
    request: Request
    phase: str
    round: int

    def __str__(self) -> str:
        request = self.request
        asked = " ".join((repr(request.question), *map(str, request.filters)))
        return (
            f"{self.kind} on {self.surface}, to {request.reader} in {request.scope}, round {self.round}, {self.phase}: "
            f"{self.what}; asked {asked} top_k {request.top_k}"
        )


@dataclass(frozen=True, slots=True)
class LeakReport:
    """What the suite did and found."""

    readers: int
    documents: int
    surfaces: Mapping[str, int]  # how often each was asked
    leaks: tuple[Leak, ...] = ()
    missing: tuple[Leak, ...] = ()  # fewer candidates than allowed: a search that finds nothing leaks nothing


def allowed_in_library(request: Request, now: State, *, before: State | None = None) -> Allowed:
    """What this reader may be shown of the library.

    `before` is the state that a lagging index still has. Texts and ids must be current all the same. A count may
    still include what the reader could see before, since only the top of a ranking is read and checked.
    """
    visible = _visible(request, now)
    candidates = {id_ for state in (now, before) if state for id_ in _candidates(request, state)}
    return Allowed(
        markers=frozenset(marker for page in visible for marker in page.markers) | request.markers,
        ids=frozenset(id_ for page in visible for id_ in now.ids.of(page)),
        known_ids=now.ids.ever,
        candidates=len(candidates),
        is_current=before is None,
        may_fail=request.may_fail,
    )


def allowed_in_selection(request: Request, ids: StoredIds) -> Allowed:
    """Nothing of the library: not even the owner's answer about a selection may use it."""
    markers = request.markers | frozenset(markers_in(f"{request.selection} {request.selected_from}"))
    return Allowed(markers, frozenset(), ids.ever, candidates=1, is_current=False, may_fail=request.may_fail)


def violations(output: Output, allowed: Allowed, *, is_deep: bool) -> Iterator[tuple[str, str]]:
    """Kind and description of each leak; the kind is `missing` for what should have been shown."""
    for marker in sorted(set(markers_in(output.text))):
        if not any(known.startswith(marker) for known in allowed.markers):
            yield "text", f"{marker!r} in {_around(output.text, marker)}"
    for id_ in sorted(set(_ID.findall(output.text)) & (allowed.known_ids - allowed.ids)):
        yield "id", f"{id_} in {_around(output.text, id_)}"
    if output.is_error and not allowed.may_fail:
        yield "missing", f"an error instead of an answer: {output.text[:200]!r}"
    if output.total is not None:
        counts = f"{output.total} candidates are counted, {allowed.candidates} may be seen"
        if output.total > allowed.candidates:
            yield "count", counts
        if allowed.is_current and output.total < min(allowed.candidates, EXACT_UP_TO):
            yield "missing", counts
    yield from _rank_violations(output, allowed, is_deep=is_deep)


def _rank_violations(output: Output, allowed: Allowed, *, is_deep: bool) -> Iterator[tuple[str, str]]:
    """A rank tells how many candidates come before it; a gap tells that there is a hidden one."""
    for name, ranks in output.ranks.items():
        if max(ranks, default=0) > allowed.candidates:
            yield "rank", f"rank {max(ranks)} by {name}, where {allowed.candidates} may be seen"
        elif is_deep and sorted(ranks) != list(range(1, len(ranks) + 1)):
            yield "rank", f"ranks {sorted(ranks)} by {name} leave a gap"


def _visible(request: Request, state: State) -> list[Page]:
    return [page for page in state.world.of(request.scope) if may_read(request.reader, page)]


def _candidates(request: Request, state: State) -> Iterator[str]:
    for page in _visible(request, state):
        if all(condition.matches(page) for condition in request.filters):
            yield from state.ids.chunks[(page.scope, page.path)]


def _around(text: str, found: str) -> str:
    start = text.lower().find(found)
    return repr(text[max(0, start - 60) : start + len(found) + 20])


class RequestMaker:
    """Draws requests: about what all pages share, and about what only one of them has."""

    def __init__(self, draw: Random, maker: WorldMaker, world: World) -> None:
        self._draw = draw
        self._maker = maker
        self._world = world

    def request(self) -> Request:
        scope = self._draw.choice(self._world.pages).scope  # as often as there is something to find
        thing, _, topic = self._maker.theme()
        return Request(
            self._maker.reader(),
            scope,
            self._question(scope),
            self._filters(scope),
            top_k=self._draw.choice((1, 5, 20, DEEP, DEEP)),
            selection=f"The {thing} {self._maker.marker()} leaves at noon. Every {topic} is written down.",
            selected_from=self._draw.choice(("", *(page.path for page in self._draw.choices(self._world.pages, k=3)))),
        )

    def _question(self, scope: Scope) -> str:
        thing, action, topic = self._maker.theme()
        is_near = self._draw.random() < 0.8  # mostly the same scope, so that only the access rule protects it
        page = self._draw.choice(self._world.of(scope) if is_near else self._world.pages)
        marker = self._draw.choice(sorted(page.markers))
        return self._draw.choice(
            (
                f"When does the {thing} meet the {topic}?",
                f"What {action} the {topic} at noon?",
                f"What does the {thing} {marker} do?",
                f"{marker}",
                f"Who keeps {marker}, and what {action} the {topic}?",
                _OFF_TOPIC,
            )
        )

    def _filters(self, scope: Scope) -> tuple[Filter, ...]:
        page = self._draw.choice(self._world.of(scope))
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
