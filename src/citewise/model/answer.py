"""Answers, and the events in which they arrive."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

from citewise.model.citation import Citation
from citewise.model.result import SearchResult


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
    total_tokens: int  # prompt and answer


@dataclass(frozen=True, slots=True)
class Answer:
    """A grounded answer: `[n]` in its text is citation n. Insufficient context is a kind of answer."""

    result: SearchResult
    text: str
    generator: str
    sufficient_context: bool
    citations: tuple[Citation, ...]  # those the text really uses, by number
    removed_markers: int  # that pointed at no source
    unsupported_sentences: tuple[str, ...]
    quality: Quality
    usage: Usage
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer's text, checked."""

    text: str


@dataclass(frozen=True, slots=True)
class Cited:
    """A source that the text has just used for the first time."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class Done:
    """The end, with everything in one value."""

    answer: Answer


AnswerEvent = Token | Cited | Done
AnswerEvents: TypeAlias = Generator[AnswerEvent, None, None]  # closing it stops the answer and frees what it held
