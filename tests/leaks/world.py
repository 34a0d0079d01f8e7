"""Random documents, readers and access rules for the leak suite, and a second statement of who may read what.

The rule is written here again over plain strings, so that a mistake in citewise's own rule cannot hide itself. Every
document carries markers, words that occur nowhere else, in each of its parts. All other words are shared, so that
every document is a candidate for every question.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from citewise.model.access import Scope

# Names that are prefixes of each other, and words of the rule language itself: what a careless comparison confuses.
USERS = ("ann", "an", "ann.b", "ops", "public")
GROUPS = ("ops", "ann", "crew", "project")
SCOPES = tuple(
    Scope(tenant, project)
    for tenant, project in (("acme", "book"), ("acme", "book-2"), ("acme-book", "2"), ("zed", "book"), ("zed", "acme"))
)
RULES = ("public", "project", *(f"owner:{name}" for name in USERS), *(f"group:{name}" for name in GROUPS))
NOBODY = "owner:nobody.here"  # a rule that no reader satisfies
# Wide rules are drawn more often: many readers then see much, and a change of rules takes much away.
DRAWN_RULES = (*("public",) * 3, *("project",) * 4, *RULES[2:], NOBODY)

THINGS = ("gauge", "ferry", "beacon", "winch", "buoy", "pump", "quay", "lantern")
ACTIONS = ("measures", "carries", "warns", "lifts", "guards", "drains", "signals", "steers")
TOPICS = ("tide", "wind", "cargo", "fog", "current", "harbor", "storm", "crew")
TAGS = ("sea", "land", "night")
SYLLABLES = ("ba", "do", "fe", "gu", "hi", "ka", "lo", "me", "nu", "pi", "ro", "sa", "tu", "vi", "wa", "ye")
PREFIX = "zq"  # every marker starts with it, and no other word does
LEVELS = (1, 2, 3, 4)
# Documents of each scope, minimum and maximum. The first is so large that a small search reads less than half of it,
# and small enough for a ranking to return all of its chunks.
SIZES = ((18, 24), (4, 7), (3, 5))


class RuleSource(StrEnum):
    """Where a document's access rule is stated."""

    FRONTMATTER = "frontmatter"
    ARGUMENT = "argument of ingest"
    SETTINGS = "settings, by path"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its text, with a marker in each part that could be shown."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """One document: where it is, who may read it, and its content."""

    scope: Scope
    path: str
    rules: frozenset[str]
    rule_source: RuleSource
    title: str
    tags: tuple[str, ...]
    level: int
    keeper: str
    sections: tuple[Section, ...]
    is_mounted: bool = False  # in a source of its own, whose name its path starts with

    @property
    def text(self) -> str:
        """The Markdown file."""
        in_frontmatter = self.rule_source is RuleSource.FRONTMATTER
        access = f"access: [{', '.join(sorted(self.rules))}]\n" if in_frontmatter else ""
        front = (
            f"---\ntitle: {self.title}\ntags: [{', '.join(self.tags)}]\nlevel: {self.level}\n"
            f"keeper: {self.keeper}\n{access}---\n"
        )
        return front + "".join(f"\n## {section.heading}\n\n{section.text}\n" for section in self.sections)

    @property
    def markers(self) -> frozenset[str]:
        return frozenset(markers_in(f"{self.path} {self.text}"))


@dataclass(frozen=True, slots=True)
class World:
    """Every page of every scope."""

    pages: tuple[Page, ...]

    def of(self, scope: Scope) -> tuple[Page, ...]:
        return tuple(page for page in self.pages if page.scope == scope)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return tuple(dict.fromkeys(page.scope for page in self.pages))


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who asks."""

    user: str | None
    groups: frozenset[str]
    is_owner: bool = False

    @property
    def is_anonymous(self) -> bool:
        return self.user is None and not self.groups and not self.is_owner

    def __str__(self) -> str:
        if self.is_owner:
            return "the owner"
        names = [*([f"user {self.user}"] if self.user else []), *(f"group {group}" for group in sorted(self.groups))]
        return ", ".join(names) or "an anonymous reader"


def may_read(reader: Reader, page: Page) -> bool:
    """The whole rule, inside the page's own scope."""
    if reader.is_owner or "public" in page.rules:
        return True
    if "project" in page.rules and (reader.user is not None or reader.groups):
        return True
    if reader.user is not None and f"owner:{reader.user}" in page.rules:
        return True
    return any(f"group:{group}" in page.rules for group in reader.groups)


def markers_in(text: str) -> Iterator[str]:
    """Every marker, and every start of one: an ellipsis may have cut it short."""
    lowered = text.lower()
    start = lowered.find(PREFIX)
    while start >= 0:
        end = start
        while end < len(lowered) and "a" <= lowered[end] <= "z":
            end += 1
        yield lowered[start:end]
        start = lowered.find(PREFIX, end)


