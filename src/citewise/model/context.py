"""What an answer may rest on: numbered sources, the units they are made of, and the prompt that holds them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from citewise.model.citation import Citation
from citewise.model.passage import Passage
from citewise.model.query import Mode

Signals: TypeAlias = Mapping[str, float | None]  # by name; None: a ranking was down, or too little was found


@dataclass(frozen=True, slots=True)
class Source:
    """One or several neighboring passages of a section, joined, under one number."""

    n: int  # from 1
    passages: tuple[Passage, ...]
    text: str  # joined, as it stands in the document; a compressed context shows less of it
    tokens: int  # of its block in the context
    score: float  # of its best passage
    citation: Citation


@dataclass(frozen=True, slots=True)
class Context:
    """Sources under a token budget, best first, and how they read in a prompt."""

    text: str  # `[Source n: title - section]` blocks
    sources: tuple[Source, ...]
    tokens: int
    tokens_before: int  # of everything that was found, had the budget been larger


class UnitKind(StrEnum):
    SENTENCE = "sentence"
    CODE = "code"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest part that can be quoted: a sentence or list item, or a whole block of code or table."""

    source: int  # the number of the source it stands in
    position: int  # within the source, from 0
    kind: UnitKind
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A unit, and how well it answers the question."""

    unit: Unit
    score: float  # 0..1
    fit: float = 0.0  # 0..1: of the unit alone, whatever the search thinks of its source


@dataclass(frozen=True, slots=True)
class Shortened:
    """What is left of a source's text, and which of its units can still be told from it."""

    n: int  # the source's number
    text: str
    kept: tuple[int, ...]  # positions of units, in order


@dataclass(frozen=True, slots=True)
class Grounds:
    """Whether the sources answer the question, and which of their units do."""

    confidence: float  # 0..1: how likely it is that the sources hold an answer
    is_sufficient: bool
    evidence: tuple[Evidence, ...]  # of every unit, in order of source and position
    signals: Signals = field(default_factory=dict)  # what the confidence was made of


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything a generator may know. Passages are data: they stand apart from the instructions."""

    question: str
    mode: Mode
    context: Context
    grounds: Grounds
    messages: tuple[Message, ...]  # for a language model: instructions, history, sources and question
