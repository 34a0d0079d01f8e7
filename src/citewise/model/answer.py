"""Answers, and the events in which they arrive."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from citewise.errors import CitewiseError
from citewise.model.ids import ChunkId
from citewise.model.query import Mode
from citewise.model.ranking import Finding, Passage, SearchResult

SELECTION = ChunkId("selection")  # stands for the text a reader selected, which is no chunk of any library


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that was found, or one that an answer uses. What is not known of a selection is None."""

    n: int | None  # from 1, as `[n]` in the answer's text; None as long as no text uses it
    chunk_id: ChunkId
    document_id: str | None
    document: str | None
    title: str
    section: str
    breadcrumb: tuple[str, ...]
    url: str | None
    module: str | None
    chapter: str | None
    lines: tuple[int, int] | None
    page: int | None
    excerpt: str  # 200 characters of the source as it stands there
    score: float
    stale: str | None = None  # why its file could not be read since; None: this is what the file said last


UnitKind: TypeAlias = Literal["sentence", "code", "table"]


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest part that can be quoted: a sentence or list item, or a whole block of code or table."""

    source: int  # the number of the source it stands in
    position: int  # within the source, from 0
    kind: UnitKind
    text: str  # sentences on one line, code as it would stand outside of a list
    span: tuple[int, int] = (0, 0)  # where it stands in the source's text
    list_mark: str = ""  # that the text begins with, and the blanks behind it
    stems: frozenset[str] = frozenset()  # of its content

    @property
    def content(self) -> str:
        """What a list item says."""
        return self.text[len(self.list_mark) :]

    @property
    def is_prose(self) -> bool:
        return self.kind == "sentence"

    @property
    def is_item(self) -> bool:
        """Whether it begins a list item."""
        return self.is_prose and bool(self.list_mark)

    @property
    def number(self) -> int | None:
        """Of an item in an ordered list."""
        digits = self.list_mark.strip(" .)")
        return int(digits) if digits.isdecimal() else None


Outcome: TypeAlias = Literal["answered", "unsure", "nothing"]  # unsure: the nearest excerpts, said to be no more
NOT_SURE = "Not sure: these are the nearest passages, and they may not answer the question."  # above such excerpts
Signals: TypeAlias = Mapping[str, float | None]  # by name; None: a ranking was down, or too little was found


@dataclass(frozen=True, slots=True)
class ContextSource:
    """One or several neighboring passages of a section, joined, under one number."""

    n: int  # from 1
    passages: tuple[Passage, ...]
    text: str  # joined, as it stands in the document; a compressed context shows less of it
    tokens: int  # of its block in the context
    score: float  # of its best passage
    citation: Citation
    units: tuple[Unit, ...]  # of its text, in order


@dataclass(frozen=True, slots=True)
class Context:
    """Sources under a token budget, best first, and how they read in a prompt."""

    text: str  # `[Source n: title - section]` blocks
    sources: tuple[ContextSource, ...]
    tokens: int
    tokens_before: int  # of everything that was found, had the budget been larger


@dataclass(frozen=True, slots=True)
class Evidence:
    """A unit, and how well it answers the question."""

    unit: Unit
    score: float  # 0..1: the fit, less in a source that the search thinks less of
    fit: float = 0.0  # 0..1: closeness and coverage together
    closeness: float | None = None  # cosine of question and unit under its heading; None if it was not embedded
    coverage: float = 0.0  # 0..1: share of the question's words it holds, telling ones counting more
    standing: float = 0.0  # 0..1: of its source, by the search's score, as a share of the best one's


@dataclass(frozen=True, slots=True)
class Shortened:
    """What is left of a source's text, and which of its units are still in it."""

    n: int  # the source's number
    text: str
    kept: tuple[int, ...]  # positions of units, in order


@dataclass(frozen=True, slots=True)
class Grounds:
    """Whether the sources answer the question, and which of their units do."""

    confidence: float  # 0..1: how likely it is that the sources hold an answer
    outcome: Outcome
    evidence: tuple[Evidence, ...] = ()  # of every unit that was weighed, in order of source and position
    signals: Signals = field(default_factory=dict)  # what the confidence was made of
    problem: str = ""  # that units could not be compared by meaning, for `degraded`; empty: they were


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


@dataclass(frozen=True, slots=True)
class Quality:
    """How far an answer can be trusted, each part in 0..1; None where it was not measured."""

    overall: float | None  # how likely a right passage is among the sources, times the faithfulness
    retrieval_confidence: float | None  # how likely that is by what the rankings alone say
    sufficiency: float | None  # how likely it is that the library answers; the decision to answer rests on it
    diversity: float | None  # 0: one source, or all say the same; 1: no two have a word in common
    faithfulness: float | None  # share of the answer's sentences that their sources support
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the embedding model's tokenizer counts them."""

    context_tokens_before: int
    context_tokens_after: int
    prompt_tokens: int
    answer_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A place near the question that a reader can open instead of an answer."""

    title: str
    document: str  # its path
    lines: tuple[int, int] | None
    url: str | None

    @staticmethod
    def among(findings: Iterable[Finding], limit: int) -> "tuple[Suggestion, ...]":
        """The sections of these findings, each once, in their order."""
        sections = dict[tuple[str, str], Suggestion]()
        for finding in findings:
            passage = finding.passage
            place = Suggestion(passage.topic, passage.document, passage.lines, finding.url)
            sections.setdefault((passage.document, passage.anchor), place)
        return tuple(sections.values())[:limit]


@dataclass(frozen=True, slots=True)
class Answer:
    """A grounded answer: `[n]` in its text is the n-th citation. Insufficient context is a kind of answer."""

    result: SearchResult
    text: str
    generator: str
    outcome: Outcome
    citations: tuple[Citation, ...]  # those the text uses, in the order of first use, numbered 1, 2, 3
    removed_markers: int  # that pointed at no source
    unsupported_sentences: tuple[str, ...]
    quality: Quality
    usage: Usage
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def sufficient_context(self) -> bool:
        """Whether the sources answer the question, as far as can be told."""
        return self.outcome == "answered"

    @staticmethod
    def of(events: "Iterable[AnswerEvent]") -> "Answer":
        """The answer at the end of its events; what made it fail is raised."""
        for event in events:
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Done):
                return event.answer
        raise AssertionError("an answer ends with Done or Failed")


@dataclass(frozen=True, slots=True)
class Sources:
    """What was found, best first, before the first token. The text may use all of it, some or nothing."""

    citations: tuple[Citation, ...]  # without numbers


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer's text, checked."""

    text: str


@dataclass(frozen=True, slots=True)
class Cited:
    """A source that the text has just used for the first time, under the number that it shows."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class Done:
    """The end, with everything in one value."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """The end of an answer that broke off."""

    error: CitewiseError


AnswerEvent = Sources | Token | Cited | Done | Failed
AnswerEvents: TypeAlias = Generator[AnswerEvent, None, None]  # closing it stops the answer and frees what it held
