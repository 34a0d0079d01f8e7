"""What a parser makes of a file: a tree of blocks with their lines, and the file's own metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    ITEM = "item"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"
    ADMONITION = "admonition"
    MATH = "math"
    HTML = "html"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as the page shows it: plain title, and the anchor its URL ends in."""

    level: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Block:
    """A run of source lines that belong together. `children` say where it may be cut, if it must be."""

    kind: BlockKind
    text: str
    first_line: int  # 1-based, in the source file
    last_line: int
    children: tuple["Block", ...] = ()
    heading: Heading | None = None
    language: str | None = None


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
