"""Terms: what BM25 sees of a text, made the same way for every engine."""

from dataclasses import dataclass
from enum import StrEnum


class TermField(StrEnum):
    """The two BM25 rankings: stemmed natural language, and code tokens."""

    WORDS = "words"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Terms:
    """The tokens of one text, in order, repeats kept."""

    words: tuple[str, ...]
    code: tuple[str, ...]
