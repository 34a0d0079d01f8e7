"""A made-up world for the leak suite: who there is, what is written for whom, and who may see what.

The rule stands here a second time, in plain words over plain strings, so that the product's own cannot excuse itself.
Every document carries marks, words that stand nowhere else, in all of its parts; everything else is vocabulary that
all of them share, so that each is a candidate for every question.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

# Names that are one another's beginnings, and words of the rules themselves: what a careless comparison mixes up.
USERS = ("ann", "an", "ann.b", "ops", "public")
GROUPS = ("ops", "ann", "crew", "project")
PLACES = (("acme", "book"), ("acme", "book-2"), ("acme-book", "2"), ("zed", "book"), ("zed", "acme"))
RULES = ("public", "project", *(f"owner:{name}" for name in USERS), *(f"group:{name}" for name in GROUPS))
NOBODY = "owner:nobody.here"  # a rule that no principal of the world fits
# As often as they are drawn: wide rules often, so that many see much, and there is much to be taken from them.
DRAWN = (*("public",) * 3, *("project",) * 4, *RULES[2:], NOBODY)

THINGS = ("gauge", "ferry", "beacon", "winch", "buoy", "pump", "quay", "lantern")
DEEDS = ("measures", "carries", "warns", "lifts", "guards", "drains", "signals", "steers")
TOPICS = ("tide", "wind", "cargo", "fog", "current", "harbor", "storm", "crew")
TAGS = ("sea", "land", "night")
SYLLABLES = ("ba", "do", "fe", "gu", "hi", "ka", "lo", "me", "nu", "pi", "ro", "sa", "tu", "vi", "wa", "ye")
MARK = "zq"  # every mark begins so, and no other word does
LEVELS = (1, 2, 3, 4)
# Documents of each place, at least and at most: one so large that a small search reads not even half of it, and none
# so large that a ranking could not give all of its chunks.
SIZES = ((18, 24), (4, 7), (3, 5))


class Way(StrEnum):
    """How a document's rule is said."""

    FRONTMATTER = "frontmatter"
    SAID = "said"  # when it is ingested
    BY_PATH = "by path"  # in the settings


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and some sentences under it, with a mark in each part that could be shown."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """One document: where it is, who may read it, and what stands in it."""

    tenant: str
    project: str
    path: str
    rules: frozenset[str]
    way: Way
    title: str
    tags: tuple[str, ...]
    level: int
    keeper: str
    sections: tuple[Section, ...]

    @property
    def place(self) -> tuple[str, str]:
        return self.tenant, self.project

    @property
    def text(self) -> str:
        """The file, as an author would write it."""
        access = f"access: [{', '.join(sorted(self.rules))}]\n" if self.way is Way.FRONTMATTER else ""
        front = (
            f"---\ntitle: {self.title}\ntags: [{', '.join(self.tags)}]\nlevel: {self.level}\n"
            f"keeper: {self.keeper}\n{access}---\n"
        )
        return front + "".join(f"\n## {one.heading}\n\n{one.text}\n" for one in self.sections)

    @property
    def marks(self) -> frozenset[str]:
        return frozenset(marks_in(f"{self.path} {self.text}"))


@dataclass(frozen=True, slots=True)
class World:
    """Every page of every place."""

    pages: tuple[Page, ...]

    def of(self, place: tuple[str, str]) -> tuple[Page, ...]:
        return tuple(page for page in self.pages if page.place == place)

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return tuple(dict.fromkeys(page.place for page in self.pages))


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody who asks."""

    user: str | None
    groups: frozenset[str]
    is_owner: bool = False

    def __str__(self) -> str:
        if self.is_owner:
            return "the owner"
        named = [*([f"user {self.user}"] if self.user else []), *(f"group {one}" for one in sorted(self.groups))]
        return ", ".join(named) or "a stranger"


def may_see(who: Who, page: Page) -> bool:
    """The whole rule, inside the page's own place."""
    if who.is_owner or "public" in page.rules:
        return True
    if "project" in page.rules and (who.user is not None or who.groups):
        return True
    if who.user is not None and f"owner:{who.user}" in page.rules:
        return True
    return any(f"group:{group}" in page.rules for group in who.groups)


def marks_in(text: str) -> Iterator[str]:
    """Every mark, and every part of one that begins as marks do; an ellipsis may have cut it short."""
    lowered = text.lower()
    at = lowered.find(MARK)
    while at >= 0:
        end = at
        while end < len(lowered) and "a" <= lowered[end] <= "z":
            end += 1
        yield lowered[at:end]
        at = lowered.find(MARK, end)


