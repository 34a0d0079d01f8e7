"""Terms: what BM25 sees of a text, made the same way for every engine."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class TermField(StrEnum):
    """The two BM25 rankings: stemmed natural language, and code tokens."""

    WORDS = "words"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Terms:
    """The tokens of one text, in order, repeats kept."""

    words: tuple[str, ...]
    code: tuple[str, ...]


class Place(NamedTuple):  # thousands are made for a question: a tuple costs half of a dataclass
    """Where a word of a text stands, counted among those that are no stop words."""

    at: int
    term: str
