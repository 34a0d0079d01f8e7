"""Documents: the items they are read from, the blocks they are made of, and what their paths say about them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from citewise.errors import Misconfigured
from citewise.model.access import Access, Reader, Scope
from citewise.model.ids import Digest, DocumentId

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

# In the metadata of an item: the site that shows it, as {"url": where the site begins, "path": the item's path in it}.
SITE = "citewise_site"


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
class Location:
    """Lines, pages or messages of a document, counted from 1. Author and time are those of the first message."""

    unit: Literal["lines", "pages", "messages"]
    first: int
    last: int
    channel: str | None = None
    author: str | None = None
    sent_at: float | None = None  # seconds since 1970

    @staticmethod
    def spanning(locations: Sequence["Location"]) -> "Location":
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

    `head` and `tail`: so many characters at its beginning and end do not stand there in the source. They are the fence
    or the header of a block that was cut, once more.
    """

    kind: BlockKind
    start: int
    end: int
    language: str | None = None  # of code
    depth: int = 0  # of a list item, from 1; of what stands inside one, the item's
    head: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a source can read; `path` is relative to the source, with forward slashes."""

    path: str
    size: int  # bytes
    media_type: str
    metadata: Mapping[str, Json] = field(default_factory=dict)  # what the source knows of its documents
    uri: str | None = None  # where a person finds it; None: its path says so
    aliases: tuple[str, ...] = ()  # other paths of the same file in its source
    is_linked: bool = False  # the file has several names, in its source or outside


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Why a file or folder (its path ends in a slash) was skipped or failed, or what is wrong with an ingested one.

    `is_unseen`: its content could not be read, so the library keeps what it had of it. `is_by_default`: a hidden or
    vendored folder, which is only ingested if an include names it. `is_warning`: something else uses the file.
    """

    path: str
    reason: str
    is_unseen: bool = False
    is_by_default: bool = False
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document of an item, understood. Secrets are masked."""

    text: str
    blocks: tuple[Block, ...]
    name: str = ""  # within its item, with forward slashes; needed where an item holds several documents
    title: str | None = None  # None: its first heading, or its path
    description: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    access: tuple[str, ...] = ()  # rules as in Access.of; empty: the document says nothing about it
    corpus_type: str | None = None  # None: decided by the path
    warnings: tuple[str, ...] = ()
    masked: Mapping[str, int] = field(default_factory=dict)  # kinds of secrets and how many were masked

    @property
    def own_title(self) -> str | None:
        """The title a document gives itself: that of its metadata, or its first top heading."""
        headings = (block.heading for block in self.blocks if block.heading)
        return self.title or next((top.title for top in headings if top.level == 1 and top.title), None)


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What a catalog knows of a stored document: its source, its stamp, how many chunks it has, and who may read it."""

    mount: str
    stamp: Digest
    chunks: int
    access: Access = field(default_factory=Access)
    own_access: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    created_at: float = 0.0  # seconds since 1970 when it was first stored
    copied_from: tuple[str, ...] = ()  # paths of narrower documents that had its text first


@dataclass(frozen=True, slots=True)
class RemovedText:
    """The text of a document that is not there any more: content hashes of its chunks, and who could read it."""

    path: str
    access: Access
    texts: frozenset[Digest]


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
    stamp: Digest  # of what it was derived from; if it is the same, ingesting it again would change nothing
    text: str
    blocks: tuple[Block, ...] = ()  # of the text: what a chunker cuts, so that cutting again needs no parser
    media_type: str = "text/markdown"
    is_titled: bool = True  # False: only its path gave it a title, and that names nothing
    chapter_number: int | None = None
    chapter_title: str | None = None
    source_uri: str | None = None  # where the original can be found
    own_access: tuple[str, ...] = ()  # rules that it gives itself
    aliases: tuple[str, ...] = ()  # other paths of its file in its source: what a link points to, other hard links
    copied_from: tuple[str, ...] = ()  # paths of documents for fewer readers whose text it has
    access_reason: str = ""  # why its access is not what was said of its path; empty: it is
    created_at: float | None = None  # seconds since 1970 when it was first stored; None before that
    stale: str = ""  # why its file could not be read since


@dataclass(frozen=True, slots=True)
class AccessRule:
    """A rule for a part of a source, and where it comes from: the settings, `--access`, a pattern of
    ingest.access_by_path, or inherited from what was known of a page before."""

    part: str  # a path in the source ("": all of it); of by_path a pattern as in .gitignore
    readers: tuple[str, ...]
    origin: Literal["default", "access", "by_path", "inherited"]
    widens: bool = False  # counts instead of the rules before it; any other can only narrow them
    rank: int | None = None  # place in ingest.access_by_path, where the first that covers a path counts
    reason: str = ""  # why it is inherited

    @property
    def access(self) -> Access:
        return Access(frozenset(map(Reader, self.readers)))


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A registered source: documents from `root` carry paths that start with `mount` (often empty)."""

    mount: str
    root: str  # relative to the library folder, so that moving both together changes nothing
    access: "tuple[AccessRule, ...]" = ()  # in the order in which they count
    kind: str = "folder"
    place: str = ""  # the absolute path of the root when it was last ingested: the library alone may be moved

    def mounted(self, path: str) -> str:
        """The path in the library of a path in the source."""
        return "/".join(filter(None, (self.mount, path)))

    def inner(self, path: str) -> str:
        """The path in the source of the path of one of its documents in the library."""
        return path.removeprefix(f"{self.mount}/") if self.mount else path


UNKNOWN = "Unknown"
_DEFAULTS = {"module": UNKNOWN, "chapter": UNKNOWN, "corpus_type": "DOC_PAGE", "content_type": "prose"}


@dataclass(frozen=True, slots=True)
class PathRule:
    """Where `pattern` is found in the path (case does not matter), its named groups and `sets` fill fields."""

    pattern: str
    sets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            names = {*self.sets, *re.compile(self.pattern, re.IGNORECASE).groupindex}
        except re.error as error:
            raise Misconfigured(f"path rule {self.pattern!r} is no regular expression: {error}") from error
        if unknown := names - _DEFAULTS.keys():
            raise Misconfigured(
                f"path rule {self.pattern!r} fills {', '.join(sorted(unknown))}: use {', '.join(_DEFAULTS)}"
            )

    @staticmethod
    def facts_of(path: str, rules: "Iterable[PathRule]") -> dict[str, str]:
        """The fields of a path: for each the first rule that fills it wins; what none fills gets its default."""
        facts = dict(_DEFAULTS)
        for rule in reversed(tuple(rules)):
            if match := re.search(rule.pattern, path, re.IGNORECASE):
                facts |= rule.sets
                facts |= {name: value for name, value in match.groupdict().items() if value is not None}
        return facts


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