class Maker:
    """Draws worlds: the same ones for the same seed."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._made: set[str] = set()

    def world(self) -> World:
        places = self._draw.sample(PLACES, len(SIZES))
        sized = zip(places, (self._draw.randint(*size) for size in SIZES), strict=True)
        pages = [self.page(place) for place, size in sized for _ in range(size)]
        return World(tuple(self._with_copies(pages)))

    def changed(self, world: World) -> World:
        """Some pages get other rules, some go, some come, some are written anew."""
        pages = []
        for page in world.pages:
            fate = self._draw.random()
            if fate < 0.15:
                continue
            if fate < 0.55:
                page = self._with_other_rules(page)
            elif fate < 0.65:
                page = replace(page, sections=tuple(self._section() for _ in page.sections))
            pages.append(page)
        return World((*pages, *(self.page(place) for place in world.places)))

    def who(self) -> Who:
        chance = self._draw.random()
        if chance < 0.3:
            return Who(None, frozenset(), is_owner=chance < 0.15)
        groups = frozenset(self._draw.sample(GROUPS, self._draw.randint(0, 2)))
        user = self._draw.choice((None, *USERS)) if groups else self._draw.choice(USERS)
        return Who(user, groups)

    def page(self, place: tuple[str, str]) -> Page:
        rules = self._rules()
        way = self._draw.choice((*(Way.FRONTMATTER,) * 3, Way.BY_PATH, Way.SAID))  # what is said takes a run of its own
        if way is Way.BY_PATH:
            rules = frozenset(sorted(rules)[:1])
        page = Page(
            *place,
            path=f"{self.mark()}.md",
            rules=rules,
            way=way,
            title=f"The {self._draw.choice(THINGS)} {self.mark()}",
            tags=(self._draw.choice(TAGS), self.mark()),
            level=self._draw.choice(LEVELS),
            keeper=self.mark(),
            sections=tuple(self._section() for _ in range(self._draw.randint(1, 3))),
        )
        return replace(page, path=f"{folder_for(rules)}/{page.path}") if way is Way.BY_PATH else page

    def mark(self) -> str:
        """A word that stands nowhere else, and can be pronounced: a random string would be masked as a secret."""
        while True:
            word = MARK + "".join(self._draw.choices(SYLLABLES, k=4))
            if word not in self._made:
                self._made.add(word)
                return word

    def _section(self) -> Section:
        thing, deed, topic = self.theme()
        other, deed_2, topic_2 = self.theme()
        return Section(
            f"{topic.capitalize()} and {thing} {self.mark()}",
            f"The {thing} {self.mark()} {deed} the {topic} at {self._draw.randint(1, 12)} o'clock. "
            f"Every {other} {deed_2} the {topic_2}. "
            f"If the {other} {self.mark()} is late, then somebody {deed} the {topic_2} by hand.",
        )

    def _rules(self) -> frozenset[str]:
        return frozenset(self._draw.choices(DRAWN, k=self._draw.randint(1, 2)))

    def theme(self) -> tuple[str, str, str]:
        return self._draw.choice(THINGS), self._draw.choice(DEEDS), self._draw.choice(TOPICS)

    def _with_other_rules(self, page: Page) -> Page:
        """The same page for others; where the path says for whom, it keeps its path and the frontmatter wins."""
        return replace(page, rules=self._rules(), way=Way.FRONTMATTER if page.way is Way.BY_PATH else page.way)

    def _with_copies(self, pages: list[Page]) -> Iterator[Page]:
        """Some say, under their own name and rule, just what another says; some have the name of one elsewhere."""
        taken = {(*page.place, page.path) for page in pages}
        for page in pages:
            other, chance = self._draw.choice(pages), self._draw.random()
            if chance < 0.2:
                page = replace(page, sections=other.sections)
            elif chance < 0.4 and "/" not in page.path + other.path and (*page.place, other.path) not in taken:
                page = replace(page, path=other.path)
                taken.add((*page.place, page.path))
            yield page


def folder_for(rules: frozenset[str]) -> str:
    """Where pages stand whose path says who may read them."""
    return f"for-{'-'.join(sorted(rules)).replace(':', '-')}"


def rules_by_path() -> Mapping[str, tuple[str, ...]]:
    """The setting that goes with those folders."""
    return {f"{folder_for(frozenset({rule}))}/": (rule,) for rule in (*RULES, NOBODY)}
