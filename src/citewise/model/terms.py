"""Terms: what BM25 sees of a text, made the same way for every engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class TermField(StrEnum):
    """The two BM25 rankings: stemmed natural language, and code tokens."""

    WORDS = "words"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Terms:
    """The tokens of one text, in order, repeats kept."""

    words: tuple[str, ...]
    code: tuple[str, ...]


# Where terms stand in a text, in order, counted among its words that are no stop words.
Places: TypeAlias = Mapping[str, Sequence[int]]
