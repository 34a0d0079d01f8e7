"""What a document's path says about it: module, chapter, corpus and content type, by rules that can be configured."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from citewise.errors import Misconfigured
from citewise.model.access import Access, Scope
from citewise.model.ids import Digest, DocumentId

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    ITEM = "list_item"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"
    ADMONITION = "admonition"
    MATH = "math"
    HTML = "html"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a text file, counted from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages of a printed document, counted from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages of a conversation, counted from 1, with the author and the time of the first."""

    first: int
    last: int
    channel: str | None = None
    author: str | None = None
    sent_at: float | None = None  # seconds since 1970


Location: TypeAlias = Lines | Pages | Messages


def spanning(locations: Sequence[Location]) -> Location:
    """From the first to the last of several locations in one document."""
    start = min(locations, key=lambda location: location.first)
    return replace(start, last=max(location.last for location in locations))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as the page shows it: plain title, and the anchor its URL ends in."""

    level: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a document that belongs together. `children` say where it may be cut, if it must be."""

    kind: BlockKind
    text: str
    location: Location
    children: tuple["Block", ...] = ()
    heading: Heading | None = None
    language: str | None = None


class BlockSpan(NamedTuple):
    """A block of a chunk: its kind, and where it begins and ends in the chunk's text, in characters.

    Spans come in order and do not overlap, and every word of the text is in one. Of nested blocks only the innermost
    are listed: a list item that holds a code block is a list item, then a code block. An admonition is its first line,
    with the title; what stands inside it follows as blocks of their own. No span is a list or a rule.
    """

    kind: BlockKind
    start: int
    end: int
    language: str | None = None  # of code
    depth: int = 0  # of a list item, from 1; of what stands inside one, the item's


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a file says about itself before its body; absent values are None or empty."""

    title: str | None = None
    description: str | None = None
    slug: str | None = None
    id: str | None = None
    sidebar_label: str | None = None
    sidebar_position: float | None = None
    tags: tuple[str, ...] = ()
    learning_objectives: tuple[str, ...] = ()
    access: tuple[str, ...] = ()  # rules as in Access.of; empty: the source's configuration decides
    other: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file, understood."""

    front: FrontMatter
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a stored document was made of; equal stamps mean that making it again would change nothing."""

    source: Digest  # of the file's bytes
    recipe: Digest  # of parser, chunker, masking and path rules
    origin: Digest  # of what the caller said about it: access, corpus type


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What a library remembers of a document: which source it is of, what it was made of, how many chunks it has."""

    mount: str
    stamp: Stamp
    chunks: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file as the library knows it. `text` is what was read, with secrets masked."""

    id: DocumentId
    scope: Scope
    path: str
    mount: str  # which source it came from
    title: str
    description: str
    tags: tuple[str, ...]
    module: str
    chapter: str
    corpus_type: str
    content_type: str
    metadata: Mapping[str, Json]  # the rest of the frontmatter: slug, id, sidebar_label, unknown keys
    access: Access
    stamp: Stamp
    text: str
    blocks: tuple[Block, ...] = ()  # of the text: what a chunker cuts, so that cutting again needs no parser
    media_type: str = "text/markdown"
    chapter_number: int | None = None
    chapter_title: str | None = None
    source_uri: str | None = None  # where the original can be found
    created_at: float | None = None  # seconds since 1970 when it was first stored; None before that


@dataclass(frozen=True, slots=True)
class Title:
    """A document's title; `is_given` is false where only its path could name it."""

    text: str
    is_given: bool


def title_of(parsed: Parsed, path: str) -> Title:
    """Frontmatter first, then the first H1, then the path (I3)."""
    if parsed.front.title:
        return Title(parsed.front.title, is_given=True)
    for block in parsed.blocks:
        if block.kind is BlockKind.HEADING and block.heading and block.heading.level == 1 and block.heading.title:
            return Title(block.heading.title, is_given=True)
    return Title(_title_from_path(path), is_given=False)


