"""Questions with their expected answers, and places in documents. Reading them from files is in sets.py."""

from dataclasses import dataclass
from enum import StrEnum

from citewise.model.ids import ChunkId
from citewise.model.query import Selection


class Kind(StrEnum):
    """What a case tests: finding and answering, refusing, or staying inside a selection."""

    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"
    SELECTED = "selected"


class JudgedUnit(StrEnum):
    """What is judged: whole documents (BEIR), or places in them (question files)."""

    DOCUMENT = "document"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was found or expected."""

    document: str  # its path in the library
    section: str = ""
    lines: tuple[int, int] | None = None  # first and last
    chunk: str | None = None
    grade: int = 0  # of what was found: 0 if it answers nothing


@dataclass(frozen=True, slots=True)
class Gold:
    """A place that answers a question. The narrowest part given counts: chunk, lines, section, else the document."""

    document: str  # its path in the library
    grade: int = 1  # higher is better; the highest grade of a case is a full answer
    section: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    chunk: ChunkId | None = None

    def matches(self, place: Place) -> bool:
        if self.chunk is not None:
            return place.chunk == self.chunk
        if place.document != self.document:
            return False
        if self.first_line is None or self.last_line is None:
            return self.section is None or place.section == self.section
        if place.lines is None:
            return False
        return place.lines[0] <= self.last_line and place.lines[1] >= self.first_line

    def as_place(self) -> Place:
        has_lines = self.first_line is not None and self.last_line is not None
        lines = (self.first_line or 0, self.last_line or 0) if has_lines else None
        return Place(self.document, self.section or "", lines, self.chunk, self.grade)


@dataclass(frozen=True, slots=True)
class Case:
    """One question and what is expected of it."""

    id: str
    question: str
    kind: Kind
    gold: tuple[Gold, ...] = ()
    group: str = ""  # the author's own label; results are also shown for each group
    answer: str | None = None  # as the author would answer; shown beside the answer given
    selection: Selection | None = None
    is_answerable: bool = True  # whether the selection answers the question
    leak_marker: str | None = None  # a phrase of the library that is not in the selection


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The cases of one evaluation."""

    name: str
    unit: JudgedUnit
    cases: tuple[Case, ...]


def counted(number: int, word: str, plural: str | None = None) -> str:
    """`1 question`, `2 questions`."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"