class WorldMaker:
    """Draws worlds; the same seed gives the same worlds."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._used: set[str] = set()

    def world(self) -> World:
        scopes = self._draw.sample(SCOPES, len(SIZES))
        sized = zip(scopes, (self._draw.randint(*size) for size in SIZES), strict=True)
        pages = [self.page(scope) for scope, size in sized for _ in range(size)]
        return World(tuple(self._with_copies(pages)))

    def changed(self, world: World) -> World:
        """Some pages get other rules, some are removed, some added, some rewritten."""
        pages = []
        for page in world.pages:
            chance = self._draw.random()
            if chance < 0.15:
                continue
            if chance < 0.55:
                page = self._with_other_rules(page)
            elif chance < 0.65:
                page = replace(page, sections=tuple(self._section() for _ in page.sections))
            pages.append(page)
        return World((*pages, *(self.page(scope) for scope in world.scopes)))

    def reader(self) -> Reader:
        chance = self._draw.random()
        if chance < 0.3:
            return Reader(None, frozenset(), is_owner=chance < 0.15)
        groups = frozenset(self._draw.sample(GROUPS, self._draw.randint(0, 2)))
        user = self._draw.choice((None, *USERS)) if groups else self._draw.choice(USERS)
        return Reader(user, groups)

    def page(self, scope: Scope) -> Page:
        rules = self._rules()
        source = self._draw.choice((*(RuleSource.FRONTMATTER,) * 3, RuleSource.SETTINGS, RuleSource.ARGUMENT))
        if source is RuleSource.SETTINGS:
            rules = frozenset(sorted(rules)[:1])
        page = Page(
            scope,
            path=f"{self.marker()}.md",
            rules=rules,
            rule_source=source,
            title=f"The {self._draw.choice(THINGS)} {self.marker()}",
            tags=(self._draw.choice(TAGS), self.marker()),
            level=self._draw.choice(LEVELS),
            keeper=self.marker(),
            sections=tuple(self._section() for _ in range(self._draw.randint(1, 3))),
        )
        if source is not RuleSource.SETTINGS:
            return page
        return replace(page, path=f"{folder_for(rules)}/{page.path}", is_mounted=self._draw.random() < 0.5)

    def marker(self) -> str:
        """A new word that can be pronounced: a random string would be masked as a secret."""
        while True:
            word = PREFIX + "".join(self._draw.choices(SYLLABLES, k=4))
            if word not in self._used:
                self._used.add(word)
                return word

    def theme(self) -> tuple[str, str, str]:
        return self._draw.choice(THINGS), self._draw.choice(ACTIONS), self._draw.choice(TOPICS)

    def _section(self) -> Section:
        thing, action, topic = self.theme()
        other, other_action, other_topic = self.theme()
        return Section(
            f"{topic.capitalize()} and {thing} {self.marker()}",
            f"The {thing} {self.marker()} {action} the {topic} at {self._draw.randint(1, 12)} o'clock. "
            f"Every {other} {other_action} the {other_topic}. "
            f"If the {other} {self.marker()} is late, then somebody {action} the {other_topic} by hand.",
        )

    def _rules(self) -> frozenset[str]:
        return frozenset(self._draw.choices(DRAWN_RULES, k=self._draw.randint(1, 2)))

    def _with_other_rules(self, page: Page) -> Page:
        """The same page for other readers; where the path decided, the frontmatter now overrides it."""
        if page.is_mounted:  # a pattern that covers the name of its source goes on narrowing
            return page
        by_path = page.rule_source is RuleSource.SETTINGS
        return replace(page, rules=self._rules(), rule_source=RuleSource.FRONTMATTER if by_path else page.rule_source)

    def _with_copies(self, pages: list[Page]) -> Iterator[Page]:
        """Some pages repeat another page's text under their own rule; some share a path with one in another scope."""
        taken = {(page.scope, page.path) for page in pages}
        for page in pages:
            other, chance = self._draw.choice(pages), self._draw.random()
            # A later copy of a closed page is closed when that page is gone, unless somebody widened just this copy.
            if chance < 0.2 and page.rule_source is not RuleSource.SETTINGS:
                page = replace(page, sections=other.sections)
            elif chance < 0.4 and "/" not in page.path + other.path and (page.scope, other.path) not in taken:
                page = replace(page, path=other.path)
                taken.add((page.scope, page.path))
            yield page


def folder_for(rules: frozenset[str]) -> str:
    """The folder of pages whose path decides who may read them."""
    return f"for-{'-'.join(sorted(rules)).replace(':', '-')}"


def access_by_path() -> Mapping[str, tuple[str, ...]]:
    """The setting for those folders."""
    return {f"{folder_for(frozenset({rule}))}/": (rule,) for rule in (*RULES, NOBODY)}