def _title_from_path(path: str) -> str:
    file = PurePosixPath(path)
    name = file.parent.name if file.stem.lower() in ("index", "readme") and file.parent.name else file.stem
    words = name.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:] if words else path


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A registered source: documents from `root` carry paths that start with `mount` (often empty)."""

    mount: str
    root: str  # relative to the library folder, so that moving both together changes nothing
    access: tuple[tuple[str, tuple[str, ...]], ...] = ()  # part (empty: all) -> the rule it was last given
    kind: str = "folder"

    def with_rule(self, rule: tuple[str, ...], parts: Iterable[str]) -> "SourceRef":
        """The source once these parts were given a rule: it holds until another is said, also for what is below."""
        given = sorted(parts)
        kept = [(part, old) for part, old in self.access if not any(_covers(each, part) for each in given)]
        return replace(self, access=(*kept, *((part, rule) for part in given)))

    def rule_for(self, path: str) -> tuple[str, ...]:
        """The rule of the innermost part that holds the path; empty where none was ever said."""
        rules = dict(self.access)
        above = sorted({"", *(each.rstrip("/") for each in at_or_above(path))}, key=len, reverse=True)
        return next((rules[part] for part in above if part in rules), ())


def _covers(part: str, other: str) -> bool:
    return not part or other == part or other.startswith(f"{part}/")


def at_or_above(path: str) -> Iterator[str]:
    """The path itself, and the folders above it with the slash that they are written with."""
    yield path
    for at, character in enumerate(path):
        if character == "/":
            yield path[: at + 1]


@dataclass(frozen=True, slots=True)
class Found:
    """A file worth reading; `path` is relative to the source, with forward slashes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder (its path ends in a slash) that is not ingested, and why.

    `is_unseen`: what it holds could not be taken in, so what the library knew of it stays.
    """

    path: str
    reason: str
    is_unseen: bool = False


FIELDS = ("module", "chapter", "corpus_type", "content_type")
UNKNOWN = "Unknown"
_DEFAULTS = {"module": UNKNOWN, "chapter": UNKNOWN, "corpus_type": "DOC_PAGE", "content_type": "prose"}


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PathRule:
    """Where `pattern` is found in the path (case does not matter), its named groups and `sets` fill fields."""

    pattern: str
    sets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            names = {*self.sets, *_compiled(self.pattern).groupindex}
        except re.error as error:
            raise Misconfigured(f"path rule {self.pattern!r} is no regular expression: {error}") from error
        if unknown := names - set(FIELDS):
            raise Misconfigured(
                f"path rule {self.pattern!r} fills {', '.join(sorted(unknown))}: use {', '.join(FIELDS)}"
            )


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What the rules made of one path."""

    module: str
    chapter: str
    corpus_type: str
    content_type: str

    @property
    def missing(self) -> tuple[str, ...]:
        """Fields that no rule filled and a textbook would have."""
        return tuple(name for name in ("module", "chapter") if getattr(self, name) == UNKNOWN)


_NUMBERED = re.compile(
    r"(?:(?:chapter|ch|part|unit|week|lesson|module|section|day)[-_ .]*)?(?:\d+\.)*(\d{1,6})(?:[-_ .]+(.*))?",
    re.IGNORECASE | re.DOTALL,
)


def chapter_parts(chapter: str) -> tuple[int | None, str | None]:
    """The number and the title in a chapter's name: 3 and "Sensor fusion" for `1.3-sensor-fusion`."""
    if chapter == UNKNOWN:
        return None, None
    match = _NUMBERED.fullmatch(chapter)
    number, rest = (int(match[1]), match[2]) if match else (None, chapter)
    words = " ".join(re.split(r"[-_ ]+", rest or "")).strip()
    return number, (words[:1].upper() + words[1:]) or None


def _word(*words: str) -> str:
    return rf"(?:^|[/_. -])(?:{'|'.join(words)})(?:[/_. -]|$)"


DEFAULT_RULES = (
    PathRule(_word("labs?"), {"content_type": "lab"}),
    PathRule(_word("quiz", "quizzes"), {"content_type": "quiz"}),
    PathRule(_word("assessments?", "exams?"), {"content_type": "assessment"}),
    PathRule(_word("runbooks?"), {"corpus_type": "DOC_RUNBOOK"}),
    PathRule(r"(?:^|/)readme\.mdx?$", {"corpus_type": "DOC_README"}),
    PathRule(r"^(?:module|chapter|part|unit|week|lesson)[-_ ]?\d", {"corpus_type": "DOC_TEXTBOOK"}),
    PathRule(r"^(?P<module>[^/]+)/(?P<chapter>[^/]+)/"),
    PathRule(r"^(?P<module>[^/]+)/"),
)


def path_facts(path: str, rules: Iterable[PathRule] = DEFAULT_RULES) -> PathFacts:
    """For each field the first rule that fills it wins; what none fills gets its default."""
    facts: dict[str, str] = {}
    for rule in rules:
        match = _compiled(rule.pattern).search(path)
        if match:
            for name, value in {**rule.sets, **match.groupdict()}.items():
                if value is not None:
                    facts.setdefault(name, value)
    return PathFacts(**{name: facts.get(name, _DEFAULTS[name]) for name in FIELDS})
